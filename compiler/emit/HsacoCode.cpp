// SPDX-License-Identifier: Apache-2.0
// LLVM dialect + ROCDL -> LLVM IR -> optimized -> object -> code object, all in this process.
#include "compiler/emit/HsacoCode.h"

#include <mutex>

#include "compiler/emit/CodeGen.h"
#include "compiler/emit/LinkHsaco.h"
#include "fattn/Error.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"

namespace fattn::emit {
namespace {

/// Version 5 of code objects, which ROCm loads from 5.2 on.
constexpr unsigned kCodeObjectVersion = 500;

/// LLVM's default for gfx11 is registers of 16 bits. A loop with two dots of width 128 then spills and has 200 moves between halves. With
/// registers of 32 bits alone it has 126 and no spills.
///
/// What is not aligned to its size is not read at once: LLVM would make one read of two neighbours in LDS, which chips refuse unless their
/// system has set them up for that.
std::string featuresOf(llvm::StringRef chip) {
  const std::string aligned = "-unaligned-access-mode";
  return chip.starts_with("gfx11") ? aligned + ",-real-true16" : aligned;
}

std::unique_ptr<llvm::TargetMachine> makeMachine(const std::string& chip) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
  });
  llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    throw Error(ErrorCode::Unsupported, "this LLVM has no AMDGPU code generator: " + error,
                "build with an LLVM that has the AMDGPU target");
  llvm::TargetOptions options;
  options.MCOptions.AsmVerbose = true;  // registers, LDS and scratch behind a kernel's assembly
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(triple, chip, featuresOf(chip), options, llvm::Reloc::PIC_,
                                                                          std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

bool hasMfma(llvm::StringRef chip) { return chip.starts_with("gfx9"); }

/// The code generator's list looks for equal sums (nary-reassociate), where the list below has found them. What its gvn finds is worth its
/// time with MFMA only (docs/simulator.md, "What compiling takes").
///
/// LLVM 22 moves WMMA, which needs all lanes, into branches, where fewer may be on (github.com/llvm/llvm-project/pull/178314): on chips of
/// gfx11 and later nothing is moved. MFMA stays where it is.
llvm::SmallVector<llvm::StringRef, 3> leftOut(llvm::StringRef chip) {
  if (hasMfma(chip)) return {"nary-reassociate"};
  return {"nary-reassociate", "gvn", "machine-sink"};
}

/// As for NVIDIA (PtxCode.cpp), the default -O2 list takes nearly twice as long and finds no more (docs/simulator.md, "What compiling
/// takes"). MFMA's chips have instructions for pairs of f32, which slp-vectorizer and vector-combine find. What lies behind unrolled loops
/// is cleaned up once more: else addresses are computed in the trip, and a loop of width 128 with a mask stored registers on gfx950.
std::string passesFor(llvm::StringRef chip) {
  return std::string(
             "function(infer-address-spaces,simplifycfg,early-cse<memssa>,instcombine<no-verify-fixpoint>,reassociate,"
             "loop-mssa(loop-rotate,licm),simplifycfg,instcombine<no-verify-fixpoint>,early-cse<memssa>,") +
         (hasMfma(chip) ? "slp-vectorizer,vector-combine," : "") +
         "loop-unroll<O2>,sroa,instcombine<no-verify-fixpoint>,loop-mssa(licm),simplifycfg,early-cse)";
}

/// Errors of LLVM's back end, which would otherwise end the process.
void collectErrors(const llvm::DiagnosticInfo* diagnostic, void* text) {
  if (diagnostic->getSeverity() != llvm::DS_Error) return;
  llvm::raw_string_ostream stream(*static_cast<std::string*>(text));
  llvm::DiagnosticPrinterRawOStream printer(stream);
  diagnostic->print(printer);
  stream << "\n";
}

/// What the code object's metadata say of a kernel. Source: LLVM, "User Guide for AMDGPU Backend", code object V3 metadata.
void readResources(const std::string& entry, HsacoCode& code) {
  using File = llvm::object::ELFFile<llvm::object::ELF64LE>;
  const auto fail = [](llvm::Error error) {
    throw Error(ErrorCode::Internal, "the code object cannot be read: " + llvm::toString(std::move(error)));
  };
  llvm::Expected<File> file = File::create(code.codeObject);
  if (!file) fail(file.takeError());
  llvm::Expected<File::Elf_Phdr_Range> headers = file->program_headers();
  if (!headers) fail(headers.takeError());
  for (const auto& header : *headers) {
    if (header.p_type != llvm::ELF::PT_NOTE) continue;
    llvm::Error error = llvm::Error::success();
    for (const auto& note : file->notes(header, error)) {
      if (note.getType() != llvm::ELF::NT_AMDGPU_METADATA) continue;
      llvm::msgpack::Document document;
      if (!document.readFromBlob(note.getDescAsStringRef(header.p_align), /*Multi=*/false)) continue;
      for (llvm::msgpack::DocNode& kernel : document.getRoot().getMap(true)["amdhsa.kernels"].getArray(true)) {
        llvm::msgpack::MapDocNode& facts = kernel.getMap(true);
        if (facts[".name"].getString() != entry) continue;
        const auto number = [&](const char* key) { return static_cast<std::int64_t>(facts[key].isEmpty() ? 0 : facts[key].getUInt()); };
        code.vectorRegisters = static_cast<int>(number(".vgpr_count"));
        code.scalarRegisters = static_cast<int>(number(".sgpr_count"));
        code.sharedBytes = number(".group_segment_fixed_size");
        code.spillBytes = number(".private_segment_fixed_size");
      }
    }
    if (error) fail(std::move(error));
  }
}

}  // namespace

HsacoCode emitHsaco(mlir::ModuleOp source, const std::string& chip, const std::string& entry, bool wantText) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerROCDLDialectTranslation(registry);
  source.getContext()->appendDialectRegistry(registry);
  llvm::LLVMContext context;
  std::string errors;
  context.setDiagnosticHandlerCallBack(collectErrors, &errors);
  auto machine = makeMachine(chip);
  auto module = translate(source, context, *machine);
  module->addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", kCodeObjectVersion);
  optimize(*module, *machine, passesFor(chip));
  HsacoCode code;
  if (wantText) {
    llvm::raw_string_ostream text(code.llvmIR);
    module->print(text, nullptr);
    auto copy = llvm::CloneModule(*module);
    code.assembly = generate(*copy, *machine, llvm::CodeGenFileType::AssemblyFile, leftOut(chip));
  }
  if (errors.empty()) {
    const std::string object = generate(*module, *machine, llvm::CodeGenFileType::ObjectFile, leftOut(chip));
    if (errors.empty()) code.codeObject = linkHsaco(object);
  }
  if (!errors.empty()) throw Error(ErrorCode::CompileError, "no code can be generated for " + chip + ": " + errors);
  readResources(entry, code);
  return code;
}

}  // namespace fattn::emit
