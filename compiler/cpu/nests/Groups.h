// SPDX-License-Identifier: Apache-2.0
// How groups come about and become loop nests.
#ifndef FATTN_COMPILER_CPU_NESTS_GROUPS_H
#define FATTN_COMPILER_CPU_NESTS_GROUPS_H

#include "compiler/cpu/builder/View.h"
#include "compiler/cpu/state/Group.h"
#include "compiler/dialect/Tile.h"

namespace fattn::cpu {

struct Emission;

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
