// SPDX-License-Identifier: Apache-2.0
// What a choice of lanes costs, in about one unit per vector instruction, each weighted by how often its loops run.
#ifndef FATTN_COMPILER_CPU_LANES_LANECOST_H
#define FATTN_COMPILER_CPU_LANES_LANECOST_H

#include "compiler/dialect/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fattn::cpu {

class LaneAssignment;

/// The whole function: products, transposed elements, padding, reductions across lanes. `width`: elements of a vector.
double laneCost(mlir::func::FuncOp func, const LaneAssignment& chosen, int64_t width);
/// Whether a dot may be computed along its contraction: vectors fill it, and its results are so few that it could be the cheapest way.
bool mayRunAlongK(tile::DotOp dot, int64_t width);
/// One dot: its multiply-adds with their padding, and the operands that have to be turned around for it.
double dotCost(tile::DotOp dot, const LaneAssignment& chosen, int64_t width);

}  // namespace fattn::cpu

#endif
