// SPDX-License-Identifier: Apache-2.0
// Chooses how a tile lies in shared memory from the two layouts of registers that write and read it.
//
// WHY IT ALWAYS WORKS. Let V be the elements of one vector and P the lanes served together, both as subspaces of the tile's coordinates,
// and H the span of the coordinates that get the offset bits above the banks (128 bytes on). Two lanes meet in a bank with different
// words exactly when they differ by an element of H + V that is not in V. So an access is free of conflicts if H has nothing in common
// with X = V + P. The reader wants that of its X, the writer of its own; each has at most the dimension of the banks, and two subspaces
// of one dimension have a common complement over any field: f2::commonComplement. The vectors are the one thing to decide:
// what both sides hold in registers, and beyond that what one of them does; every choice is tried and its passes counted.
#ifndef FATTN_COMPILER_LAYOUT_SWIZZLE_H
#define FATTN_COMPILER_LAYOUT_SWIZZLE_H

#include "compiler/layout/Shared.h"

namespace fattn::layout {

struct SwizzleChoice {
  SharedLayout layout;
  BankReport read, write;
  int moves = 0;  ///< movesBehind() the reads
  /// Passes through the banks for the whole tile by one warp of each side.
  int passes() const { return read.passes * read.instructions + write.passes * write.instructions; }
  /// The same with the slots in which the instructions are issued, and the moves.
  int slots() const { return passes() + read.instructions + write.instructions + moves; }
};

/// The layout with the fewest passes and instructions together. `read` and `write` hold the
/// same tile. For ldmatrix pass nvidia::matrixAccess(...)->access. For a copy engine, which cannot shuffle what it moves at once, `inOrder`
/// is how many of the writer's first registers it moves: only layouts with keepsOrder() are chosen from, and not for every reader is one
/// of those free of conflicts. Throws Error{InvalidArgument} where none keeps that many in order.
SwizzleChoice chooseSwizzle(const LinearLayout& read, const LinearLayout& write, int elementBits, const Banks& banks = {}, int inOrder = 1);

/// The same among the layouts that a bulk tensor copy can write (swizzled(), widest first): the one the reader has fewest passes with.
SwizzleChoice chooseBulkSwizzle(const LinearLayout& read, int elementBits, const Banks& banks = {});

/// Words of a thread that vectors of so many elements do not bring in the order of its registers. What takes several registers side by
/// side, as a matrix instruction does, has each of them moved there first.
int movesBehind(const LinearLayout& read, const SharedLayout& shared, int elementBits, int vector, const Banks& banks = {});

/// Whether the elements in a thread's first `count` registers (a power of two) follow each other in this memory.
bool keepsOrder(const SharedLayout& shared, const LinearLayout& registers, int count);

}  // namespace fattn::layout

#endif
