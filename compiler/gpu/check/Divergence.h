// SPDX-License-Identifier: Apache-2.0
// Operations that all warps of a block have to reach, under conditions that differ between warps.
//
// A scalar is the same in all threads, as each computes it from the launch's arguments, so that scf.if, scf.for and scf.while lead all
// warps the same way. The exact side of a tile.select_lazy may run in some warps only: those whose rows ask for it, where nothing in it
// needs the other warps. What needs them is a barrier, memory that threads share, and another select_lazy that the block decides on.
#ifndef FATTN_COMPILER_GPU_CHECK_DIVERGENCE_H
#define FATTN_COMPILER_GPU_CHECK_DIVERGENCE_H

#include "compiler/gpu/dialect/TileGpu.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fattn::check {

struct Divergence {
  mlir::Operation* op;     ///< that all warps have to reach
  mlir::Operation* under;  ///< the condition that keeps some from it
};

/// Whether the warps of a block may decide on `lazy` one by one: each holds whole rows of the results, with their conditions, and nothing
/// in the region needs other warps.
bool warpsMayDecide(tile::SelectLazyOp lazy);

std::vector<Divergence> divergences(mlir::func::FuncOp function);

}  // namespace fattn::check

#endif
