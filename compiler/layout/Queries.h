// SPDX-License-Identifier: Apache-2.0
// What code generation asks of a layout: how wide a memory access may be, how an axis is reduced, and who writes what several hold.
#ifndef FATTN_COMPILER_LAYOUT_QUERIES_H
#define FATTN_COMPILER_LAYOUT_QUERIES_H

#include "compiler/layout/LinearLayout.h"

namespace fattn::layout {

/// How many elements that follow each other along a dimension every lane holds, aligned to that number; a power of two.
int consecutive(const LinearLayout& layout, int d);

/// The elements of one access of global memory whose stride is 1 along dimension `d`: at most `maxBytes`, and what base and the other
/// strides are aligned to (`alignmentBytes`).
int vectorWidth(const LinearLayout& layout, int d, int elementBits, int alignmentBytes = 16, int maxBytes = 16);

/// The registers of each such access: result[g][i] holds element i of vector g, in every lane and warp.
std::vector<std::vector<std::int64_t>> memoryVectors(const LinearLayout& layout, int d, int vector);

/// One step of a butterfly: register r of lane l of warp w takes register r ^ reg of lane l ^ lane of warp w ^ warp into account.
struct ReductionStep {
  std::int64_t reg = 0, lane = 0, warp = 0;
  bool operator==(const ReductionStep&) const = default;
};
/// An odd number of copies that lie `stride` registers (or warps) apart.
struct ReductionCopies {
  std::int64_t stride = 1, count = 1;
  bool operator==(const ReductionCopies&) const = default;
};

/// How to combine all elements along one dimension. After all steps every register of every thread holds the result of its line; no
/// element counts twice, also where a layout holds copies. EXAMPLE: rows of mma's accumulator: fold register 1, shuffle with lanes ^ 1,
/// ^ 2.
struct ReductionPlan {
  std::vector<ReductionStep> registers;  ///< within each lane: lane and warp are 0
  std::vector<ReductionStep> shuffles;   ///< within each warp: warp is 0
  std::vector<ReductionStep> warps;      ///< through shared memory
  std::vector<ReductionCopies> registerCopies, warpCopies;
  LinearLayout result;       ///< the layout without that dimension, one register for each line
  int shuffleCount() const;  ///< shuffles of one lane for all lines (of 32-bit values)
};
ReductionPlan planReduction(const LinearLayout& layout, int d);

/// One thread for each element that several hold: the one to write it.
struct Holders {
  std::int64_t lane = 0, warp = 0;                             ///< bits that are 0 in them
  std::vector<std::pair<std::int64_t, std::int64_t>> repeats;  ///< (warp / first) % second is 0 as well
  bool all() const { return !lane && !warp && repeats.empty(); }
};
Holders holdersOf(const LinearLayout& layout);

/// Elements of a tile of two dimensions that lie together and are one warp's alone.
struct WarpBox {
  std::int64_t rows = 0, columns = 0;  ///< powers of two, or all columns of the tile
};
/// The blocks in which warps hold a tile; a warp may hold several. Nothing where warps hold elements between each other's, or where an
/// element is held twice.
std::optional<WarpBox> boxOfWarps(const LinearLayout& layout);

/// The rows of these blocks where they have all columns.
std::optional<std::int64_t> rowsOfWarps(const LinearLayout& layout);
/// Whether each row is whole in the same warp in both layouts: of one tile, or of a tile and some of its columns.
bool warpsHoldSameRows(const LinearLayout& first, const LinearLayout& second);

/// A digit of an element's number along a dimension: number / below % count, chosen by registers (lane 0), or by one bit of the lane.
struct ScanDigit {
  std::int64_t below = 1, count = 2, lane = 0;
  bool operator==(const ScanDigit&) const = default;
};
/// The digits of dimension `d` from the lowest on; neighbouring ones of registers are one. Nothing where warps choose some of it, or where
/// a bit of register or lane moves along several bits or dimensions, or several along the same.
std::optional<std::vector<ScanDigit>> scanDigits(const LinearLayout& layout, int d);

}  // namespace fattn::layout

#endif
