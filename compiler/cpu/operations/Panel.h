// SPDX-License-Identifier: Apache-2.0
// What all register blocks of a product share: how operands are read, multiplied and added.
#ifndef FATTN_COMPILER_CPU_OPERATIONS_PANEL_H
#define FATTN_COMPILER_CPU_OPERATIONS_PANEL_H

#include "compiler/cpu/builder/HostBuilder.h"
#include "compiler/cpu/operations/Dots.h"

namespace fattn::cpu {

/// An operand as the blocks read it, and its contracted dimension.
struct Factor {
  View view;
  int k;
};

/// A whole product, operand by operand; `depth` counts elements, or pairs, of the contraction.
struct Panel {
  DotKind kind;
  std::array<Factor, 2> factors;
  View acc;
  int64_t depth;
  bool zero;  ///< start from zero instead of loading the accumulators
};

mlir::VectorType operandType(HostBuilder& b, DotKind kind);
mlir::Value multiplyAdd(HostBuilder& b, DotKind kind, mlir::Value x, mlir::Value y, mlir::Value acc);

/// The vector that lies together from element (k, other) on, as the product computes with it.
mlir::Value loadTogether(HostBuilder& b, DotKind kind, const Factor& factor, mlir::Value k, mlir::Value other);
/// Whether rows 2k and 2k+1 lie apart and become pairs where they are read.
bool isInterleaved(DotKind kind, const Factor& factor);
/// `count` vectors of such pairs. `k`: the number of the pair.
llvm::SmallVector<mlir::Value> loadInterleaved(HostBuilder& b, const Factor& factor, mlir::Value k, mlir::Value other, int64_t count);

/// Bytes that lie together in memory for one vector of the product.
int64_t bytesOfVector(HostBuilder& b, DotKind kind, const Factor& factor);
/// Where a loop's next trip reads on: asks for the line that is so many bytes in front of element (k, other), in whole rows.
void askAhead(HostBuilder& b, const Factor& factor, mlir::Value k, mlir::Value other, int64_t bytes);

/// The same of `count` rows from `first` on, whole, of each trip its share of their lines, one behind the other: in the order in which they
/// lie in memory, so that a page's addresses are looked up once. A trip takes `step` elements of each row from `k` on.
void askInOrder(HostBuilder& b, const Panel& panel, const Factor& factor, mlir::Value first, int64_t count, mlir::Value k, int64_t step);

/// Blocks of `step` of `total` things: a loop over the full ones, then what is left. `block` gets where one begins, counted in `unit` for
/// each thing, and how many things it has.
void forBlocks(HostBuilder& b, int64_t total, int64_t step, int64_t unit, llvm::function_ref<void(mlir::Value, int64_t)> block);

}  // namespace fattn::cpu

#endif
