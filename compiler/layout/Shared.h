// SPDX-License-Identifier: Apache-2.0
// Layouts of a tile in shared memory: which element lies at which offset, and which banks an access touches.
//
// An offset counts elements. The linear part maps its bits to coordinates, xor swizzles included; padding, which is not linear, comes on
// top: after every `interval` elements `amount` are left out. Whoever accesses the tile derives addresses from offsetOf(); whoever chooses
// a layout asks bankConflicts(), which counts what the hardware would do.
//
// EXAMPLE: 8 rows of 64 16-bit elements, unswizzled: rows are 128 bytes apart, so that a column of 16-byte vectors lies in the same
// four banks: 8 lanes reading it take 8 passes instead of 1. With the 128-byte swizzle vector c of row r lies at place c ^ r: 1 pass.
#ifndef FATTN_COMPILER_LAYOUT_SHARED_H
#define FATTN_COMPILER_LAYOUT_SHARED_H

#include "compiler/layout/LinearLayout.h"

namespace fattn::layout {

class SharedLayout {
 public:
  /// `elements`: offset -> dim0, dim1, ...; a bijection. After every `interval` elements (a power of two; 0: never) `amount` are left out.
  explicit SharedLayout(LinearLayout elements, std::int64_t interval = 0, std::int64_t amount = 0);

  const LinearLayout& elements() const { return elements_; }
  const LinearLayout& offsets() const { return offsets_; }  ///< the inverse, without padding
  std::int64_t interval() const { return interval_; }
  std::int64_t amount() const { return amount_; }

  std::int64_t padded(std::int64_t offset) const { return interval_ ? offset + offset / interval_ * amount_ : offset; }
  /// Where an element lies, in elements from the start, padding included.
  std::int64_t offsetOf(const Coords& coords) const { return padded(offsets_.apply(coords).front()); }
  /// Elements from the first to behind the last, padding between them included.
  std::int64_t size() const { return padded(elements_.inputSize(kOffset) - 1) + 1; }
  bool operator==(const SharedLayout&) const = default;

 private:
  LinearLayout elements_, offsets_;
  std::int64_t interval_, amount_;
};

/// Rows of the last dimension after each other. Odd factors of a size make blocks: an odd number of column blocks lies one after the
/// other, each with all its rows.
SharedLayout rowMajor(const Coords& shape, std::int64_t padInterval = 0, std::int64_t padAmount = 0);

/// The layout that TMA writes and wgmma reads (PTX ISA 8.7, "Tensor swizzling modes", "Shared memory matrix layout"): rows x columns in
/// atoms of `swizzleBytes` (32, 64 or 128; 0: 16-byte columns without swizzle) a row; within an atom, address bits 4.. are xored with
/// the bits from 7 on: 1, 2 or 3 of them. Atoms of further columns follow after all rows. Pieces of more than 16 bytes are xored from a
/// higher bit on, which no TMA writes, but which keeps rows together for readers of single columns.
SharedLayout swizzled(const Coords& shape, int elementBits, int swizzleBytes, int pieceBytes = 16);

/// What the banks are like. Defaults: NVIDIA since Volta, AMD's LDS.
struct Banks {
  int count = 32;
  int bytes = 4;
  /// The lanes served together in an access of 16 bytes a lane are those that differ in these bits only; narrower accesses serve as many
  /// consecutive lanes as fill all banks. AMD's b128 reads have {1, 2, 20}: lanes 0-3 and 20-23, 4-7 and 16-19, ...
  std::vector<int> wideGroup = {1, 2, 4};
};

/// What one access instruction of a warp costs.
struct BankReport {
  int vector = 1;        ///< elements a lane moves
  int passes = 0;        ///< cycles of the shared memory for one instruction, the worst of all
  int ideal = 0;         ///< passes without conflicts: one for every group of lanes served together
  int instructions = 0;  ///< instructions a warp needs for the whole tile
  int conflicts() const { return passes - ideal; }
};

/// The widest vector (a power of two elements, at most maxBytes) that a lane's registers and the shared memory have in common: elements
/// that follow each other in memory, aligned, all in one lane.
int sharedVector(const LinearLayout& registers, const SharedLayout& shared, int elementBits, int maxBytes = 16);

/// Counts the passes of reading or writing the tile in that layout of registers, `vector` elements at once (0: the widest). Lanes that
/// touch the same word share it. Every register group and every warp is looked at.
BankReport bankConflicts(const LinearLayout& registers, const SharedLayout& shared, int elementBits, int vector = 0,
                         const Banks& banks = {});

/// Groups of registers that lie next to each other in memory: result[g][i] is the register that holds element i of vector g. The same
/// for every lane and warp.
std::vector<std::vector<std::int64_t>> vectorGroups(const LinearLayout& registers, const SharedLayout& shared, int vector);

}  // namespace fattn::layout

#endif
