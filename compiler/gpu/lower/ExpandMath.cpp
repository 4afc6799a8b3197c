// SPDX-License-Identifier: Apache-2.0
// What the machine has no instruction for becomes arithmetic on f32: polynomials for sin, cos, erf and their like, and other functions by
// way of those.
//
//   %y = math.erf %x : f32        =>        a quotient of polynomials of %x, clamped to -1 .. 1
//
// Assumption: A1 functions that the machine has were lowered before, with better instructions. Test: tests/lit/gpu/expand-math.mlir.
#include "compiler/gpu/lower/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace fattn::gpu {

#define GEN_PASS_DEF_EXPANDMATHPASS
#include "compiler/gpu/lower/Passes.h.inc"

namespace {

/// math.round, exp2 and what else LLVM generates code for stay as they are.
constexpr const char* kExpanded[] = {"tan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "powf", "fpowi"};

struct ExpandMathPass : impl::ExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    SmallVector<StringRef> names(std::begin(kExpanded), std::end(kExpanded));
    math::populateExpansionPatterns(patterns, names);
    populateMathPolynomialApproximationPatterns(patterns);
    // The canonicalizer that follows simplifies regions.
    const auto config = GreedyRewriteConfig().setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config))) signalPassFailure();
  }
};

}  // namespace

}  // namespace fattn::gpu
