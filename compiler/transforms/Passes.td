// SPDX-License-Identifier: Apache-2.0
// Passes on the `tile` dialect that every target runs first, in the order of their pipeline: names, options, dialects and descriptions.
#ifndef FATTN_COMPILER_TRANSFORMS_PASSES_TD
#define FATTN_COMPILER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FoldAdvancesPass : Pass<"tile-fold-advances", "::mlir::ModuleOp"> {
  let summary = "Turn loop-carried block pointers into offsets from the induction variable";
  let description = [{
    A block pointer that a loop carries and advances by the same amount in every trip becomes an offset from the initial pointer. Its shape and
    strides are then visible inside the loop.
  }];
}

def SplitLoopsPass : Pass<"tile-split-loops", "::mlir::ModuleOp"> {
  let summary = "Give the trips in which all masks are known a loop of their own";
  let description = [{
    For targets where starting a loop costs little (the host). The trips in which every element of the masks holds get a loop without masks and
    without the boundary checks of their loads and stores.
  }];
}

def GuardMasksPass : Pass<"tile-guard-masks", "::mlir::ModuleOp"> {
  let summary = "Branch around masks in the trips in which they are known";
  let description = [{
    For targets that pipeline loops (GPUs): the loop stays one, is filled and drained once, and branches around its masks.
  }];
}

def FoldScalesPass : Pass<"tile-fold-scales", "::mlir::ModuleOp"> {
  let summary = "Fuse multiplications with the additions that follow";
  let description = [{
    A product in f32 that is only added to or subtracted from something becomes a fused multiply-add, with one rounding instead of two.
  }];
  let dependentDialects = ["::mlir::math::MathDialect"];
}

def SinkLazyPass : Pass<"tile-sink-lazy", "::mlir::ModuleOp"> {
  let summary = "Move what only an exact side uses into it";
  let description = [{
    For targets that branch around the exact side of a `tile.select_lazy`. What only that side uses is computed there, and what narrows its result
    narrows both sides instead. GPUs run it behind the passes that every target runs.
  }];
}

#endif
