// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/AttentionSupport.h"

#include <algorithm>

#include "kernels/attention/OperandChecks.h"

namespace fattn::kernels {
namespace {

constexpr std::int64_t kMaxHeadDim = 256, kHeadDimStep = 8;
constexpr std::int64_t kMatrixStep = 16;  // columns; what matrix instructions take is padded to it

void requireHeadDim(std::string_view member, std::int64_t value) {
  if (value >= kHeadDimStep && value <= kMaxHeadDim && value % kHeadDimStep == 0) return;
  std::string name(member), constraint = name + " is " + std::to_string(value) + "; it must be a multiple of 8 from 8 to 256";
  if (value > kMaxHeadDim) throw Error(ErrorCode::Unsupported, constraint, "the nearest supported " + name + " is 256");
  std::int64_t nearest = value < 1 ? kHeadDimStep : (value + kHeadDimStep - 1) / kHeadDimStep * kHeadDimStep;
  std::string hint = "the nearest supported " + name + " is " + std::to_string(nearest);
  if (value > 0) hint += "; columns of zeros up to it change no result if the scale stays that of " + std::to_string(value);
  throw Error(ErrorCode::Unsupported, constraint, hint);
}

}  // namespace

ForwardKind kindOf(const Parameters& parameters) {
  return {.dtype = parameters.dtype("dtype"),
          .head_dim = parameters.integer("head_dim"),
          .head_dim_v = parameters.integer("head_dim_v"),
          .causal = parameters.flag("causal"),
          .alignment = static_cast<std::int32_t>(std::clamp<std::int64_t>(parameters.integer("alignment"), INT32_MIN, INT32_MAX))};
}

Parameters parametersOf(const ForwardKind& kind) {
  return {{"dtype", std::string(name(kind.dtype))},
          {"head_dim", kind.head_dim},
          {"head_dim_v", kind.head_dim_v},
          {"causal", kind.causal},
          {"alignment", std::int64_t{kind.alignment}}};
}

ForwardKind complete(const ForwardKind& asked, const Machine& machine) {
  ForwardKind kind = asked;
  if (kind.head_dim_v == 0) kind.head_dim_v = kind.head_dim;
  kind.alignment = completedAlignment(machine.chip, kind.dtype, kind.alignment);
  return kind;
}

std::string textOf(const ForwardKind& kind) {
  std::string text = "attention " + std::string(name(kind.dtype)) + " head_dim " + std::to_string(kind.head_dim);
  if (kind.head_dim_v != kind.head_dim) text += "/" + std::to_string(kind.head_dim_v);
  return text + (kind.causal ? " causal" : "");
}

ForwardKind askedKind(const AttentionConfig& config) {
  return {.dtype = config.dtype,
          .head_dim = config.head_dim,
          .head_dim_v = config.head_dim_v,
          .causal = config.causal,
          .alignment = config.alignment};
}

AttentionConfig configOf(const ForwardKind& kind, const std::string& target, const TileConfig& tile) {
  return {.dtype = kind.dtype,
          .head_dim = kind.head_dim,
          .head_dim_v = kind.head_dim_v,
          .causal = kind.causal,
          .target = target,
          .tile = tile,
          .alignment = kind.alignment};
}

void requireKind(const ForwardKind& asked) {
  if (asked.dtype != DType::F32 && asked.dtype != DType::F16 && asked.dtype != DType::BF16)
    throw Error(ErrorCode::Unsupported, "dtype is " + std::string(name(asked.dtype)) + "; it must be f32, f16 or bf16",
                isFloat(asked.dtype) ? "the nearest supported dtype is f16" : "");
  requireHeadDim("head_dim", asked.head_dim);
  if (asked.head_dim_v != 0) requireHeadDim("head_dim_v", asked.head_dim_v);
  requireAlignment(asked.dtype, asked.alignment);
}

void requireChoices(const TileConfig& tile) {
  if (tile.block_k != 0)
    throw Error(ErrorCode::InvalidArgument, "tile configuration: BLOCK_K is not a choice of attention",
                "its choices are BLOCK_M, BLOCK_N, STAGES, WARPS, SCHEDULE");
}

void requireShape(const std::optional<ShapeHint>& shape) {
  if (!shape) return;
  for (std::int64_t extent : {shape->batch, shape->heads, shape->seq_q, shape->seq_k})
    if (extent < 0 || extent > INT32_MAX)
      throw Error(ErrorCode::InvalidArgument, "shape has the extent " + std::to_string(extent) + "; legal extents are 0 to 2147483647",
                  "0 says that it is not known");
}

void requireSupported(const AttentionConfig& config) {
  requireTarget(config.target);
  requireKind(askedKind(config));
  requireShape(config.shape);
  if (!config.tile) return;
  config.tile->validate();
  requireChoices(*config.tile);
}

ResolvedAttention resolve(const AttentionConfig& config) {
  const std::string target = resolveTarget(config.target);
  const Machine machine = machineOf(target);
  const ForwardKind kind = complete(askedKind(config), machine);
  const TileConfig safe = defaultTile(kind, machine, kind.causal, config.shape ? config.shape->seq_q : 0);
  return {.kind = kind, .target = target, .tile = config.tile.value_or(TileConfig{}).withDefaults(safe)};
}

std::int64_t plainSharedBytes(const ForwardKind& kind, const TileConfig& tile) {
  const auto width = [](std::int64_t dim) { return (dim + kMatrixStep - 1) / kMatrixStep * kMatrixStep; };
  const std::int64_t k = width(kind.head_dim), v = width(kind.head_dim_v), stages = std::max(tile.stages, 1);
  return (tile.block_m * k + stages * tile.block_n * (k + v)) * sizeInBytes(kind.dtype);
}

}  // namespace fattn::kernels
