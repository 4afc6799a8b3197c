// SPDX-License-Identifier: Apache-2.0
// Groups: consecutive elementwise values and reductions over one index space, which wait until something else has to be emitted and then
// share one loop nest.
#ifndef FATTN_COMPILER_CPU_GROUPS_H
#define FATTN_COMPILER_CPU_GROUPS_H

#include "compiler/cpu/View.h"
#include "compiler/dialect/Tile.h"
#include "mlir/IR/Operation.h"

namespace fattn::cpu {

struct Emission;

/// A root is what a group's loop nest computes besides the values that vanish into it: a buffer or the results of a reduction.
struct Root {
  mlir::Operation* op = nullptr;
  mlir::Value value;  ///< the elementwise value to store; null for a reduction

  /// The tiles that are computed for it.
  mlir::ValueRange computed() const { return value ? mlir::ValueRange(value) : mlir::ValueRange(op->getOperands()); }
  /// A tile of the root's index space.
  mlir::Value over() const { return value ? value : op->getOperand(0); }
};

struct Group {
  llvm::SmallVector<Root> roots;
  llvm::SmallVector<int64_t> shape;
  int lane = -1;
  int reduced = -1;  ///< the dimension of its reductions, -1 without any
  bool empty() const { return roots.empty(); }
  bool computes(mlir::Operation* op) const {
    return llvm::any_of(roots, [&](const Root& root) { return root.op == op; });
  }
};

/// Adds to the group that waits; emits that first if the root does not fit.
void addRoot(Emission& e, Root root);
/// Emits the group that waits.
void flush(Emission& e);
/// Gives the value memory before `user` reads it, where computing it again for others is more than that is worth.
void shareBefore(Emission& e, mlir::Operation* user, mlir::Value value);
/// How many operations are computed again for each use of the value; 0 where it has memory.
int64_t recomputedOps(const Emission& e, mlir::Value value);

/// The buffer of a root: that of a value it replaces, or a new one (InPlace.cpp).
View placeRoot(Emission& e, mlir::Value value);
/// The loop nest of a group with reductions (ReductionNest.cpp).
void emitReductionNest(Emission& e, const Group& group, llvm::ArrayRef<tile::ReduceOp> reductions);

}  // namespace fattn::cpu

#endif
