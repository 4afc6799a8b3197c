// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/TunedAttention.h"

#include <fmt/format.h>

#include "kernels/attention/AttentionBench.h"
#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionSpace.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/attention/KernelCache.h"
#include "kernels/core/CompileProgram.h"
#include "runtime/base/Lifecycle.h"

namespace fattn {
namespace kernels {
namespace {

std::int64_t known(std::int64_t extent, std::int64_t typical) { return extent > 0 ? extent : typical; }

// A caller who tells no lengths is taken for one whose queries are about as many as the keys.
bool deservesSay(const cache::TunedBucket& bucket, const cache::Shape& told) {
  if (told.contains("seq_q")) return true;
  const auto q = bucket.shape.find("seq_q"), k = bucket.shape.find("seq_k");
  return q != bucket.shape.end() && k != bucket.shape.end() && cache::distanceOf({{"n", q->second}}, {{"n", k->second}});
}

std::optional<std::string> refusalOf(AttentionConfig config, const TileConfig& tile) try {
  config.tile = tile;
  requireSupported(config);  // the compiler is not asked: what is looked up is compiled next
  return std::nullopt;
} catch (const Error& error) {
  return error.constraint();
}

}  // namespace

ShapeHint tunedShape(const AttentionConfig& config) {
  const ShapeHint shape = config.shape.value_or(ShapeHint{});
  const std::int64_t seqQ = known(shape.seq_q, 2048);
  return {.batch = known(shape.batch, 1), .heads = known(shape.heads, 32), .seq_q = seqQ, .seq_k = known(shape.seq_k, seqQ)};
}

cache::Shape tunedExtents(const AttentionConfig& config) {
  const ShapeHint shape = tunedShape(config);
  return {{"heads", shape.batch * shape.heads}, {"seq_q", shape.seq_q}, {"seq_k", shape.seq_k}};
}

cache::Shape toldExtents(const AttentionConfig& config) {
  const ShapeHint shape = config.shape.value_or(ShapeHint{});
  cache::Shape told;
  if (shape.heads > 0) told["heads"] = known(shape.batch, 1) * shape.heads;
  if (shape.seq_q > 0) told["seq_q"] = shape.seq_q;
  if (shape.seq_k > 0 || shape.seq_q > 0) told["seq_k"] = known(shape.seq_k, shape.seq_q);
  return told;
}

std::vector<std::string> askCompiler(const AttentionConfig& config, const TileConfig& tile) try {
  TileConfig plain = tile;
  plain.schedule.clear();
  return offeredSchedules(config.target, plain, traceAttentionForward(config, plain));
} catch (const Error&) {
  return {};  // what cannot be traced has no variants; whoever compiles it says why
}

std::string problemName(const AttentionConfig& config) {
  return fmt::format("attention_forward-{}-d{}-v{}{}", name(config.dtype), config.head_dim,
                     config.head_dim_v != 0 ? config.head_dim_v : config.head_dim, config.causal ? "-causal" : "");
}

TuneProblem problemOf(const AttentionConfig& config) {
  AttentionConfig resolved = resolve(config);
  const ShapeHint shape = tunedShape(config);
  TuneProblem problem{.name = problemName(resolved),
                      .target = resolved.target,
                      .safe = defaultTile(resolved),
                      .extents = {"heads", "seq_q", "seq_k"},  // as attentionBucket() has them
                      .decisive = "seq_q",
                      .told = toldExtents(config),
                      .shape = tunedExtents(config),
                      .reference = {.block_m = 64, .block_n = 64},
                      .trace = [resolved](const TileConfig& tile) { return traceAttentionForward(resolved, tile); }};
  problem.refusal = [config](const TileConfig& tile) { return refusalOf(config, tile); };
  problem.hasSay = [told = problem.told](const cache::TunedBucket& bucket) { return deservesSay(bucket, told); };
  problem.space = [resolved] { return attentionSpace(resolved); };
  problem.misfit = [resolved, shape, machine = machineOf(resolved.target)](const TileConfig& tile) {
    AttentionConfig shaped = resolved;
    shaped.shape = shape;
    return attentionMisfit(shaped, tile, machine);
  };
  problem.variants = [resolved](const TileConfig& tile) { return attentionVariants(resolved, tile, askCompiler); };
  problem.bench = [resolved, shape] { return std::make_unique<AttentionBench>(resolved, shape); };
  return problem;
}

TunePlan planTuning(const AttentionConfig& config) {
  requireSupported(config);
  return planTuning(problemOf(config));
}

}  // namespace kernels

std::string explain(const AttentionConfig& config) {
  const Busy busy;
  std::expected<void, Error> verdict = supports(config);
  if (!verdict) return verdict.error().what();
  AttentionConfig resolved = kernels::resolve(config);
  std::string text = "supported on " + resolved.target + " with ";
  if (!kernels::leavesTileOpen(config)) return text + resolved.tile->toString();
  const kernels::TuneProblem problem = kernels::problemOf(config);
  kernels::TunedLookup lookup = kernels::lookUpTuned(problem);
  return text + lookup.tile.toString() + ": " + lookup.reason +
         kernels::explainVariants(kernels::tunedShapes(problem, lookup), kernels::kernelCache().variants(config).get());
}

}  // namespace fattn
