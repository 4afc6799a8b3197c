// SPDX-License-Identifier: Apache-2.0
#include "compiler/emit/CodeGen.h"

#include "fattn/Error.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "mlir/Target/LLVMIR/Export.h"

namespace fattn::emit {

std::unique_ptr<llvm::Module> translate(mlir::ModuleOp source, llvm::LLVMContext& context, const llvm::TargetMachine& machine) {
  auto module = mlir::translateModuleToLLVMIR(source, context);
  if (!module) throw Error(ErrorCode::Internal, "the lowered kernel could not be translated to LLVM IR");
  module->setTargetTriple(machine.getTargetTriple());
  module->setDataLayout(machine.createDataLayout());
  return module;
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine, const char* pipeline) {
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

std::string generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    throw Error(ErrorCode::Internal, "LLVM cannot write this kind of file for " + machine.getTargetTriple().str());
  passes.run(module);
  return {buffer.begin(), buffer.end()};
}

}  // namespace fattn::emit
