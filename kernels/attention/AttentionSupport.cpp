// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/AttentionSupport.h"

#include <algorithm>
#include <bit>
#include <cctype>

#include "compiler/gpu/Target.h"

namespace fattn {
namespace kernels {
namespace {

constexpr std::int64_t kMaxHeadDim = 256, kHeadDimStep = 8;
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

}  // namespace

const std::string& defaultTarget() {
  static const std::string* name = new std::string(openDevice("").name());
  return *name;
}

bool namesChip(std::string_view target) { return target.starts_with("nvidia:") || target.starts_with("amd:"); }

std::string codeTarget(const std::string& target) {
  if (target.starts_with("host") || namesChip(target)) return target;
  // Names are "nvidia:sm_<number>". One with a letter behind it has all instructions of that chip, and runs on no other.
  std::string have = openDevice(target).chip();
  for (std::string_view name : gpu::targetNames())
    if (name.size() == have.size() + 1 && name.starts_with(have) && !std::isdigit(static_cast<unsigned char>(name.back())))
      return std::string(name);
  auto number = [](std::string_view name) { return std::stoi(std::string(name.substr(std::string_view("nvidia:sm_").size()))); };
  std::string best;
  for (std::string_view name : gpu::targetNames())
    if (name.starts_with("nvidia:") && name.back() >= '0' && name.back() <= '9' && number(name) <= number(have) &&
        (best.empty() || number(name) > number(best)))
      best = name;
  if (best.empty())
    throw Error(ErrorCode::Unsupported, "target is '" + target + "', which is " + have + "; fattn compiles for sm_80 and later");
  return best;
}

namespace {

void requireTarget(const std::string& target) {
  if (target.empty()) return;
  if (!namesChip(target)) return void(codeTarget(openDevice(target).kind() == DeviceKind::Host ? target : openDevice(target).name()));
  if (target.starts_with("amd:"))
    throw Error(ErrorCode::Unsupported, "target is '" + target + "', a chip that fattn has no back end for",
                "the nearest supported target is 'host'");
  gpu::findTarget(target);
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

AttentionConfig resolve(const AttentionConfig& config) {
  AttentionConfig resolved = config;
  if (resolved.target.empty()) resolved.target = defaultTarget();
  bool onHost = resolved.target.starts_with("host");
  if (!onHost && !namesChip(resolved.target)) resolved.target = openDevice(resolved.target).name();  // "cuda" is "cuda:0"
  if (onHost || resolved.alignment == 0) resolved.alignment = onHost ? sizeInBytes(resolved.dtype) : kWidestAccess;
  if (resolved.head_dim_v == 0) resolved.head_dim_v = resolved.head_dim;
  resolved.tile = config.tile.value_or(TileConfig{}).withDefaults(defaultTile(resolved));
  resolved.shape.reset();
  return resolved;
}

}  // namespace kernels

std::expected<void, Error> supports(const AttentionConfig& config) try {
  kernels::requireSupported(config);
  return {};
} catch (const Error& error) {
  return std::unexpected(error);
}

}  // namespace fattn
