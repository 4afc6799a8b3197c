// SPDX-License-Identifier: Apache-2.0
// Tiles into buffers, also along other lanes than those they are computed along.
#ifndef FATTN_COMPILER_CPU_NESTS_MATERIALIZE_H
#define FATTN_COMPILER_CPU_NESTS_MATERIALIZE_H

#include "compiler/cpu/builder/View.h"
#include "compiler/cpu/nests/Nest.h"

namespace fattn::cpu {

/// Computes `value` into a buffer whatever the lanes and the element types of the two are.
void materialize(Emission& e, mlir::Value value, const View& into);
/// A new buffer with the value, with its element type.
View materialized(Emission& e, mlir::Value value, int lane);
void copyTile(Emission& e, const View& from, const View& into);
/// Blocks of lanes x lanes elements are read along `from`, transposed in registers by log2(lanes) rounds of interleaving, and stored along
/// into.lane. `read` gives a vector as it lies in memory.
void transposeBlocks(Emission& e, const View& into, int from, llvm::function_ref<mlir::Value(const Point&)> read);

}  // namespace fattn::cpu

#endif
