// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/AttentionSupport.h"

#include <algorithm>
#include <bit>

namespace fattn {
namespace kernels {
namespace {

constexpr std::int64_t kMaxHeadDim = 256, kHeadDimStep = 8;
constexpr std::int64_t kMatrixStep = 16;    // columns; what matrix instructions take is padded to it
constexpr std::int32_t kWidestAccess = 16;  // bytes of one load or store

void requireHeadDim(std::string_view member, std::int64_t value) {
  if (value >= kHeadDimStep && value <= kMaxHeadDim && value % kHeadDimStep == 0) return;
  std::string name(member), constraint = name + " is " + std::to_string(value) + "; it must be a multiple of 8 from 8 to 256";
  if (value > kMaxHeadDim) throw Error(ErrorCode::Unsupported, constraint, "the nearest supported " + name + " is 256");
  std::int64_t nearest = value < 1 ? kHeadDimStep : (value + kHeadDimStep - 1) / kHeadDimStep * kHeadDimStep;
  std::string hint = "the nearest supported " + name + " is " + std::to_string(nearest);
  if (value > 0) hint += "; columns of zeros up to it change no result if the scale stays that of " + std::to_string(value);
  throw Error(ErrorCode::Unsupported, constraint, hint);
}

void requireAlignment(const AttentionConfig& config) {
  if (config.alignment == 0 || (config.alignment >= sizeInBytes(config.dtype) && config.alignment <= kWidestAccess &&
                                std::has_single_bit(static_cast<unsigned>(config.alignment))))
    return;
  throw Error(ErrorCode::InvalidArgument, "alignment is " + std::to_string(config.alignment) + "; it must be a power of two from " +
                                              std::to_string(sizeInBytes(config.dtype)) + ", the size of " +
                                              std::string(name(config.dtype)) + ", to 16");
}

}  // namespace

void requireSupported(const AttentionConfig& config) {
  requireTarget(config.target);
  if (config.dtype != DType::F32 && config.dtype != DType::F16 && config.dtype != DType::BF16)
    throw Error(ErrorCode::Unsupported, "dtype is " + std::string(name(config.dtype)) + "; it must be f32, f16 or bf16",
                isFloat(config.dtype) ? "the nearest supported dtype is f16" : "");
  requireHeadDim("head_dim", config.head_dim);
  if (config.head_dim_v != 0) requireHeadDim("head_dim_v", config.head_dim_v);
  requireAlignment(config);
  if (config.shape)
    for (std::int64_t extent : {config.shape->batch, config.shape->heads, config.shape->seq_q, config.shape->seq_k})
      if (extent < 0 || extent > INT32_MAX)
        throw Error(ErrorCode::InvalidArgument, "shape has the extent " + std::to_string(extent) + "; legal extents are 0 to 2147483647",
                    "0 says that it is not known");
  if (!config.tile) return;
  config.tile->validate();
  if (config.tile->block_k != 0)
    throw Error(ErrorCode::InvalidArgument, "tile configuration: BLOCK_K is not a choice of attention",
                "its choices are BLOCK_M, BLOCK_N, STAGES, WARPS, SCHEDULE");
}

std::int64_t plainSharedBytes(const AttentionConfig& config, const TileConfig& tile) {
  const auto width = [](std::int64_t dim) { return (dim + kMatrixStep - 1) / kMatrixStep * kMatrixStep; };
  const std::int64_t k = width(config.head_dim), v = width(config.head_dim_v), stages = std::max(tile.stages, 1);
  return (tile.block_m * k + stages * tile.block_n * (k + v)) * sizeInBytes(config.dtype);
}

AttentionConfig resolve(const AttentionConfig& config) {
  AttentionConfig resolved = config;
  resolved.target = resolveTarget(resolved.target);
  const bool onHost = namesHost(resolved.target);
  if (onHost || resolved.alignment == 0) resolved.alignment = onHost ? sizeInBytes(resolved.dtype) : kWidestAccess;
  if (resolved.head_dim_v == 0) resolved.head_dim_v = resolved.head_dim;
  resolved.tile = config.tile.value_or(TileConfig{}).withDefaults(defaultTile(resolved));
  resolved.shape.reset();
  return resolved;
}

std::string textOf(const AttentionConfig& config) {
  std::string text = "attention " + std::string(name(config.dtype)) + " head_dim " + std::to_string(config.head_dim);
  if (config.head_dim_v != config.head_dim) text += "/" + std::to_string(config.head_dim_v);
  return text + (config.causal ? " causal" : "") + " for " + config.target;
}

}  // namespace kernels

}  // namespace fattn
