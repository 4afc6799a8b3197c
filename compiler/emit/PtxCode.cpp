// SPDX-License-Identifier: Apache-2.0
// LLVM dialect + NVVM -> LLVM IR -> optimized -> PTX. No vendor library takes part; the driver assembles the text.
#include "compiler/emit/PtxCode.h"

#include <array>
#include <mutex>

#include "compiler/emit/CodeGen.h"
#include "compiler/emit/LlvmOptions.h"
#include "compiler/emit/SinkAddresses.h"
#include "fattn/Error.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

namespace fattn::emit {
namespace {

constexpr std::array<PtxChip, 9> kChips = {{{"sm_80", 70, "11.0"},
                                            {"sm_86", 71, "11.1"},
                                            {"sm_89", 78, "11.8"},
                                            {"sm_90", 78, "11.8"},
                                            {"sm_90a", 80, "12.0"},
                                            {"sm_100", 86, "12.7"},
                                            {"sm_100a", 86, "12.7"},
                                            {"sm_120", 87, "12.8"},
                                            {"sm_120a", 87, "12.8"}}};

/// PTX 8.4 (CUDA 12.4) brought mma of 8-bit floating-point numbers to chips that are older than it, and PTX 8.1 (CUDA 12.1) additions of
/// vectors to memory.
int versionFor(mlir::ModuleOp source, const PtxChip& chip) {
  int version = chip.version;
  source.walk([&](mlir::LLVM::CallIntrinsicOp call) {
    llvm::StringRef name = call.getIntrin();
    if (name.starts_with("llvm.nvvm.mma.") && (name.contains("e4m3") || name.contains("e5m2"))) version = std::max(version, 84);
  });
  source.walk([&](mlir::LLVM::InlineAsmOp code) {
    llvm::StringRef text = code.getAsmString();
    if (text.contains("red.relaxed.gpu.global.add") && (text.contains(".v2.") || text.contains(".v4."))) version = std::max(version, 81);
  });
  return version;
}

/// As for the host (HostCode.cpp), code is blocked and inlined when it gets here: the default -O2 list takes three times as long and finds
/// no more (docs/performance.md, "Compile time"). Registers and instructions are saved where the numbers of threads and blocks are known to
/// be small (nvvm-intr-range) and what follows from them is, too (sccp), and a branch where one test implies another (gvn). Branches that
/// hardly any warp takes are marked as such (lower-expect). Short loops over rows want several trips in flight, and ptxas unrolls few.
constexpr const char* kPtxPasses =
    "function(lower-expect,nvvm-intr-range,simplifycfg,early-cse<memssa>,instcombine<no-verify-fixpoint>,gvn,sccp,"
    "loop-mssa(loop-rotate,licm),simplifycfg,instcombine<no-verify-fixpoint>,early-cse<memssa>,loop-unroll<O2>,early-cse)";

/// The list of NVPTX looks for equal values again (gvn) behind its own changes of addresses. A tenth of the whole compilation went there,
/// and what ptxas makes of the result has as many instructions.
constexpr llvm::StringRef kLeftOut[] = {"gvn"};

/// Addresses in shared memory have 32 bits, and take one register where LLVM would take two: it offers that to its command line only.
void useShortPointers() {
  auto& options = llvm::cl::getRegisteredOptions();
  auto found = options.find("nvptx-short-ptr");
  if (found == options.end())
    throw Error(ErrorCode::Unsupported, "this LLVM cannot use 32-bit addresses of shared memory (nvptx-short-ptr)", "build with LLVM 22");
  static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
}

std::unique_ptr<llvm::TargetMachine> makeMachine(const PtxChip& chip, int version) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    throw Error(ErrorCode::Unsupported, "this LLVM has no NVPTX code generator: " + error, "build with an LLVM that has the NVPTX target");
  std::string features = "+ptx" + std::to_string(version);
  const std::scoped_lock lock(llvmOptions());
  useShortPointers();  // each time, as code for AMD may have been linked since
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, chip.name, features, {}, std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

}  // namespace

std::span<const PtxChip> ptxChips() { return kChips; }

const PtxChip& ptxChip(const std::string& name) {
  std::string legal;
  for (const PtxChip& chip : kChips) {
    if (name == chip.name) return chip;
    legal += (legal.empty() ? "" : ", ") + std::string(chip.name);
  }
  throw Error(ErrorCode::InvalidArgument, "no code can be generated for the chip '" + name + "'", "legal are " + legal);
}

std::string emitPtx(mlir::ModuleOp source, const std::string& name, std::string* llvmIR) {
  const PtxChip& chip = ptxChip(name);
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
  source.getContext()->appendDialectRegistry(registry);
  llvm::LLVMContext context;
  auto machine = makeMachine(chip, versionFor(source, chip));
  auto module = translate(source, context, *machine);
  optimize(*module, *machine, kPtxPasses);
  sinkAddresses(*module);
  if (llvmIR != nullptr) {
    llvm::raw_string_ostream text(*llvmIR);
    module->print(text, nullptr);
  }
  return generate(*module, *machine, llvm::CodeGenFileType::AssemblyFile, kLeftOut);
}

}  // namespace fattn::emit
