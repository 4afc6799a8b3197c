// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Tuned.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <tuple>

#include "runtime/base/Log.h"

namespace fattn::cache {
namespace {

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40;
constexpr std::size_t kMaxExtents = 8, kMaxName = 32, kMaxCleaned = 2000;

bool lower(char c) { return c >= 'a' && c <= 'z'; }

bool legalName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && lower(name[0]) &&
         std::ranges::all_of(name, [](char c) { return lower(c) || c == '_' || (c >= '0' && c <= '9'); });
}

std::string cleaned(std::string_view text) {
  std::string clean(text.substr(0, kMaxCleaned));
  std::ranges::replace_if(clean, [](char c) { return c < ' ' || c > '~'; }, '?');
  return clean;
}

int log2Of(std::int64_t power) { return std::countr_zero(static_cast<std::uint64_t>(power)); }

auto identity(const TunePoint& p) {
  const TileConfig& t = p.tile;
  return std::tuple(t.block_m, t.block_n, t.block_k, t.stages, t.warps, std::string_view(t.schedule), std::string_view(p.run));
}
// Total, so that the result of merging does not depend on the order.
auto rank(const TunePoint& p) { return std::tuple(p.timeMs, p.status, p.medianUs, p.spreadUs, p.samples, std::string_view(p.reason)); }
auto rank(const TuneWinner& w) {
  return std::tuple(w.timeMs, std::string_view(w.run), w.medianUs, w.spreadUs, w.tile.toString(), -w.untried);
}

}  // namespace

Shape bucketOf(const Shape& shape) {
  Shape bucket;
  for (const auto& [name, extent] : shape)
    bucket[name] = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(extent, 1, kMaxExtent))));
  return bucket;
}

std::string bucketName(const Shape& bucket) {
  std::string text;
  for (const auto& [name, extent] : bucket) text.append(text.empty() ? "" : ",").append(name).append("=").append(std::to_string(extent));
  return text.empty() ? "any" : text;
}

std::optional<Shape> parseBucket(std::string_view text) {
  Shape bucket;
  if (text == "any") return bucket;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view item = text.substr(begin, end - begin);
    std::size_t equals = std::min(item.find('='), item.size());
    std::string_view name = item.substr(0, equals), digits = item.substr(std::min(equals + 1, item.size()));
    std::int64_t extent = 0;
    auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), extent);
    if (error != std::errc() || last != digits.data() + digits.size() || !legalName(name) || extent < 1 || extent > kMaxExtent ||
        !std::has_single_bit(static_cast<std::uint64_t>(extent)) || !bucket.emplace(name, extent).second || bucket.size() > kMaxExtents)
      return std::nullopt;
    begin = end + 1;
  }
  if (bucketName(bucket) != text) return std::nullopt;  // one spelling only
  return bucket;
}

int bucketDistance(const Shape& a, const Shape& b) {
  if (a.size() != b.size()) return -1;
  int distance = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end(); ++i, ++j) {
    if (i->first != j->first) return -1;
    distance += std::abs(log2Of(i->second) - log2Of(j->second));
  }
  return distance;
}

TuneKey normalized(const TuneKey& key) {
  return {.target = cleaned(key.target),
          .device = cleaned(key.device),
          .driver = cleaned(key.driver),
          .compiler = cleaned(key.compiler),
          .kernel = cleaned(key.kernel),
          .shape = bucketOf(key.shape)};
}

void merge(TuneRecord& into, const TuneRecord& from) {
  std::vector<TunePoint>& points = into.points;
  points.insert(points.end(), from.points.begin(), from.points.end());
  std::ranges::sort(points, [](const TunePoint& a, const TunePoint& b) {
    if (identity(a) != identity(b)) return identity(a) < identity(b);
    return rank(b) < rank(a);
  });
  auto same = [](const TunePoint& a, const TunePoint& b) { return identity(a) == identity(b); };
  points.erase(std::unique(points.begin(), points.end(), same), points.end());
  if (from.winner && (!into.winner || rank(*into.winner) < rank(*from.winner))) into.winner = from.winner;
  into.dropped += from.dropped;
}

void trim(TuneRecord& record, std::size_t most) {
  constexpr std::int64_t kYearMs = std::int64_t{365} * 24 * 3600 * 1000;
  std::vector<TunePoint>& points = record.points;
  if (points.empty()) return;
  std::vector<std::int64_t> times;
  for (const TunePoint& point : points) times.push_back(point.timeMs);
  std::ranges::sort(times, std::ranges::greater());
  std::int64_t oldest = times.front() - kYearMs;
  if (times.size() > most) oldest = std::max(oldest, most == 0 ? INT64_MAX : times[most - 1]);
  std::erase_if(points, [&](const TunePoint& point) { return point.timeMs < oldest; });
  if (points.size() > most) points.resize(most);  // of those made at the same time, whichever
}

void sayDropped(const TuneRecord& record, const std::string& file) {
  static std::atomic<bool> said{false};
  if (record.dropped == 0 || said.exchange(true)) return;
  log::write(log::Level::Warning,
             "tuned configurations that name a schedule by its rank are ignored, as ranks mean something else with every "
             "compiler: " +
                 file + " holds " + std::to_string(record.dropped) + "; fattn-tune measures them anew");
}

}  // namespace fattn::cache
