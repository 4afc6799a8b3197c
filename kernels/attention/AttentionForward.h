// SPDX-License-Identifier: Apache-2.0
// The forward kernel in the tile language: one source for every target.
#ifndef FATTN_KERNELS_ATTENTIONFORWARD_H
#define FATTN_KERNELS_ATTENTIONFORWARD_H

#include "fattn/Attention.h"
#include "fattn/TileConfig.h"
#include "fattn/dsl/Dsl.h"

namespace fattn {

/// Grid (ceil(Sq / BLOCK_M), Hq, B). Arguments, by name: of each operand (q, k, v, o, lse) the pointer and the i64 strides NAME_batch,
/// NAME_head and NAME_row in elements; i32 heads (Hq), group (query heads a key/value head serves), seq_q, seq_k; f32 scale; i32 write_lse
/// (0: lse is not touched). The head dimension is contiguous. `tile` has block_m and block_n set.
dsl::Program traceAttentionForward(const AttentionConfig& config, const TileConfig& tile);

}  // namespace fattn

#endif
