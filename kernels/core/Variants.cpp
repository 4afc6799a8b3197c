// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/Variants.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "kernels/core/LoadedCode.h"

namespace fattn::kernels {
namespace {

std::int8_t ceilLog2(std::uint64_t extent) { return static_cast<std::int8_t>(extent <= 1 ? 0 : std::bit_width(extent - 1)); }

}  // namespace

ShapeBucket ShapeBucket::of(std::span<const std::int64_t> extents) {
  ShapeBucket bucket;
  for (std::size_t i = 0; i < extents.size(); ++i) bucket.log2[i] = ceilLog2(static_cast<std::uint64_t>(extents[i]));
  return bucket;
}

const LoadedCode* Variants::pick(const ShapeBucket& bucket, const LoadedCode* otherwise) const {
  const Table* table = table_.load(std::memory_order_acquire);
  if (table == nullptr) return otherwise;
  const LoadedCode* found = otherwise;
  int least = kFarthestInAll + 1;
  for (const Row& row : *table) {
    int sum = 0, most = 0;
    for (std::size_t i = 0; i < bucket.log2.size(); ++i) {
      const int apart = std::abs(row.bucket.log2[i] - bucket.log2[i]);
      sum += apart;
      most = std::max(most, apart);
    }
    if (most > kFarthest || sum >= least) continue;
    found = row.kernel;
    if (sum == 0) break;
    least = sum;
  }
  return found;
}

void Variants::learn(std::vector<TunedShape> shapes) {
  std::lock_guard lock(mutex_);
  auto same = [](const TunedShape& a, const TunedShape& b) { return a.bucket == b.bucket && a.tile == b.tile; };
  if (std::ranges::equal(shapes_, shapes, same)) return;
  shapes_ = std::move(shapes);
  publish();
}

void Variants::add(const TileConfig& asked, std::shared_ptr<const LoadedCode> kernel) {
  std::lock_guard lock(mutex_);
  if (find(asked)) return;
  kernels_.emplace_back(asked, std::move(kernel));
  publish();
}

std::shared_ptr<const LoadedCode> Variants::find(const TileConfig& tile) const {
  const auto found = std::ranges::find(kernels_, tile, [](const auto& entry) -> const TileConfig& { return entry.first; });
  return found == kernels_.end() ? nullptr : found->second;
}

void Variants::publish() {
  auto table = std::make_unique<Table>();
  for (const TunedShape& shape : shapes_)
    if (std::shared_ptr<const LoadedCode> kernel = find(shape.tile)) table->push_back({shape.bucket, kernel.get()});
  table_.store(table.get(), std::memory_order_release);
  tables_.push_back(std::move(table));
}

std::shared_ptr<const LoadedCode> Variants::kernelFor(const TileConfig& asked) const {
  std::lock_guard lock(mutex_);
  return find(asked);
}

}  // namespace fattn::kernels
