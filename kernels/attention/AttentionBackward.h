// SPDX-License-Identifier: Apache-2.0
// The templates behind fattn/Backward.h, in the order in which a launch runs them. With P = exp(scale * Q K^T - lse), dP = dO V^T and
// dS = P * (dP - delta), where delta = rowsum(dO * O) - dlse, the gradients are dV = P^T dO, dK = scale * dS^T Q, dQ = scale * dS K
// (Dao et al., arXiv 2205.14135, appendix B.4; Dao, arXiv 2307.08691, section 3.1).
//
// All of them know the parameters dtype; head_dim; head_dim_v; alignment (bytes); order (of the workspace: "rows", "vectors" or "lanes",
// see BackwardParts.h; the same for all kernels of a launch), and have the extents batch; heads; queries; keys. The statistics of rows are
// f32 [B, Hq, R], where R is the number of query rows rounded up to a multiple of kStatisticsRows: what lies beyond the last query is
// written as that of a row that sees nothing.
#ifndef FATTN_KERNELS_ATTENTION_ATTENTIONBACKWARD_H
#define FATTN_KERNELS_ATTENTION_ATTENTIONBACKWARD_H

#include "fattn/Template.h"

namespace fattn::kernels {

inline constexpr std::int64_t kStatisticsRows = 128;
inline std::int64_t statisticsRows(std::int64_t queries) { return (queries + kStatisticsRows - 1) / kStatisticsRows * kStatisticsRows; }
/// Of packed sequences, which begin at multiples of kStatisticsRows (BackwardParts.cpp, Packing::entry).
inline std::int64_t packedStatisticsRows(std::int64_t queries, std::int64_t sequences) {
  return (queries + sequences * kStatisticsRows) / kStatisticsRows * kStatisticsRows;
}

/// logs = lse to base 2, infinity where a row sees no key; deltas. With `sums` it writes zeros to sums, too. Arguments: o, dout [B, Hq, Sq,
/// head_dim_v]; f32 lse, dlse [B, Hq, Sq], dlse read where i32 has_dlse is not 0; logs, deltas [B, Hq, R]; with `sums` f32 sums [B, Hq, R,
/// head_dim].
const KernelTemplate& backwardRowsTemplate();

/// dK and dV, a block of keys a program, over all query heads of its key head and all blocks of queries. With `sums` it adds each program's
/// part of dS K to sums, atomically. Arguments: q, k, v, dout; logs, deltas; dk, dv; f32 scale; with `sums` sums. Parameters: causal, sums.
/// Extent heads: of k.
const KernelTemplate& backwardKeysTemplate();

/// dQ, a block of queries a program, over all blocks of keys. Arguments: q, k, v, dout; logs, deltas; dq; f32 scale. Parameter: causal.
/// Extent heads: of q.
const KernelTemplate& backwardQueriesTemplate();

/// dQ = scale * sums in its type. Arguments: sums; dq; f32 scale.
const KernelTemplate& backwardRoundTemplate();

/// The same for sequences that lie behind each other in one batch entry. Behind the other arguments: i32 cu_q [batch + 1], where each
/// sequence begins and the last one ends, and, for keys and queries, cu_k; i32 most_q, and most_k: rows of a sequence beyond so many count
/// as not there. R is packedStatisticsRows. Extent batch: sequences; queries, keys: those of the longest ones. Parameter boxes:
/// BackwardParts.h.
const KernelTemplate& packedBackwardRowsTemplate();
const KernelTemplate& packedBackwardKeysTemplate();
const KernelTemplate& packedBackwardQueriesTemplate();
const KernelTemplate& packedBackwardRoundTemplate();

}  // namespace fattn::kernels

#endif
