// SPDX-License-Identifier: Apache-2.0
// The templates behind fattn/Decode.h.
#ifndef FATTN_KERNELS_ATTENTION_ATTENTIONDECODE_H
#define FATTN_KERNELS_ATTENTION_ATTENTIONDECODE_H

#include "fattn/Template.h"

namespace fattn::kernels {

/// A few query rows against a long cache, whose keys are divided among programs. Parameters: dtype; head_dim; head_dim_v; rows, the most
/// that query heads of a key head times query rows may be, 1 to 16; causal; page_size, the keys of a page, 0 = no pages; window, whether
/// rows see so many keys only; append, whether rows of the launch become keys of the cache; settled, whether
/// the launch in front writes none of k, v, lengths and pages; alignment (bytes).
///
/// Extents: batch, heads (of k), keys (the most of a sequence), splits (programs that share a sequence). Arguments: q [B, Hq, Sq,
/// head_dim]; k [B, Hkv, T, head_dim], or [pages, Hkv, page_size, head_dim]; v the same with head_dim_v; pages, i32 [B, most pages of a
/// sequence], where page_size is not 0; with append new_k [B, Hkv, Sn, head_dim] and new_v [B, Hkv, Sn, head_dim_v], the last keys of each
/// sequence, which are written to k and v; lengths, i32 [B], read where has_lengths is not 0; f32 scale; with window i32 window, 1 to
/// INT32_MAX - 1024; i32 has_lengths, write_lse. Where splits is 1 the result goes to o [B, Hq, Sq, head_dim_v] and f32 lse [B, Hq, Sq];
/// else to f32 part_o [splits, B, Hq, Sq, head_dim_v] and part_lse [splits, B, Hq, Sq], both row-major, which "attention_merge" takes.
const KernelTemplate& decodeTemplate();

/// `tile` with a block more on its way, if a multiprocessor then still holds two programs; else `tile`.
TileConfig withDeeperRing(const Parameters& parameters, const TileConfig& tile, const Machine& machine);

/// The same in equal shares of all keys of the batch, whatever the lengths, merged in the same launch. Extents: batch, heads, keys,
/// programs, which share all blocks of keys. Arguments: as above, where part_o is f32 [2, programs, rows, head_dim_v] and part_lse [2,
/// programs, rows]; i32 counters [batch, heads], zero before and after.
const KernelTemplate& balancedDecodeTemplate();

/// Attention over some keys and attention over others make attention over all of them. Parameters: dtype of the parts, out, head_dim,
/// relay, whether the launch behind may overlap with the one in front (dsl::LaunchRelease::AtOnce), alignment of part_o and o (bytes).
/// Extents: batch, heads, length, parts. Arguments: part_o [parts, B, H, S, head_dim], f32 part_lse [parts, B, H, S], o [B, H, S,
/// head_dim], f32 lse [B, H, S], i32 write_lse.
const KernelTemplate& mergeTemplate();

}  // namespace fattn::kernels

#endif
