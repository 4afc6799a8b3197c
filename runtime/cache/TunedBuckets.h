// SPDX-License-Identifier: Apache-2.0
// Which tuning serves a shape: that of its own bucket, else of the nearest one, unless that is far; of several, the configuration that
// loses least over them. docs/tuning.md has the rules and their reasons.
#ifndef FATTN_RUNTIME_CACHE_TUNEDBUCKETS_H
#define FATTN_RUNTIME_CACHE_TUNEDBUCKETS_H

#include <filesystem>
#include <functional>
#include <span>

#include "runtime/cache/Tuned.h"

namespace fattn::cache {

/// Doublings of one extent, and of all together, beyond which a tuning says nothing about a shape.
inline constexpr int kFarthest = 2, kFarthestInAll = 3;

/// A tuning that finished.
struct TunedBucket {
  Shape shape;
  TuneWinner winner;
  std::vector<std::pair<TileConfig, double>> times;  ///< microseconds of every configuration measured, the winner's among them
  std::filesystem::path source;                      ///< the folder or the file that says so
  std::string device;                                ///< on which it was measured
  bool shipped = false;
};

/// A record's tuning, if it finished and its winner is accepted; without the times of what is not accepted.
std::optional<TunedBucket> finished(const TuneRecord& record, const std::function<bool(const TileConfig&)>& accept);

/// The doublings between a bucket and a shape, of which some extents may not be told; nothing where one of those told is farther away than
/// kFarthest, or is none of the bucket's, or all together are farther than kFarthestInAll.
std::optional<int> distanceOf(const Shape& bucket, const Shape& told);

/// The buckets that are nearest to what is told of a shape, in the order given: several where what is not told distinguishes them. None
/// where all are far.
std::vector<const TunedBucket*> nearest(std::span<const TunedBucket> buckets, const Shape& told);

struct LeastLoss {
  TileConfig tile;
  double worst = 0, mean = 0;  ///< how much longer than the fastest it takes, over the buckets; 0.25 = 25%
};
/// The configuration whose worst loss over the buckets is the least, from the times that they hold; of equal ones the one with the least
/// mean, then the one that is a winner of the largest bucket. `safe` is a candidate, too. A configuration that was not measured for a
/// bucket counts as kUnmeasured there. Precondition: there is a bucket.
LeastLoss leastLoss(std::span<const TunedBucket* const> buckets, const TileConfig& safe);

/// What an export leaves out took at least this much longer than the winner.
inline constexpr double kUnmeasured = 0.25;

}  // namespace fattn::cache

#endif
