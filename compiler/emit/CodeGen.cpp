// SPDX-License-Identifier: Apache-2.0
#include "compiler/emit/CodeGen.h"

#include "compiler/emit/ColdBlocks.h"
#include "fattn/Error.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/PassInfo.h"
#include "llvm/PassRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "mlir/Target/LLVMIR/Export.h"

namespace fattn::emit {
namespace {

/// What a machine's list of passes adds, but for those that a back end leaves out (see generate()) and one that all do. Around the last
/// scheduler stand the passes of ColdBlocks.h, where a back end wants them.
///
/// LLVM's straight-line strength reduction compares each addition, product and address with all that look like it, a time that grows with
/// the square of a kernel's length. Tiles of one warp make kernels of 100,000 instructions. Addresses are what it is for, and those of
/// kernels are few (SinkAddresses.h).
class CodeGenPasses : public llvm::legacy::PassManager {
 public:
  CodeGenPasses(llvm::ArrayRef<llvm::StringRef> leftOut, bool fenceColdBlocks) : leftOut_(leftOut), fenceColdBlocks_(fenceColdBlocks) {}
  void add(llvm::Pass* pass) override {
    const llvm::PassInfo* info = llvm::PassRegistry::getPassRegistry()->getPassInfo(pass->getPassID());
    llvm::StringRef name = info ? info->getPassArgument() : "";
    if (name == "slsr" || llvm::is_contained(leftOut_, name)) return delete pass;
    const bool fenced = fenceColdBlocks_ && name == "postmisched";
    if (fenced) llvm::legacy::PassManager::add(createFenceColdBlocks());
    llvm::legacy::PassManager::add(pass);
    if (fenced) llvm::legacy::PassManager::add(createUnfenceColdBlocks());
  }

 private:
  llvm::ArrayRef<llvm::StringRef> leftOut_;
  bool fenceColdBlocks_;
};

}  // namespace

std::unique_ptr<llvm::Module> translate(mlir::ModuleOp source, llvm::LLVMContext& context, const llvm::TargetMachine& machine) {
  auto module = mlir::translateModuleToLLVMIR(source, context);
  if (!module) throw Error(ErrorCode::Internal, "the lowered kernel could not be translated to LLVM IR");
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  return module;
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine, llvm::StringRef pipeline) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, pipeline));
  passes.run(module, modules);
}

std::string generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                     llvm::ArrayRef<llvm::StringRef> leftOut, bool fenceColdBlocks) {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  CodeGenPasses passes(leftOut, fenceColdBlocks);
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    throw Error(ErrorCode::Internal, "LLVM cannot write this kind of file for " + machine.getTargetTriple().str());
  passes.run(module);
  return {buffer.begin(), buffer.end()};
}

}  // namespace fattn::emit
