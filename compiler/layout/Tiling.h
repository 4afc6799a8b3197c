// SPDX-License-Identifier: Apache-2.0
// Layouts of whole tiles: an instruction's fragment repeated over a tile and its warps, and layouts for coalesced global access.
//
// EXAMPLE: a 64 x 80 accumulator of mma.m16n8k16 on 4 warps, one below the other:
//     tileFragment(nvidia::mma(Operand::C, 16, 16), {64, 80}, {4, 1})
// 16 x 8 is the fragment, 4 warps make 64 rows, and 80 / 8 = 10 copies to the right: a register bit (2) and a repeat of registers (5).
#ifndef FATTN_COMPILER_LAYOUT_TILING_H
#define FATTN_COMPILER_LAYOUT_TILING_H

#include <optional>

#include "compiler/layout/LinearLayout.h"

namespace fattn::layout {

/// Where the copies of a fragment that one warp holds lie.
enum class WarpOrder : std::uint8_t {
  Adjacent,  ///< neighbouring fragments belong to different warps, a warp's own copies are further apart
  Blocks,    ///< a warp's copies are neighbours (odd factors of a size still lie outside of everything)
};

/// The fragment over a tile of this shape by warps[0] x warps[1] x ... warps, those along dim0 numbered first; registers count the copies
/// along the last dimension first. Warps for which there is no copy hold the same as others. Throws Error when the fragment does not
/// divide the tile, or an odd number of warps the number of copies.
LinearLayout tileFragment(const LinearLayout& fragment, const Coords& shape, const Coords& warps, WarpOrder order = WarpOrder::Adjacent);

/// What a coalesced access of a tile in global memory depends on.
struct BlockedOptions {
  Coords shape;
  std::vector<int> order = {1, 0};  ///< dimensions from the one with stride 1 outwards
  int elementBits = 16;
  int lanes = 32;
  std::int64_t warps = 4;
  int vectorBytes = 16;  ///< the widest access; less where base or strides are aligned to less
};

/// Each lane takes a vector along the contiguous dimension, lanes and then warps follow each other in memory order, registers cover
/// what is left. A tile smaller than that is held by several lanes or warps.
LinearLayout blocked(const BlockedOptions& options);

/// The elements of each warp shared out anew among its lanes: lanes that follow each other along dimension `d` exchange registers, so that
/// a lane holds up to `elements` (a power of two) in a row. EXAMPLE: four lanes of an accumulator's row hold pairs, 8 columns apart; a lane
/// has 8 columns afterwards. The layout itself where registers hold nothing that could be exchanged. `amongWarps`: warps exchange registers
/// too, where no lanes follow each other.
LinearLayout withVectors(const LinearLayout& layout, int d, std::int64_t elements, bool amongWarps = false);

/// The layout of elements 0 .. size-1 along dimension `d` (a power of two): the registers of the others left out. Nothing where lanes or
/// warps hold them.
std::optional<LinearLayout> firstElements(const LinearLayout& layout, int d, std::int64_t size);

}  // namespace fattn::layout

#endif
