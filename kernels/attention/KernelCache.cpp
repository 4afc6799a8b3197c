// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/KernelCache.h"

#include <bit>

#include "kernels/attention/AttentionTemplate.h"
#include "kernels/attention/RecentLaunches.h"

namespace fattn {
namespace {

KernelInfo infoOf(const kernels::ForwardKind& kind, const KernelCode& from) {
  return {.config = kernels::configOf(kind, from.target, from.tile),
          .tile = from.tile,
          .device = from.device,
          .entry = from.entry,
          .from_cache = from.from_cache,
          .compile_ms = from.compile_ms,
          .binary_bytes = from.binary_bytes,
          .scratch_bytes = from.scratch_bytes,
          .shared_bytes = from.shared_bytes,
          .threads = from.threads,
          .registers = from.registers,
          .spill_bytes = from.spill_bytes,
          .resident = from.resident};
}

}  // namespace

Kernel::Impl::Impl(TemplateKernel compiled)
    : kernel(std::move(compiled)),
      kind(kernels::kindOf(kernel.parameters())),
      slots(kernel.args(), kind.dtype),
      info(infoOf(kind, kernel.info())),
      device(namesChip(info.config.target) ? nullptr : &kernel.device()),
      limits{.grid = device != nullptr ? device->capabilities().maxGrid : std::array<std::int64_t, 3>{}, .block = info.tile.block_m},
      number(kernels::newKernelNumber()) {}

namespace kernels {

std::size_t KernelCache::Hash::operator()(const KeyView& key) const {
  std::size_t hash = std::hash<std::string_view>()(key.target);
  auto mix = [&](std::int64_t value) { hash = (std::rotl(hash, 23) ^ static_cast<std::size_t>(value)) * 0x9e3779b97f4a7c15ull; };
  mix(static_cast<std::int64_t>(key.dtype) * 4 + (key.causal ? 2 : 0) + (key.hasTile ? 1 : 0));
  if (key.hasShape)
    for (std::int64_t extent : {key.shape.batch, key.shape.heads, key.shape.seq_q, key.shape.seq_k}) mix(extent);
  mix(key.headDim);
  mix(key.headDimV);
  mix(key.alignment);
  for (std::int32_t choice : key.tile) mix(choice);
  mix(static_cast<std::int64_t>(std::hash<std::string_view>()(key.schedule)));
  return hash;
}

KernelCache::KeyView KernelCache::keyOf(const AttentionConfig& config) {
  static const TileConfig none;
  const TileConfig& tile = config.tile ? *config.tile : none;
  return {.dtype = config.dtype,
          .causal = config.causal,
          .hasTile = config.tile.has_value(),
          .hasShape = config.shape.has_value(),
          .headDim = config.head_dim,
          .headDimV = config.head_dim_v,
          .alignment = config.alignment,
          .tile = {tile.block_m, tile.block_n, tile.block_k, tile.stages, tile.warps},
          .shape = config.shape.value_or(ShapeHint{}),
          .target = config.target,
          .schedule = tile.schedule};
}

const Kernel& KernelCache::get(const AttentionConfig& config) {
  return handles_.get(keyOf(config), [&] {
    const auto [parameters, how] = askedOf(config);
    return Kernel(std::make_shared<const Kernel::Impl>(compile(from_ != nullptr ? *from_ : forwardTemplate(), parameters, how)));
  });
}

}  // namespace kernels
}  // namespace fattn
