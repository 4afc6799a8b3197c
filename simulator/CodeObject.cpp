// SPDX-License-Identifier: Apache-2.0
#include "simulator/CodeObject.h"

#include <fmt/format.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "fattn/Error.h"
#include "simulator/Disassembler.h"
#include "simulator/Table.h"

namespace fattn::simulator {
namespace {

[[noreturn]] void refuse(std::string why) {
  throw Error(ErrorCode::InvalidArgument, "no code object that can be simulated: " + std::move(why));
}

template <class T>
T orRefuse(llvm::Expected<T> value) {
  if (!value) refuse(llvm::toString(value.takeError()));
  return std::move(*value);
}

using Elf = llvm::object::ELF64LEObjectFile;

constexpr std::uint64_t kMostArgumentBytes = 1 << 20, kMostScratchBytes = 1 << 18, kMostThreads = 1024;
constexpr std::uint64_t kMostImageBytes = 1 << 26;

/// LLVM's own function for it must not be asked about numbers that it does not know.
const Chip* chipOf(std::uint32_t machine) {
  switch (machine) {
    case llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX942:
      return findChip("gfx942");
    case llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX950:
      return findChip("gfx950");
    case llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1100:
      return findChip("gfx1100");
    case llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1201:
      return findChip("gfx1201");
    default:
      refuse(fmt::format("it is for the machine {:#x} of its ELF flags; simulated are {}", machine, chipNames()));
  }
}

using nlohmann::json;

std::uint64_t numberAt(const json& map, const char* key, std::uint64_t most) {
  auto found = map.find(key);
  if (found == map.end() || !found->is_number_integer()) return 0;
  auto value = found->get<std::uint64_t>();
  if (value > most) refuse(fmt::format("its metadata has an impossible {} of {}", key, value));
  return value;
}

std::string textAt(const json& map, const char* key) {
  auto found = map.find(key);
  return found != map.end() && found->is_string() ? found->get<std::string>() : "";
}

/// The list at a key of a map; empty where there is none.
json listAt(const json& map, const char* key) {
  auto found = map.find(key);
  return found != map.end() && found->is_array() ? *found : json::array();
}

/// Fills a kernel from its entry in the metadata note.
Kernel describeKernel(const json& entry) {
  if (!entry.is_object()) refuse("its metadata note is damaged");
  Kernel kernel;
  kernel.name = textAt(entry, ".name");
  kernel.maxThreads = static_cast<std::uint32_t>(numberAt(entry, ".max_flat_workgroup_size", kMostThreads));
  json block = listAt(entry, ".reqd_workgroup_size");
  for (std::size_t i = 0; i < std::min<std::size_t>(3, block.size()); ++i)
    kernel.requiredBlock[i] = block[i].is_number_integer() ? block[i].get<std::uint32_t>() : 0;
  for (const json& argument : listAt(entry, ".args")) {
    if (!argument.is_object()) refuse("its metadata note is damaged");
    kernel.arguments.push_back({static_cast<std::uint32_t>(numberAt(argument, ".offset", kMostArgumentBytes)),
                                static_cast<std::uint32_t>(numberAt(argument, ".size", kMostArgumentBytes)),
                                textAt(argument, ".value_kind")});
  }
  return kernel;
}

std::vector<Kernel> readNotes(const Elf& elf) {
  std::vector<Kernel> kernels;
  for (const auto& header : orRefuse(elf.getELFFile().program_headers())) {
    if (header.p_type != llvm::ELF::PT_NOTE) continue;
    llvm::Error error = llvm::Error::success();
    for (auto note : elf.getELFFile().notes(header, error)) {
      if (note.getType() != llvm::ELF::NT_AMDGPU_METADATA) continue;
      llvm::ArrayRef<std::uint8_t> bytes = note.getDesc(header.p_align);
      json root = json::from_msgpack(bytes.begin(), bytes.end(), true, false);
      if (!root.is_object()) refuse("its metadata note is damaged");
      for (const json& entry : listAt(root, "amdhsa.kernels")) kernels.push_back(describeKernel(entry));
    }
    if (error) refuse(llvm::toString(std::move(error)));
  }
  return kernels;
}

template <class T>
T at(const std::vector<std::byte>& image, std::uint64_t address) {
  T value;
  if (address > image.size() || image.size() - address < sizeof value) refuse("a kernel descriptor lies outside of its segments");
  std::memcpy(&value, image.data() + address, sizeof value);
  return value;
}

/// The 64 bytes at the symbol NAME.kd.
void readDescriptor(Kernel& kernel, const std::vector<std::byte>& image, std::uint64_t address, const Chip& chip) {
  kernel.ldsBytes = at<std::uint32_t>(image, address);
  kernel.scratchBytes = at<std::uint32_t>(image, address + 4);
  kernel.kernargBytes = at<std::uint32_t>(image, address + 8);
  if (kernel.kernargBytes > kMostArgumentBytes || kernel.scratchBytes > kMostScratchBytes)
    refuse("the descriptor of " + kernel.name + " asks for more arguments or memory of a lane than there can be");
  kernel.entry = address + static_cast<std::uint64_t>(at<std::int64_t>(image, address + 16));
  kernel.resource3 = at<std::uint32_t>(image, address + 44);
  kernel.resource1 = at<std::uint32_t>(image, address + 48);
  kernel.resource2 = at<std::uint32_t>(image, address + 52);
  kernel.properties = at<std::uint16_t>(image, address + 56);
  auto preload = at<std::uint16_t>(image, address + 58);
  kernel.preloadedDwords = preload & 0x7f, kernel.preloadOffset = preload >> 7;
  kernel.lanes = !chip.isCdna() && (kernel.properties >> 10 & 1) != 0 ? 32 : 64;
}

}  // namespace

std::uint32_t Kernel::explicitBytes() const {
  std::uint32_t end = 0;
  for (const KernelArgument& argument : arguments)
    if (!argument.isHidden()) end = std::max(end, argument.offset + argument.size);
  return end;
}

int Kernel::vectorRegisters(const Chip& chip) const {
  int granules = static_cast<int>(resource1 & 0x3f) + 1;
  return granules * (chip.isCdna() || lanes == 32 ? 8 : 4);
}

int Kernel::accumulatorOffset(const Chip& chip) const {
  return chip.isCdna() ? static_cast<int>((resource3 & 0x3f) + 1) * 4 : vectorRegisters(chip);
}

struct CodeObject::Loader {
  CodeObject& object;
  const Elf& elf;

