// SPDX-License-Identifier: Apache-2.0
// The code of one source for different shapes, and which of them a launch takes.
#ifndef FATTN_KERNELS_CORE_VARIANTS_H
#define FATTN_KERNELS_CORE_VARIANTS_H

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "fattn/TileConfig.h"

namespace fattn::kernels {

struct LoadedCode;

/// Doublings of one extent, and of all together, beyond which a tuning says nothing about a shape.
inline constexpr int kFarthest = 2, kFarthestInAll = 3;

/// Extents that a kernel may be tuned by.
inline constexpr std::size_t kMostExtents = 4;

/// A bucket of shapes as powers of two, an extent each, in the order that the kernel names them in; 0 behind the last.
struct ShapeBucket {
  std::array<std::int8_t, kMostExtents> log2{};

  /// The bucket of a shape of at most kMostExtents extents; what is no legal extent is in a bucket that is far from all.
  static ShapeBucket of(std::span<const std::int64_t> extents);
  static ShapeBucket of(std::initializer_list<std::int64_t> extents) { return of(std::span(extents.begin(), extents.size())); }
  bool operator==(const ShapeBucket&) const = default;
};

/// What tuning found for a bucket.
struct TunedShape {
  ShapeBucket bucket;
  std::string name;  ///< "heads=32,seq_k=512,seq_q=512"
  TileConfig tile;   ///< complete
};

/// Thread-safe. pick() takes no lock and allocates nothing; it reads a table that is never changed, only replaced.
class Variants {
 public:
  /// The buckets that are tuned, those that come first before others that are as near.
  void learn(std::vector<TunedShape> shapes);
  /// A kernel for `asked` is at hand; its own tile may be another one, where the compiler refused that.
  void add(const TileConfig& asked, std::shared_ptr<const LoadedCode> kernel);

  /// The kernel for the nearest bucket of those whose kernels are at hand, if one is near (kFarthest); else `otherwise`.
  const LoadedCode* pick(const ShapeBucket& bucket, const LoadedCode* otherwise) const;

  /// What pick() decides by: another address after every change.
  const void* table() const { return table_.load(std::memory_order_acquire); }

  /// The kernel for a tuned configuration; none where it is not at hand.
  std::shared_ptr<const LoadedCode> kernelFor(const TileConfig& asked) const;

 private:
  struct Row {
    ShapeBucket bucket;
    const LoadedCode* kernel;
  };
  using Table = std::vector<Row>;

  std::shared_ptr<const LoadedCode> find(const TileConfig& tile) const;
  void publish();

  mutable std::mutex mutex_;  // of what follows
  std::vector<TunedShape> shapes_;
  std::vector<std::pair<TileConfig, std::shared_ptr<const LoadedCode>>> kernels_;
  std::vector<std::unique_ptr<const Table>> tables_;  // all there ever were, as a launch may be reading one; as few as there are kernels
  std::atomic<const Table*> table_{nullptr};          // the last of them
};

}  // namespace fattn::kernels

#endif
