// SPDX-License-Identifier: Apache-2.0
#include "tests/simulator/MakeCodeObject.h"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Program.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdlib>
#include <cstring>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
void LLVMInitializeAMDGPUAsmParser();
}

namespace fattn::test {
namespace {

[[noreturn]] void stop(const std::string& why) {
  llvm::errs() << "tests/simulator: " << why << "\n";
  std::abort();
}

const llvm::Triple& triple() {
  static const llvm::Triple kTriple("amdgcn-amd-amdhsa");
  return kTriple;
}

const llvm::Target& target() {
  static const llvm::Target* const kTarget = [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
    std::string error;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple(), error);
    if (found == nullptr) stop(error);
    return found;
  }();
  return *kTarget;
}

/// A file of this process in the temporary folder, gone with it.
struct TemporaryFile {
  llvm::SmallString<128> path;
  explicit TemporaryFile(const char* suffix) {
    if (auto error = llvm::sys::fs::createTemporaryFile("fattn-simulator", suffix, path)) stop("no temporary file: " + error.message());
  }
  ~TemporaryFile() { (void)llvm::sys::fs::remove(path); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
};

std::vector<std::byte> link(llvm::StringRef object) {
  TemporaryFile input("o"), output("hsaco");
  std::error_code error;
  {
    llvm::raw_fd_ostream out(input.path, error);
    out << object;
  }
  std::string message;
  int status =
      llvm::sys::ExecuteAndWait(FATTN_LD_LLD, {FATTN_LD_LLD, "-shared", input.path, "-o", output.path}, std::nullopt, {}, 60, 0, &message);
  if (error || status != 0) stop("the linker failed: " + message);
  auto buffer = llvm::MemoryBuffer::getFile(output.path);
  if (!buffer) stop("the linker wrote nothing");
  std::vector<std::byte> bytes((*buffer)->getBufferSize());
  std::memcpy(bytes.data(), (*buffer)->getBufferStart(), bytes.size());
  return bytes;
}

constexpr std::string_view kKernel = R"(
.text
.globl {name}
.p2align 8
.type {name},@function
{name}:
{body}
s_endpgm
.L{name}_end:
.size {name}, .L{name}_end - {name}
.section .rodata,"a",@progbits
.p2align 6
.amdhsa_kernel {name}
  .amdhsa_next_free_vgpr {registers}
  .amdhsa_next_free_sgpr 48
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_kernarg_size {arguments}
  .amdhsa_float_denorm_mode_32 {denormals}
  {chip}
.end_amdhsa_kernel
)";

constexpr std::string_view kMetadata = R"(
  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: {arguments}
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: 0
    .wavefront_size: {lanes}
    .sgpr_count: 48
    .vgpr_count: {registers}
    .max_flat_workgroup_size: 1024
    .args:
{list})";

}  // namespace

std::vector<std::byte> assemble(std::string_view chip, const std::string& text) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "test.s"), llvm::SMLoc());
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers(target().createMCRegInfo(triple()));
  std::unique_ptr<llvm::MCAsmInfo> syntax(target().createMCAsmInfo(*registers, triple(), options));
  std::unique_ptr<llvm::MCInstrInfo> instructions(target().createMCInstrInfo());
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(target().createMCSubtargetInfo(triple(), chip, ""));
  llvm::MCContext context(triple(), syntax.get(), registers.get(), subtarget.get(), &sources, &options);
  std::unique_ptr<llvm::MCObjectFileInfo> file(target().createMCObjectFileInfo(context, true));
  context.setObjectFileInfo(file.get());
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream out(object);
  std::unique_ptr<llvm::MCAsmBackend> backend(target().createMCAsmBackend(*subtarget, *registers, options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(out);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(target().createMCCodeEmitter(*instructions, context));
  std::unique_ptr<llvm::MCStreamer> streamer(
      target().createMCObjectStreamer(triple(), context, std::move(backend), std::move(writer), std::move(emitter), *subtarget));
  std::unique_ptr<llvm::MCAsmParser> parser(llvm::createMCAsmParser(sources, context, *streamer, *syntax));
  std::unique_ptr<llvm::MCTargetAsmParser> targetParser(target().createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*targetParser);
  if (parser->Run(false)) stop("the assembly above is wrong");
  return link(llvm::StringRef(object.data(), object.size()));
}

std::vector<std::byte> compileIr(std::string_view chip, const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseIR(llvm::MemoryBufferRef(text, "test.ll"), diagnostic, context);
  if (!module) {
    diagnostic.print("tests/simulator", llvm::errs());
    stop("the IR above is wrong");
  }
  std::unique_ptr<llvm::TargetMachine> machine(target().createTargetMachine(triple(), chip, "", llvm::TargetOptions(), llvm::Reloc::PIC_,
                                                                            std::nullopt, llvm::CodeGenOptLevel::Default));
  module->setTargetTriple(triple());
  module->setDataLayout(machine->createDataLayout());
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream out(object);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::ObjectFile))
    stop("LLVM emits no objects for " + std::string(chip));
  passes.run(*module);
  return link(llvm::StringRef(object.data(), object.size()));
}

std::shared_ptr<const simulator::CodeObject> makeKernels(std::string_view chip, const std::vector<AssemblyKernel>& kernels) {
  bool cdna = chip.starts_with("gfx9");
  std::string code = fmt::format(".amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n.amdhsa_code_object_version 6\n", chip);
  std::string metadata = "\n.amdgpu_metadata\n---\namdhsa.version: [1, 2]\namdhsa.kernels:";
  for (const AssemblyKernel& kernel : kernels) {
    using namespace fmt::literals;
    std::string list;
    for (int i = 0; i < kernel.pointers; ++i)
      list += fmt::format("      - {{.offset: {}, .size: 8, .value_kind: global_buffer, .address_space: global}}\n", i * 8);
    int registers = cdna ? 128 : 64;
    code += fmt::format(kKernel, "name"_a = kernel.name, "body"_a = kernel.body, "registers"_a = registers, "lds"_a = kernel.ldsBytes,
                        "arguments"_a = kernel.pointers * 8, "denormals"_a = kernel.flushesDenormals ? 0 : 3,
                        "chip"_a = cdna ? ".amdhsa_accum_offset 64" : ".amdhsa_wavefront_size32 1");
    metadata += fmt::format(kMetadata, "name"_a = kernel.name, "arguments"_a = kernel.pointers * 8, "lds"_a = kernel.ldsBytes,
                            "lanes"_a = cdna ? 64 : 32, "registers"_a = registers, "list"_a = list);
  }
  return simulator::CodeObject::load(assemble(chip, code + metadata + "...\n.end_amdgpu_metadata\n"));
}

std::shared_ptr<const simulator::CodeObject> makeFromIr(std::string_view chip, const std::string& text) {
  return simulator::CodeObject::load(compileIr(chip, text));
}

}  // namespace fattn::test
