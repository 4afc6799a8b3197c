// SPDX-License-Identifier: Apache-2.0
// Attention's template as a problem of tuning, for a configuration: what is asked of it inside the layer.
#ifndef FATTN_TOOLS_FATTN_TUNE_ATTENTIONPROBLEM_H
#define FATTN_TOOLS_FATTN_TUNE_ATTENTIONPROBLEM_H

#include <memory>
#include <string>
#include <vector>

#include "fattn/Attention.h"
#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionTemplate.h"
#include "kernels/core/TunedLookup.h"
#include "kernels/core/Tuning.h"
#include "kernels/template/Instance.h"

namespace fattn::kernels {

/// A supported configuration; its tile is taken for open.
inline TuneProblem problemOf(const AttentionConfig& config) {
  const auto told = extentsOf(config);
  return problemOf(std::make_shared<const Instance>(forwardTemplate(), parametersOf(askedKind(config)), config.target, told), told);
}
/// Throws what supports() returns, but for what the compiler alone can say.
inline TunePlan planTuning(const AttentionConfig& config) {
  requireSupported(config);
  return planTuning(problemOf(config));
}
inline cache::TuneKey tuneKey(const AttentionConfig& config) { return tuneKey(problemOf(config)); }
inline TunedLookup lookUpTuned(const AttentionConfig& config) { return lookUpTuned(problemOf(config)); }

/// The shape that a configuration is tuned for: what it does not tell is that of one prefill of 2048 tokens with 32 heads.
inline ShapeHint tunedShape(const AttentionConfig& config) {
  const ShapeHint shape = config.shape.value_or(ShapeHint{});
  const auto known = [](std::int64_t extent, std::int64_t typical) { return extent > 0 ? extent : typical; };
  const std::int64_t seqQ = known(shape.seq_q, 2048);
  return {.batch = known(shape.batch, 1), .heads = known(shape.heads, 32), .seq_q = seqQ, .seq_k = known(shape.seq_k, seqQ)};
}

/// The orders of the main loop's work that the compiler would choose from for a tile configuration, as texts, best first. Takes the time of
/// most of a compilation.
inline std::vector<std::string> askCompiler(const ResolvedAttention& resolved, const TileConfig& tile) {
  TileConfig plain = tile;
  plain.schedule.clear();
  return offeredSchedules(resolved.target, plain, traceAttentionForward(resolved.kind, plain));
}

}  // namespace fattn::kernels

#endif
