// SPDX-License-Identifier: Apache-2.0
// The forward kernel in the tile language: one source for every target.
#ifndef FATTN_KERNELS_ATTENTIONFORWARD_H
#define FATTN_KERNELS_ATTENTIONFORWARD_H

#include <functional>
#include <optional>

#include "fattn/TileConfig.h"
#include "fattn/dsl/Dsl.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/attention/CarefulRows.h"

namespace fattn {

/// A block of query rows of one head, and all keys of that head. Operands are made where the program uses them, which computes their
/// addresses there.
struct ForwardRows {
  std::function<HeadRows()> q, k, v, o, lse;
  /// Where these rows of q, k and v lie in arrays with further rows before and behind them: the arrays, and the numbers (i32) of their
  /// first rows. The loop then reads whole blocks, which copy engines can bring, as the array's end is an argument. Rows behind the last
  /// one have no weight, and if they are no numbers, that shows in the sums.
  struct Among {
    std::function<HeadRows()> q, k, v;
    dsl::Scalar firstQ, firstK;
  };
  std::optional<Among> among{};
  dsl::Scalar row0;             ///< the first row of the block
  dsl::Scalar seqQ, seqK;       ///< i32: query rows, keys
  dsl::Scalar scale, writeLse;  ///< f32; i32, not 0 where lse is written
  DType dtype;
  bool causal;
};

/// Records attention of BLOCK_M rows, in blocks of BLOCK_N keys: o, and the logarithm of each row's sum of exponentials.
void forwardRows(const ForwardRows& rows, const TileConfig& tile);

/// Pointer and strides, in elements, of one [B, H, S, D] operand.
struct ForwardOperand {
  dsl::Ptr base;
  dsl::Scalar batch, head, row;
  dsl::Ptr slice(const dsl::Scalar& b, const dsl::Scalar& h) const {
    return base + (cast(b, DType::I64) * batch + cast(h, DType::I64) * head);
  }
};
struct ForwardArguments {
  ForwardOperand q, k, v, o, lse;
  dsl::Scalar heads, group, seqQ, seqK, scale, writeLse;
};
/// Arguments, by name: of each operand (q, k, v, o, lse) the pointer and the i64 strides NAME_batch, NAME_head and NAME_row in elements;
/// i32 heads (Hq), group (query heads a key/value head serves), seq_q, seq_k; f32 scale; i32 write_lse (0: lse is not touched). The head
/// dimension is contiguous.
ForwardArguments declareForward(dsl::Params& params, const kernels::ForwardKind& kind);

/// The program, with these arguments and the grid of ceil(Sq / BLOCK_M) blocks of each head (ProgramOrder.h; uneven: causal). `kind` is
/// complete; `tile` has block_m and block_n set.
void forwardProgram(dsl::Params& params, const kernels::ForwardKind& kind, const TileConfig& tile);
dsl::Program traceAttentionForward(const kernels::ForwardKind& kind, const TileConfig& tile);

}  // namespace fattn

#endif
