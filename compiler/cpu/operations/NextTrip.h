// SPDX-License-Identifier: Apache-2.0
// What a loop reads next.
#ifndef FATTN_COMPILER_CPU_OPERATIONS_NEXTTRIP_H
#define FATTN_COMPILER_CPU_OPERATIONS_NEXTTRIP_H

#include "compiler/dialect/Tile.h"

namespace fattn::cpu {

/// The dimension of a load's window along which the next trip of the loop around it reads on where the window ends; -1 where there is none.
int readsOnAlong(tile::LoadOp load);

}  // namespace fattn::cpu

#endif
