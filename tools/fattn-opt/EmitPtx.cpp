// SPDX-License-Identifier: Apache-2.0
// The pass behind fattn-opt --emit-ptx.
#include "compiler/emit/PtxCode.h"
#include "fattn/Error.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tools/fattn-opt/RegisterPasses.h"

using namespace mlir;

namespace fattn {
namespace {

struct EmitPtxPass : PassWrapper<EmitPtxPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EmitPtxPass)

  EmitPtxPass() = default;
  EmitPtxPass(const EmitPtxPass& other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "emit-ptx"; }
  StringRef getDescription() const override { return "Print the PTX of a module of the LLVM and NVVM dialects"; }

  void runOnOperation() override {
    try {
      llvm::outs() << emit::emitPtx(getOperation(), chip);
    } catch (const Error& error) {
      emitError(UnknownLoc::get(&getContext())) << error.what();
      signalPassFailure();
    }
  }

  Option<std::string> chip{*this, "chip", llvm::cl::desc("The chip to generate code for"), llvm::cl::init("sm_80")};
};

}  // namespace

void registerEmitPtxPass() { PassRegistration<EmitPtxPass>(); }

}  // namespace fattn
