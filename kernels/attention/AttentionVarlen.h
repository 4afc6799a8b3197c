// SPDX-License-Identifier: Apache-2.0
// The template behind fattn/Varlen.h.
#ifndef FATTN_KERNELS_ATTENTION_ATTENTIONVARLEN_H
#define FATTN_KERNELS_ATTENTION_ATTENTIONVARLEN_H

#include "fattn/Template.h"

namespace fattn::kernels {

/// Attention of sequences of different lengths that lie behind each other. Parameters: dtype; head_dim; head_dim_v; causal; alignment
/// (bytes).
///
/// Extents: batch (sequences), heads (of q), length (the most query rows of a sequence). Arguments: q [Tq, Hq, head_dim]; k [Tk, Hkv,
/// head_dim]; v [Tk, Hkv, head_dim_v]; o [Tq, Hq, head_dim_v]; f32 lse [Tq, Hq]; i32 cu_q and cu_k [batch + 1], where each sequence begins
/// and the last one ends; f32 scale; i32 write_lse.
const KernelTemplate& varlenTemplate();

}  // namespace fattn::kernels

#endif
