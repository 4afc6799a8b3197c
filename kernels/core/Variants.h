// SPDX-License-Identifier: Apache-2.0
// The kernels of one configuration for different shapes, and which of them a launch takes.
#ifndef FATTN_KERNELS_VARIANTS_H
#define FATTN_KERNELS_VARIANTS_H

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fattn/Attention.h"

namespace fattn::kernels {

struct LoadedKernel;

/// Doublings of one extent beyond which a tuning says nothing about a shape.
inline constexpr int kFarthest = 2;

/// A bucket of shapes as powers of two: batch entries times heads, rows of q, rows of k.
struct ShapeBucket {
  std::array<std::int8_t, 3> log2{};

  /// The bucket of a shape; what is no legal extent is in a bucket that is far from all.
  static ShapeBucket of(std::int64_t batch, std::int64_t heads, std::int64_t seqQ, std::int64_t seqK);
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
  void add(const TileConfig& asked, std::shared_ptr<const LoadedKernel> kernel);

  /// The kernel for the nearest bucket of those whose kernels are at hand, if one is near (kFarthest); else `otherwise`.
  const LoadedKernel* pick(const ShapeBucket& bucket, const LoadedKernel* otherwise) const;

  /// The kernel for a tuned configuration; none where it is not at hand.
  std::shared_ptr<const LoadedKernel> kernelFor(const TileConfig& asked) const;

 private:
  struct Row {
    ShapeBucket bucket;
    const LoadedKernel* kernel;
  };
  using Table = std::vector<Row>;

  std::shared_ptr<const LoadedKernel> find(const TileConfig& tile) const;
  void publish();

  mutable std::mutex mutex_;  // of what follows
  std::vector<TunedShape> shapes_;
  std::vector<std::pair<TileConfig, std::shared_ptr<const LoadedKernel>>> kernels_;
  std::vector<std::unique_ptr<const Table>> tables_;  // all there ever were, as a launch may be reading one; as few as there are kernels
  std::atomic<const Table*> table_{nullptr};          // the last of them
};

}  // namespace fattn::kernels

#endif
