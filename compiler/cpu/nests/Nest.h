// SPDX-License-Identifier: Apache-2.0
// Loop nests over the elements of a tile.
#ifndef FATTN_COMPILER_CPU_NESTS_NEST_H
#define FATTN_COMPILER_CPU_NESTS_NEST_H

#include "compiler/cpu/builder/View.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace fattn::cpu {

struct Emission;
struct HostTarget;

/// What a nest runs over.
struct Space {
  llvm::ArrayRef<int64_t> shape;
  int lane;           ///< the dimension that is taken `width` elements at a time; -1: element by element
  int64_t width;      ///< elements of a vector
  int carrying = -1;  ///< the innermost loop's dimension, where that loop carries values

  /// With the width that suits the shape.
  static Space of(const HostTarget& host, llvm::ArrayRef<int64_t> shape, int lane);
};

using PointBody = llvm::function_ref<void(const Point&)>;
/// What a nest carries through its innermost loop.
struct Carrying {
  llvm::function_ref<llvm::SmallVector<mlir::Value>(const Point&)> init;
  llvm::function_ref<llvm::SmallVector<mlir::Value>(const Point&, mlir::ValueRange)> body;  ///< from the values carried to the next ones
  llvm::function_ref<void(const Point&, mlir::ValueRange)> finish;                          ///< behind the loop
};

/// The dimension `space.carrying` is innermost, else the lanes are; the others are around it in their order.
void nest(Emission& e, const Space& space, const Carrying& carrying);
void nest(Emission& e, const Space& space, PointBody body);
void nestOver(Emission& e, llvm::ArrayRef<int64_t> shape, int lane, PointBody body);
/// For every element of `shape` that the tile `mask` selects; lanes are taken apart.
void forEachElement(Emission& e, llvm::ArrayRef<int64_t> shape, mlir::Value mask, PointBody body);

}  // namespace fattn::cpu

#endif
