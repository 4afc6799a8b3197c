// SPDX-License-Identifier: Apache-2.0
// What a loop reads next.
#ifndef FATTN_COMPILER_CPU_OPERATIONS_NEXTTRIP_H
#define FATTN_COMPILER_CPU_OPERATIONS_NEXTTRIP_H

#include "compiler/dialect/Tile.h"

namespace fattn::cpu {

struct Emission;

/// The dimension of a load's window along which the next trip of the loop around it reads on where the window ends; -1 where there is none.
int readsOnAlong(tile::LoadOp load);

/// The first element of the window that the next trip reads where that follows from what the loop loads, as a page does from a page table;
/// of this trip's where it is the last one. Emits what it is computed from. Null where it follows otherwise, or does not change.
mlir::Value nextWindow(Emission& e, tile::LoadOp load);

}  // namespace fattn::cpu

#endif
