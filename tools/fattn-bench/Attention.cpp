// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-bench/Attention.h"

#include <algorithm>

#include "tools/io/Random.h"

namespace fattn::bench {
namespace {

constexpr std::int64_t kAlign = 256;

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

/// Normally distributed; a piece of a few million numbers is repeated.
void fillRandom(Device& device, void* memory, DType type, std::int64_t bytes) {
  const std::int64_t piece = std::min<std::int64_t>(bytes / sizeInBytes(type), 1 << 21);
  io::HostTensor values = io::HostTensor::allocate(type, {piece});
  io::fillNormal(values, 0, 0, 0);
  for (std::int64_t at = 0; at < bytes; at += values.bytes())
    device.copy(static_cast<std::byte*>(memory) + at, values.data(), std::min(values.bytes(), bytes - at));
  device.synchronize();
}

}  // namespace

Operands::Operands(Device& device, const std::vector<Case>& cases) {
  const auto free = [&device](void* memory) { device.free(memory); };
  std::map<DType, std::array<std::int64_t, 3>> sizes;
  std::int64_t largestOutput = 0;
  for (const Case& one : cases) {
    if (!one.isAttention()) continue;
    const io::AttentionShape& s = one.shape;
    const std::int64_t element = sizeInBytes(one.dtype), keys = s.batch * s.headsKv * s.lenKv;
    auto& [q, k, v] = sizes[one.dtype];
    q = std::max(q, aligned(s.rows() * s.dim * element));
    k = std::max(k, aligned(keys * s.dim * element));
    v = std::max(v, aligned(keys * s.dimV * element));
    largestOutput = std::max(largestOutput, s.rows() * s.dimV * element);
  }
  for (const auto& [type, size] : sizes) {
    const std::int64_t bytes = size[0] + size[1] + size[2];
    Memory memory(device.allocate(bytes), free);
    fillRandom(device, memory.get(), type, bytes);
    inputs_.emplace(type, std::move(memory));
    keys_[type] = size[0];
    values_[type] = size[0] + size[1];
  }
  output_ = Memory(device.allocate(largestOutput), free);
}

AttentionArgs Operands::of(const Case& problem) const {
  const io::AttentionShape& s = problem.shape;
  const auto* begin = static_cast<const std::byte*>(inputs_.at(problem.dtype).get());
  return {.q = {begin, problem.dtype, {s.batch, s.headsQ, s.lenQ, s.dim}},
          .k = {begin + keys_.at(problem.dtype), problem.dtype, {s.batch, s.headsKv, s.lenKv, s.dim}},
          .v = {begin + values_.at(problem.dtype), problem.dtype, {s.batch, s.headsKv, s.lenKv, s.dimV}},
          .o = {output_.get(), problem.dtype, {s.batch, s.headsQ, s.lenQ, s.dimV}}};
}

std::pair<std::function<void()>, std::string> prepare(const Case& problem, const std::string& target, const TileConfig& config,
                                                      const Operands& operands) {
  const io::AttentionShape& s = problem.shape;
  AttentionConfig wanted{.dtype = problem.dtype, .head_dim = s.dim, .head_dim_v = s.dimV, .causal = s.causal, .target = target};
  if (config != TileConfig{}) wanted.tile = config;
  wanted.shape = ShapeHint{s.batch, s.headsQ, s.lenQ, s.lenKv};
  Kernel kernel = compile(wanted);
  return {[kernel, arguments = operands.of(problem)] { kernel.launch({}, arguments); }, kernel.info().tile.toString()};
}

}  // namespace fattn::bench
