// SPDX-License-Identifier: Apache-2.0
#include "simulator/CodeObject.h"

#include <fmt/format.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/BinaryFormat/MsgPackDocument.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cstring>

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

std::uint64_t numberAt(llvm::msgpack::MapDocNode& map, llvm::StringRef key, std::uint64_t otherwise) {
  auto found = map.find(key);
  if (found == map.end()) return otherwise;
  if (found->second.getKind() == llvm::msgpack::Type::UInt) return found->second.getUInt();
  return found->second.getKind() == llvm::msgpack::Type::Int ? static_cast<std::uint64_t>(found->second.getInt()) : otherwise;
}

std::string textAt(llvm::msgpack::MapDocNode& map, llvm::StringRef key) {
  auto found = map.find(key);
  return found != map.end() && found->second.isString() ? found->second.getString().str() : "";
}

/// Fills a kernel from its entry in the metadata note.
Kernel describeKernel(llvm::msgpack::MapDocNode& entry) {
  Kernel kernel;
  kernel.name = textAt(entry, ".name");
  kernel.maxThreads = static_cast<std::uint32_t>(numberAt(entry, ".max_flat_workgroup_size", 0));
  if (auto block = entry.find(".reqd_workgroup_size"); block != entry.end() && block->second.isArray()) {
    auto& sizes = block->second.getArray();
    for (std::size_t i = 0; i < std::min<std::size_t>(3, sizes.size()); ++i)
      kernel.requiredBlock[i] = static_cast<std::uint32_t>(sizes[i].getUInt());
  }
  if (auto arguments = entry.find(".args"); arguments != entry.end() && arguments->second.isArray())
    for (auto& node : arguments->second.getArray()) {
      auto& map = node.getMap();
      kernel.arguments.push_back({static_cast<std::uint32_t>(numberAt(map, ".offset", 0)),
                                  static_cast<std::uint32_t>(numberAt(map, ".size", 0)), textAt(map, ".value_kind")});
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
      llvm::msgpack::Document document;
      if (!document.readFromBlob(note.getDescAsStringRef(header.p_align), false) || !document.getRoot().isMap())
        refuse("its metadata note is damaged");
      auto& root = document.getRoot().getMap();
      auto list = root.find("amdhsa.kernels");
      if (list == root.end() || !list->second.isArray()) refuse("its metadata note lists no kernels");
      for (auto& entry : list->second.getArray()) kernels.push_back(describeKernel(entry.getMap()));
    }
    if (error) refuse(llvm::toString(std::move(error)));
  }
  return kernels;
}

template <class T>
T at(const std::vector<std::byte>& image, std::uint64_t address) {
  T value;
  if (address + sizeof value > image.size()) refuse("a kernel descriptor lies outside of its segments");
  std::memcpy(&value, image.data() + address, sizeof value);
  return value;
}

/// The 64 bytes at the symbol NAME.kd.
void readDescriptor(Kernel& kernel, const std::vector<std::byte>& image, std::uint64_t address, const Chip& chip) {
  kernel.ldsBytes = at<std::uint32_t>(image, address);
  kernel.scratchBytes = at<std::uint32_t>(image, address + 4);
  kernel.kernargBytes = at<std::uint32_t>(image, address + 8);
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
      if (header.p_vaddr + header.p_memsz > std::uint64_t{1} << 30 || header.p_filesz > header.p_memsz)
        refuse("a segment has an impossible size");
      object.image_.resize(std::max<std::size_t>(object.image_.size(), header.p_vaddr + header.p_memsz));
      auto contents = orRefuse(elf.getELFFile().getSegmentContents(header));
      std::memcpy(object.image_.data() + header.p_vaddr, contents.data(), contents.size());
    }
  }

  void describe() {
    object.kernels_ = readNotes(elf);
    for (Kernel& kernel : object.kernels_) {
      bool found = false;
      for (const auto& symbol : elf.symbols()) {
        if (orRefuse(symbol.getName()) != kernel.name + ".kd") continue;
        found = true;
        readDescriptor(kernel, object.image_, orRefuse(symbol.getAddress()), *object.chip_);
      }
      if (!found) refuse("the kernel " + kernel.name + " has no descriptor " + kernel.name + ".kd");
    }
    if (object.kernels_.empty()) refuse("it has no kernels");
  }

  void decode() {
    int lanes = object.kernels_.front().lanes;
    for (const Kernel& kernel : object.kernels_)
      if (kernel.lanes != lanes) refuse("its kernels have waves of different sizes");
    Disassembler disassembler(object.chip_->name, lanes);
    for (const auto& section : elf.sections()) {
      if (!section.isText()) continue;
      std::uint64_t begin = section.getAddress(), end = begin + section.getSize();
      if (end > object.image_.size()) refuse("its code lies outside of its segments");
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
  std::string chip = elf.tryGetCPUName().value_or("").str();
  object->chip_ = findChip(chip);
  if (object->chip_ == nullptr) refuse(fmt::format("it is for '{}'; simulated are {}", chip, chipNames()));
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
