// SPDX-License-Identifier: Apache-2.0
// How a role uses the slots of a buffer that boxes are copied to: which slot each operation names, beside a count of trips.
#ifndef FATTN_COMPILER_GPU_PASSES_ROLES_RINGS_H
#define FATTN_COMPILER_GPU_PASSES_ROLES_RINGS_H

#include <optional>

#include "compiler/gpu/dialect/TileGpu.h"

namespace fattn::tilegpu {

/// A wait, or a copy that is made where it stands: each takes the slot behind the one before.
bool isVisit(mlir::Operation* op);

inline std::int64_t slotsOf(AllocOp alloc) { return alloc.getResult().getType().getSlots(); }

/// An operand that names a slot: that of the count, and so many further.
struct SlotUse {
  mlir::OpOperand* slot;
  std::size_t loops = 0;  ///< how many loops of the ring stand before it, or around it
  bool inLoop = false;    ///< whether the last of these is around it
  std::int64_t ahead = 0;
};

/// How one role uses the slots of one buffer in a program.
struct Ring {
  llvm::SmallVector<SlotUse> uses;
  llvm::SmallVector<mlir::Operation*> loops;  ///< with a visit in each trip, by each of which the count rises by one
  std::int64_t outside = 0;                   ///< visits outside of loops
};

/// Nothing where visits stand elsewhere than in the program's block and once in trips of its loops, or where a slot's number is neither a
/// constant in front of them, nor what they carry and goes on by one in each trip, nor follows from that.
std::optional<Ring> ringOf(AllocOp alloc, mlir::Block* program);

}  // namespace fattn::tilegpu

#endif
