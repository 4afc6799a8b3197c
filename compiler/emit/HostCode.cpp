// SPDX-License-Identifier: Apache-2.0
// LLVM dialect -> LLVM IR -> optimized -> relocatable object for the host.
#include "compiler/emit/HostCode.h"

#include <mutex>

#include "compiler/emit/CodeGen.h"
#include "fattn/Error.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

namespace fattn::emit {
namespace {

std::unique_ptr<llvm::TargetMachine> makeMachine(const cpu::HostTarget& target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
  });
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    throw Error(ErrorCode::Unsupported, "no code generator for this host (" + triple.str() + "): " + error,
                "fattn's host back end needs x86-64");
  llvm::TargetOptions options;
  options.FunctionSections = true;
  options.MCOptions.AsmVerbose = true;  // comments in assembly, such as where registers are spilled
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                                                         llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

/// What the kernel's entry promises (HostTarget's contract) and what code generation has to know.
void annotate(llvm::Function& function, const cpu::HostTarget& target) {
  function.addFnAttr("target-cpu", target.cpu);
  if (!target.features.empty()) function.addFnAttr("target-features", target.features);
  std::string bits = std::to_string(target.lanes * 32);
  function.addFnAttr("prefer-vector-width", bits);
  function.addFnAttr("min-legal-vector-width", bits);
  function.addFnAttr(llvm::Attribute::NoUnwind);
  if (function.arg_size() != 3) return;
  for (unsigned i : {0u, 1u}) function.addParamAttr(i, llvm::Attribute::ReadOnly);
  for (unsigned i : {0u, 1u, 2u}) function.addParamAttr(i, llvm::Attribute::NoAlias);
}

/// The code is vectorized, blocked and inlined when it gets here. What remains is to share and hoist addresses; the default -O2 list takes
/// three times as long and finds no more (docs/performance.md, "Compile time").
constexpr const char* kPasses =
    "function(simplifycfg,early-cse<memssa>,instcombine<no-verify-fixpoint>,loop-mssa(loop-rotate,licm),simplifycfg,"
    "instcombine<no-verify-fixpoint>,early-cse<memssa>)";  // by itself instcombine aborts the process where one iteration is not enough

}  // namespace

HostCode emitHostCode(mlir::ModuleOp source, const cpu::HostTarget& target, bool wantText) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  source.getContext()->appendDialectRegistry(registry);
  llvm::LLVMContext context;
  auto machine = makeMachine(target);
  auto module = translate(source, context, *machine);
  for (llvm::Function& function : *module)
    if (!function.isDeclaration()) annotate(function, target);
  optimize(*module, *machine, kPasses);
  HostCode code;
  if (wantText) {
    llvm::raw_string_ostream text(code.llvmIR);
    module->print(text, nullptr);
    auto copy = llvm::CloneModule(*module);
    code.assembly = generate(*copy, *machine, llvm::CodeGenFileType::AssemblyFile);
  }
  code.object = generate(*module, *machine, llvm::CodeGenFileType::ObjectFile);
  return code;
}

}  // namespace fattn::emit
