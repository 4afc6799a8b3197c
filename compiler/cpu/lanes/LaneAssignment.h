// SPDX-License-Identifier: Apache-2.0
// Decides which dimension of every tile runs along the vector lanes, and for every dot whether its result's rows or columns do.
//
//   %s = tile.dot %a, %b   : [M,K] x [K,N]        lane 1: the vectors of b are read, elements of a broadcast
//                                                 lane 0: the vectors of a are read (stored K outermost), elements of b broadcast
//                                                 along K: vectors of both are read along K, and their sums' lanes added up
//
// Broadcast operands may have any strides, so the choice decides what must be transposed, and whether a reduction stays inside vectors.
// All combinations are priced (transposed elements, weighted by loop depth; padding; reductions across lanes) and the cheapest is taken.
#ifndef FATTN_COMPILER_CPU_LANES_LANEASSIGNMENT_H
#define FATTN_COMPILER_CPU_LANES_LANEASSIGNMENT_H

#include "compiler/dialect/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fattn::cpu {

class LaneAssignment {
 public:
  LaneAssignment(mlir::func::FuncOp func, int64_t lanes);

  /// The lane dimension of a tile; -1 where every choice is as good (constants, single elements).
  int lane(mlir::Value tile) const;
  /// The dimension of the result that runs along the lanes: 0 or 1.
  int dotLane(mlir::Operation* dot) const;
  /// Whether the contracted dimension runs along the lanes while the product is computed.
  bool isAlongK(mlir::Operation* dot) const;

 private:
  enum class Form { Lane0, Lane1, AlongK };
  using DotForms = llvm::DenseMap<mlir::Operation*, Form>;
  struct Choice {
    double cost;
    DotForms forms;
  };

  // Lanes of all tiles follow from those of the dots.
  void propagate();
  enum class Round { First, Last };
  void propagateOp(mlir::Operation* op, Round round);
  void propagateReduce(tile::ReduceOp reduce);
  void propagateTied(mlir::Operation* op);
  void setLane(mlir::Value value, int lane);
  int laneFromOperands(mlir::Operation* op, Round round) const;
  void defaultLanes();

  // Every dot has two or three choices. Where these are few all combinations are tried, else one dot after the other, the costliest ones.
  void search();
  void tryAll(Choice& best);
  void tryCostliest(Choice& best);
  void consider(Choice& best);
  double costNow();
  size_t combinations() const;

  mlir::func::FuncOp func;
  int64_t lanes;
  llvm::SmallVector<tile::DotOp> dots;
  llvm::DenseMap<mlir::Operation*, llvm::SmallVector<Form>> choices;
  DotForms forms;
  llvm::DenseMap<mlir::Value, int> valueLanes;
};

/// The dimension of a loaded tile whose stride is the constant 1, or -1.
int unitStrideDim(mlir::Value blockPtr);

}  // namespace fattn::cpu

#endif
