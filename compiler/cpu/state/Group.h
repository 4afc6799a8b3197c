// SPDX-License-Identifier: Apache-2.0
// A group: consecutive elementwise values and reductions over one index space, which wait until something else has to be emitted and then
// share one loop nest.
#ifndef FATTN_COMPILER_CPU_STATE_GROUP_H
#define FATTN_COMPILER_CPU_STATE_GROUP_H

#include "mlir/IR/Operation.h"

namespace fattn::cpu {

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

}  // namespace fattn::cpu

#endif
