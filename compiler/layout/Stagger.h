// SPDX-License-Identifier: Apache-2.0
// Registers in another order lane by lane, so that lanes which are served together touch different banks of shared memory.
//
// EXAMPLE: fragments of f32 have 8 rows x 4 lanes of 8 bytes. With the 128-byte swizzle rows 0 and 1 touch the same 32 bytes of a line, as
// pieces of 16 bytes are swapped: 2 passes for 16 lanes where 1 would do. If lanes 2 and 3 of each row store the columns 16 further
// on (or before) in the place of their own, each row touches other banks.
#ifndef FATTN_COMPILER_LAYOUT_STAGGER_H
#define FATTN_COMPILER_LAYOUT_STAGGER_H

#include <vector>

#include "compiler/layout/Shared.h"

namespace fattn::layout {

/// Lanes whose number has this bit take register r ^ (1 << registerBit) in the place of register r.
struct Swap {
  int laneBit = 0, registerBit = 0;
};

/// A tile's registers in an order that differs from lane to lane: `layout` says what a lane's register r holds behind all swaps.
struct Staggered {
  LinearLayout layout;
  std::vector<Swap> swaps;
};

/// The fewest swaps, one after the other the one that helps most, that leave no conflicts when the tile is written by the widest vectors,
/// or as few as can be. No swaps where there are no conflicts.
Staggered staggered(const LinearLayout& registers, const SharedLayout& shared, int elementBits, const Banks& banks = {});

}  // namespace fattn::layout

#endif