  void map() {
    for (const auto& header : orRefuse(elf.getELFFile().program_headers())) {
      if (header.p_type != llvm::ELF::PT_LOAD) continue;
      if (header.p_vaddr > kMostImageBytes || header.p_memsz > kMostImageBytes || header.p_filesz > header.p_memsz)
        refuse("a segment has an impossible size");
      object.image_.resize(std::max<std::size_t>(object.image_.size(), header.p_vaddr + header.p_memsz));
      auto contents = orRefuse(elf.getELFFile().getSegmentContents(header));
      std::memcpy(object.image_.data() + header.p_vaddr, contents.data(), contents.size());
    }
  }

  void describe() {
    object.kernels_ = readNotes(elf);
    if (object.kernels_.empty()) refuse("its metadata lists no kernels");
    for (Kernel& kernel : object.kernels_) {
      bool found = false;
      for (const auto& symbol : elf.symbols()) {
        if (orRefuse(symbol.getName()) != kernel.name + ".kd") continue;
        found = true;
        readDescriptor(kernel, object.image_, orRefuse(symbol.getAddress()), *object.chip_);
      }
      if (!found) refuse("the kernel " + kernel.name + " has no descriptor " + kernel.name + ".kd");
    }
  }

  void decode() {
    int lanes = object.kernels_.front().lanes;
    for (const Kernel& kernel : object.kernels_)
      if (kernel.lanes != lanes) refuse("its kernels have waves of different sizes");
    Disassembler disassembler(object.chip_->name, lanes);
    for (const auto& section : elf.sections()) {
      if (!section.isText()) continue;
      std::uint64_t begin = section.getAddress(), end = begin + section.getSize();
      if (begin > object.image_.size() || section.getSize() > std::min<std::uint64_t>(object.image_.size() - begin, elf.getData().size()))
        refuse("its code lies outside of its segments");
      for (std::uint64_t address = begin; address + 4 <= end;) {
        std::span<const std::byte> bytes(object.image_.data() + address, end - address);
        Instruction instruction;
        std::string text = disassembler.text(bytes, address, instruction.size);
        std::memcpy(&instruction.raw, bytes.data(), 4);
        instruction.address = address;
        bindInstruction(instruction, text, *object.chip_, lanes);
        object.byAddress_.emplace(address, static_cast<std::int32_t>(object.code_.size()));
        address += instruction.size;
        object.code_.push_back(std::move(instruction));
      }
    }
    for (Instruction& instruction : object.code_)
      if (isBranch(instruction.mnemonic)) {
        std::int64_t distance = static_cast<std::int16_t>(instruction.raw & 0xffff);
        instruction.target = object.instructionAt(instruction.address + 4 + static_cast<std::uint64_t>(distance * 4));
      }
  }
};

std::shared_ptr<const CodeObject> CodeObject::load(std::span<const std::byte> bytes) {
  llvm::StringRef data(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Elf elf = orRefuse(Elf::create(llvm::MemoryBufferRef(data, "code object")));
  if (elf.getELFFile().getHeader().e_machine != llvm::ELF::EM_AMDGPU) refuse("its machine is not AMD's");
  auto object = std::make_shared<CodeObject>();
  object->chip_ = chipOf(elf.getELFFile().getHeader().e_flags & llvm::ELF::EF_AMDGPU_MACH);
  Loader loader{*object, elf};
  loader.map();
  loader.describe();
  loader.decode();
  return object;
}

const Kernel& CodeObject::kernel(std::string_view name) const {
  std::string names;
  for (const Kernel& kernel : kernels_) {
    if (kernel.name == name) return kernel;
    names.append(names.empty() ? "" : ", ").append(kernel.name);
  }
  throw Error(ErrorCode::InvalidArgument, fmt::format("the code object has no kernel '{}'; it has {}", name, names));
}

std::int32_t CodeObject::instructionAt(std::uint64_t address) const {
  auto found = byAddress_.find(address);
  return found == byAddress_.end() ? -1 : found->second;
}

std::vector<std::string> CodeObject::unknownMnemonics() const {
  std::vector<std::string> names;
  for (const Instruction& instruction : code_)
    if (isUnknown(instruction) && !instruction.mnemonic.empty() && std::ranges::find(names, instruction.mnemonic) == names.end())
      names.push_back(instruction.mnemonic);
  return names;
}

}  // namespace fattn::simulator
