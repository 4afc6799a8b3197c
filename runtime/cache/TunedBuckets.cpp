// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/TunedBuckets.h"

#include <algorithm>
#include <tuple>

namespace fattn::cache {
namespace {

double volume(const Shape& shape) {
  double product = 1;
  for (const auto& [name, extent] : shape) product *= static_cast<double>(extent);
  return product;
}

double fastest(const TunedBucket& bucket) {
  double us = bucket.winner.medianUs;
  for (const auto& [tile, time] : bucket.times) us = std::min(us, time);
  return us;
}

double lossOf(const TunedBucket& bucket, const TileConfig& tile) {
  const auto found = std::ranges::find(bucket.times, tile, &std::pair<TileConfig, double>::first);
  return found == bucket.times.end() ? kUnmeasured : found->second / fastest(bucket) - 1;
}

}  // namespace

std::optional<TunedBucket> finished(const TuneRecord& record, const std::function<bool(const TileConfig&)>& accept) {
  if (!record.winner || !accept(record.winner->tile)) return std::nullopt;
  TunedBucket bucket{.shape = record.key.shape, .winner = *record.winner, .times = {}, .source = {}, .device = record.key.device};
  std::vector<const TunePoint*> points;
  for (const TunePoint& point : record.points)
    if (point.status == TunePoint::Status::Measured && point.tile != record.winner->tile) points.push_back(&point);
  // Of several runs the last measurement counts.
  std::ranges::sort(points, std::greater<>(),
                    [](const TunePoint* point) { return std::tuple(point->timeMs, std::string_view(point->run)); });
  bucket.times.emplace_back(record.winner->tile, record.winner->medianUs);
  for (const TunePoint* point : points)
    if (std::ranges::find(bucket.times, point->tile, &std::pair<TileConfig, double>::first) == bucket.times.end() && accept(point->tile))
      bucket.times.emplace_back(point->tile, point->medianUs);
  return bucket;
}

std::optional<int> distanceOf(const Shape& bucket, const Shape& told) {
  int distance = 0;
  for (const auto& [name, extent] : bucketOf(told)) {
    const auto found = bucket.find(name);
    if (found == bucket.end()) return std::nullopt;
    const int apart = bucketDistance({*found}, {{name, extent}});
    if (apart > kFarthest) return std::nullopt;
    distance += apart;
  }
  if (distance > kFarthestInAll) return std::nullopt;
  return distance;
}

std::vector<const TunedBucket*> nearest(std::span<const TunedBucket> buckets, const Shape& told) {
  std::vector<const TunedBucket*> near;
  std::optional<int> least;
  for (const TunedBucket& bucket : buckets) {
    const std::optional<int> distance = distanceOf(bucket.shape, told);
    if (!distance || (least && *distance > *least)) continue;
    if (least && *distance < *least) near.clear();
    least = distance;
    near.push_back(&bucket);
  }
  return near;
}

LeastLoss leastLoss(std::span<const TunedBucket* const> buckets, const TileConfig& safe) {
  std::map<std::string, std::pair<TileConfig, double>> candidates;  // by text; with the volume of the largest bucket it wins
  candidates.try_emplace(safe.toString(), safe, 0);
  for (const TunedBucket* bucket : buckets) {
    for (const auto& [tile, us] : bucket->times) candidates.try_emplace(tile.toString(), tile, 0);
    double& won = candidates.try_emplace(bucket->winner.tile.toString(), bucket->winner.tile, 0).first->second.second;
    won = std::max(won, volume(bucket->shape));
  }
  LeastLoss best;
  std::optional<std::tuple<double, double, double>> rank;
  for (const auto& [text, candidate] : candidates) {
    LeastLoss loss{.tile = candidate.first};
    for (const TunedBucket* bucket : buckets) {
      const double one = lossOf(*bucket, candidate.first);
      loss.worst = std::max(loss.worst, one);
      loss.mean += one / static_cast<double>(buckets.size());
    }
    const std::tuple mine(loss.worst, loss.mean, -candidate.second);
    if (rank && mine >= *rank) continue;
    rank = mine;
    best = std::move(loss);
  }
  return best;
}

}  // namespace fattn::cache
