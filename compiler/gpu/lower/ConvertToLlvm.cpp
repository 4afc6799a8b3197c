// SPDX-License-Identifier: Apache-2.0
// Scalars, branches and functions become the LLVM dialect.
//
//   %y = arith.addf %x, %x : f32                     %y = llvm.fadd %x, %x : f32
//   %z = math.exp2 %y : f32                  =>      %z = llvm.intr.exp2(%y) : f32
//   cf.br ^next(%z : f32)                            llvm.br ^next(%z : f32)
//
// MLIR has a pass for each of these dialects. Each of them looks at every operation, casts between what is converted and what is not yet,
// and can go back: for long programs that was a tenth of the compilation.
//
// Assumption: A1 no operation of scf is left. Test: tests/lit/gpu/convert-to-llvm.mlir.
#include "compiler/gpu/lower/Passes.h"
#include "mlir/Analysis/DataLayoutAnalysis.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace fattn::gpu {

#define GEN_PASS_DEF_CONVERTTOLLVMPASS
#include "compiler/gpu/lower/Passes.h.inc"

namespace {

struct ConvertToLlvmPass : impl::ConvertToLlvmPassBase<ConvertToLlvmPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    const auto& layouts = getAnalysis<DataLayoutAnalysis>();
    const LowerToLLVMOptions options(&getContext(), layouts.getAtOrAbove(module));
    SymbolTableCollection symbols;
    LLVMTypeConverter types(&getContext(), options, &layouts);
    RewritePatternSet patterns(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    ub::populateUBToLLVMConversionPatterns(types, patterns);
    populateFuncToLLVMConversionPatterns(types, patterns, &symbols);
    const LLVMConversionTarget target(getContext());
    // These patterns change nothing before they are sure. To keep what they change, for a way back, takes half of the time.
    ConversionConfig config;
    config.allowPatternRollback = false;
    if (failed(applyPartialConversion(module, target, std::move(patterns), config))) signalPassFailure();
  }
};

}  // namespace

}  // namespace fattn::gpu
