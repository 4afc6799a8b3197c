// SPDX-License-Identifier: Apache-2.0
// Which lane and register holds which element in NVIDIA's matrix instructions. Tiles are (row, column): A is m x k, B is k x n, C is m x n.
// Registers count elements: two neighbouring 16-bit elements share one 32-bit register of the machine.
// Facts: PTX ISA 8.7, "Warp-level matrix instructions: mma" (fragments of m16n8k4, k8, k16, k32), "ldmatrix", and "Asynchronous
// warpgroup-level matrix instructions: wgmma, register fragments and shared memory layout".
#ifndef FATTN_COMPILER_LAYOUT_NVIDIA_H
#define FATTN_COMPILER_LAYOUT_NVIDIA_H

#include <optional>

#include "compiler/layout/LinearLayout.h"
#include "compiler/layout/Operand.h"

namespace fattn::layout::nvidia {

/// A fragment of mma.sync.m16n8k<k> whose operands have `bits` bits: 8 (k16, k32), 16 (k8, k16) or 32 (tf32: k4, k8). C is the same for
/// all.
LinearLayout mma(Operand operand, int k, int bits);

/// The accumulator of wgmma.m64n<n>: 4 warps of 16 rows each; n a multiple of 8 from 8 to 256.
LinearLayout wgmmaAccumulator(int n);
/// A of wgmma from registers: 64 rows x 32 bytes.
LinearLayout wgmmaA(int bits);

/// What ldmatrix.x<count> leaves in registers: `count` 8 x 8 matrices of 16-bit elements, one below the other, as (row, column) of memory.
LinearLayout ldmatrix(int count, bool transposed);

/// The rows that ldmatrix has to be given so that it loads a fragment (or stmatrix to store it): in `access`, the registers of a lane
/// are the 16 bytes whose address that lane supplies. It is an ordinary layout of the same tile, whose bank conflicts are computed as
/// those of any vector access. `transposed` says which form of the instruction, `count` how many matrices one instruction moves.
struct MatrixAccess {
  LinearLayout access;
  bool transposed = false;
  int count = 1;
};
/// Nothing if the layout is not made of 8 x 8 matrices of that kind; `memoryDim` is the contiguous dimension in shared memory.
std::optional<MatrixAccess> matrixAccess(const LinearLayout& fragment, int memoryDim, int elementBits);

}  // namespace fattn::layout::nvidia

#endif
