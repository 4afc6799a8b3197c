// SPDX-License-Identifier: Apache-2.0
// Which lane and register holds which element in AMD's matrix instructions. Tiles are (row, column): A is m x k, B is k x n, C is m x n.
// Facts: "AMD Instinct MI300 Instruction Set Architecture", section 7 (matrix arithmetic instructions), the CDNA4 document's for gfx950;
// "RDNA3" and "RDNA4 Instruction Set Architecture", section 7.9 (wave matrix multiply accumulate); all as AMD's matrix instruction
// calculator prints them.
#ifndef FATTN_COMPILER_LAYOUT_AMD_H
#define FATTN_COMPILER_LAYOUT_AMD_H

#include "compiler/layout/LinearLayout.h"
#include "compiler/layout/Operand.h"

namespace fattn::layout::amd {

/// v_mfma_f32_<mn>x<mn>x<k> with operands of `bits` bits, one block, wave64. gfx942: 32x32x8 and 16x16x16 (16 bits), 32x32x16 and
/// 16x16x32 (8 bits), 32x32x2 and 16x16x4 (f32), 32x32x4 and 16x16x8 (xf32); gfx950 also 32x32x16 and 16x16x32 (16 bits).
LinearLayout mfma(Operand operand, int mn, int k, int bits);

/// v_wmma_f32_16x16x16 of gfx11 (RDNA3, operands held twice in wave32, four times in wave64) or gfx12 (RDNA4), operands of 8 or 16 bits.
LinearLayout wmma(int gfx, Operand operand, int wave, int bits);

}  // namespace fattn::layout::amd

#endif
