// SPDX-License-Identifier: Apache-2.0
// Where a tile lives while the host executes a program: in global memory (an untouched load) or in the thread's scratch.
#ifndef FATTN_COMPILER_CPU_BUILDER_VIEW_H
#define FATTN_COMPILER_CPU_BUILDER_VIEW_H

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Value.h"

namespace fattn::cpu {

/// Strides and indices are i64 values or constants (IntegerAttr), in elements.
using Stride = mlir::OpFoldResult;

/// A strided window of memory that holds a tile. `lane` is the dimension of stride one (-1: none is known). A `padded` view may be
/// read, and if it is scratch written, past the end of its lane dimension up to a multiple of the vector width.
struct View {
  mlir::Value base;
  mlir::Type element;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<Stride> strides;
  int lane = -1;
  bool padded = false;
  int slot = -1;          ///< the scratch slot it owns, -1 if it owns none
  bool shared = false;    ///< although it owns a slot it may lie in the caller's array: never written
  int readsOn = -1;       ///< the dimension along which a loop's next trip reads on where this window ends (-1: none is known)
  mlir::Value next = {};  ///< where the next trip reads on, if not there: the first element of its window (null: there)
};

/// A block pointer taken apart.
struct BlockPtr {
  mlir::Value base;
  mlir::Type element;
  llvm::SmallVector<Stride> shape, strides, offsets;
};

/// One point of a loop nest: an index per dimension; dimension `lane` stands for `width` consecutive elements (-1: a single element).
struct Point {
  llvm::SmallVector<mlir::Value> index;
  int lane = -1;
  int64_t width = 1;

  /// How many elements of a tile stand at this point.
  int64_t elements() const { return lane < 0 ? 1 : width; }
};

}  // namespace fattn::cpu

#endif
