// SPDX-License-Identifier: Apache-2.0
// What the rows of the machine table mean in layouts: the fragments of a matrix instruction, and the banks of shared memory.
#ifndef FATTN_COMPILER_GPU_FRAGMENTS_H
#define FATTN_COMPILER_GPU_FRAGMENTS_H

#include <optional>

#include "compiler/gpu/Target.h"
#include "compiler/layout/Operand.h"
#include "compiler/layout/Shared.h"

namespace fattn::gpu {

/// Which lane and register of a warp holds which element of one instruction's tile, as (row, column): A is m x depth, B depth x n, C m x n.
/// `depth` is the row's or a legal smaller one, `bits` are those of an element of A and B. Throws Error{InvalidArgument} where the
/// instruction has no such fragment.
layout::LinearLayout fragmentOf(const MatrixInstruction& row, layout::Operand operand, int depth, int bits);

/// How groups of warps share an accumulator: so many groups along its rows times so many along its columns, those along the rows numbered
/// first, and from where one group's rows or columns begin to where the next one's do. A group has `columnParts` times `columnStep`
/// columns; between two of its parts lie those of the other groups.
struct GroupGrid {
  std::int64_t rows = 1, columns = 1;
  std::int64_t rowStep = 0, columnStep = 0, columnParts = 1;
};
/// Of groups of `groupWarps` warps that compute `groupRows` rows at a time, its warps one below the other. None where the warps have other
/// rows or columns, or the steps differ.
std::optional<GroupGrid> groupGridOf(const layout::LinearLayout& accumulator, std::int64_t groupRows, std::int64_t groupWarps);

/// Whether the row can compute the transpose of a product from the same registers: B's fragment is A's with rows and columns exchanged. The
/// accumulator then has the transpose of its fragment.
bool isMirrored(const MatrixInstruction& row, int depth, int bits);

/// The elements whose addresses the lanes of a warp give to read a tile of shared memory into `fragment`; `fragment` itself where each lane
/// reads what it keeps. `memoryDim` is the contiguous dimension.
layout::LinearLayout readAccessOf(const Target& target, const layout::LinearLayout& fragment, int memoryDim, int bits);

/// Shared memory as conflicts are counted.
layout::Banks banksOf(const Target& target);

}  // namespace fattn::gpu

#endif
