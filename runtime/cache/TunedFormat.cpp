// SPDX-License-Identifier: Apache-2.0
// The JSON form of tuned configurations. The checksum comes first and covers the bytes of the file, so that nothing of a damaged file is
// parsed; a file with a right checksum may still be anybody's, so that everything is checked before it is used.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "fattn/Error.h"
#include "runtime/cache/Hash.h"
#include "runtime/cache/Tuned.h"

namespace fattn::cache {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kOpen = "{\"checksum\":\"", kClose = "\",";
constexpr std::size_t kDigits = 64, kMaxText = 2000, kMaxReason = 500, kMaxPoints = 100000;
constexpr int kMaxDepth = 8;
constexpr double kMaxUs = 1e12;
constexpr std::int64_t kMaxTime = std::int64_t{1} << 53;  // JSON's readers keep integers exactly up to here
constexpr std::array<std::string_view, 3> kStatus = {"measured", "failed", "pruned"};

struct Invalid {};
void require(bool holds) {
  if (!holds) throw Invalid();
}

// An object with exactly these members, where those from `required` on may be absent.
void members(const Json& json, std::initializer_list<const char*> names, std::size_t required) {
  require(json.is_object());
  std::size_t found = 0, index = 0;
  for (const char* name : names) {
    bool there = json.contains(name);
    require(there || index >= required);
    found += there ? 1 : 0;
    ++index;
  }
  require(found == json.size());
}

std::string text(const Json& json, std::size_t most = kMaxText) {
  require(json.is_string());
  const auto& value = json.get_ref<const std::string&>();
  require(value.size() <= most && std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; }));
  return value;
}

std::int64_t integer(const Json& json, std::int64_t least, std::int64_t most) {
  require(json.is_number_integer() && !(json.is_number_unsigned() && json.get<std::uint64_t>() > std::uint64_t{INT64_MAX}));
  auto value = json.get<std::int64_t>();
  require(value >= least && value <= most);
  return value;
}

double microseconds(const Json& json, bool positive) {
  require(json.is_number());
  auto value = json.get<double>();
  require(std::isfinite(value) && value <= kMaxUs && (positive ? value > 0 : value >= 0));
  return value;
}

constexpr std::int64_t kVersion = 2;      // schedules are texts
constexpr std::int64_t kRankVersion = 1;  // schedules were ranks among those that the compiler of its day offered
constexpr std::size_t kMaxTile = 400;

TileConfig tile(const Json& json) try { return TileConfig::parse(text(json, kMaxTile)); } catch (const Error&) {
  throw Invalid();
}

bool namesRank(const Json& entry) {
  return entry.is_object() && entry.contains("tile") && text(entry["tile"], kMaxTile).find("SCHEDULE=") != std::string::npos;
}

TuneKey keyFrom(const Json& json) {
  members(json, {"target", "device", "driver", "compiler", "kernel", "shape"}, 6);
  TuneKey key{.target = text(json["target"]),
              .device = text(json["device"]),
              .driver = text(json["driver"]),
              .compiler = text(json["compiler"]),
              .kernel = text(json["kernel"]),
              .shape = {}};
  require(json["shape"].is_object() && json["shape"].size() <= 8);
  for (const auto& [name, extent] : json["shape"].items()) key.shape[name] = integer(extent, 1, std::int64_t{1} << 40);
  require(parseBucket(bucketName(key.shape)).has_value());
  return key;
}

TunePoint pointFrom(const Json& json) {
  members(json, {"tile", "status", "time_ms", "run", "median_us", "spread_us", "samples", "reason"}, 4);
  TunePoint point;
  point.tile = tile(json["tile"]);
  const std::string status = text(json["status"]);
  const auto* found = std::ranges::find(kStatus, status);
  require(found != kStatus.end());
  point.status = static_cast<TunePoint::Status>(found - kStatus.begin());
  bool measured = point.status == TunePoint::Status::Measured;
  for (const char* name : {"median_us", "spread_us", "samples"}) require(json.contains(name) == measured);
  require(json.contains("reason") == !measured);
  if (measured) {
    point.medianUs = microseconds(json["median_us"], true);
    point.spreadUs = microseconds(json["spread_us"], false);
    point.samples = integer(json["samples"], 1, 1000000000);
  } else {
    point.reason = text(json["reason"], kMaxReason);
  }
  point.timeMs = integer(json["time_ms"], 0, kMaxTime);
  point.run = text(json["run"], 64);
  return point;
}

TuneWinner winnerFrom(const Json& json) {
  members(json, {"tile", "median_us", "spread_us", "time_ms", "run", "untried"}, 5);
  return {.tile = tile(json["tile"]),
          .medianUs = microseconds(json["median_us"], true),
          .spreadUs = microseconds(json["spread_us"], false),
          .timeMs = integer(json["time_ms"], 0, kMaxTime),
          .run = text(json["run"], 64),
          .untried = json.contains("untried") ? integer(json["untried"], 1, kMaxPoints) : 0};
}

std::string checksumOf(std::string file) {
  std::fill_n(file.begin() + kOpen.size(), kDigits, '0');
  return hex(hash(file));
}

// The parser recurses into nothing, but whoever walks its result does.
bool tooDeep(std::string_view json) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '{' || c == '['))
      ++depth;
    else if (!quoted && (c == '}' || c == ']'))
      --depth;
    if (depth > kMaxDepth) return true;
  }
  return false;
}

TuneRecord recordFrom(const Json& json) {
  members(json, {"checksum", "format", "version", "key", "points", "winner"}, 5);
  require(text(json["format"]) == "fattn-tuned");
  const bool ranks = integer(json["version"], kRankVersion, kVersion) == kRankVersion;
  TuneRecord record{.key = keyFrom(json["key"]), .points = {}, .winner = {}};
  require(json["points"].is_array() && json["points"].size() <= kMaxPoints);
  for (const Json& point : json["points"]) {
    if (ranks && namesRank(point))
      ++record.dropped;
    else
      record.points.push_back(pointFrom(point));
  }
  if (!json.contains("winner")) return record;
  if (ranks && namesRank(json["winner"]))
    ++record.dropped;
  else
    record.winner = winnerFrom(json["winner"]);
  return record;
}

Json jsonOf(const TunePoint& point) {
  Json json{{"tile", point.tile.toString()}, {"status", kStatus[static_cast<std::size_t>(point.status)]}};
  if (point.status == TunePoint::Status::Measured) {
    json["median_us"] = point.medianUs;
    json["spread_us"] = point.spreadUs;
    json["samples"] = point.samples;
  } else {
    json["reason"] = point.reason;
  }
  json["time_ms"] = point.timeMs;
  json["run"] = point.run;
  return json;
}

}  // namespace

std::string sealTuned(std::string_view object) {
  std::string file(kOpen);
  file.append(kDigits, '0').append(kClose).append(object.substr(std::min<std::size_t>(1, object.size())));
  file.replace(kOpen.size(), kDigits, checksumOf(file));
  return file;
}

std::string encodeTuned(const TuneRecord& record) {
  Json json{{"format", "fattn-tuned"}, {"version", kVersion}};
  Json shape = Json::object();
  for (const auto& [name, extent] : record.key.shape) shape[name] = extent;
  const TuneKey& key = record.key;
  json["key"] = {
      {"target", key.target}, {"device", key.device}, {"driver", key.driver}, {"compiler", key.compiler}, {"kernel", key.kernel}};
  json["key"]["shape"] = std::move(shape);
  if (const auto& winner = record.winner) {
    json["winner"] = {{"tile", winner->tile.toString()},
                      {"median_us", winner->medianUs},
                      {"spread_us", winner->spreadUs},
                      {"time_ms", winner->timeMs},
                      {"run", winner->run}};
    if (winner->untried != 0) json["winner"]["untried"] = winner->untried;
  }
  // One line a point, for people and for grep.
  std::string points;
  for (const TunePoint& point : record.points)
    points.append(points.empty() ? "\n" : ",\n").append(jsonOf(point).dump(-1, ' ', false, Json::error_handler_t::replace));
  std::string object = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  object.pop_back();
  return sealTuned(object.append(",\"points\":[").append(points).append("]}\n"));
}

std::optional<TuneRecord> decodeTuned(std::string_view file, const TuneKey* key) try {
  constexpr std::size_t start = kOpen.size() + kDigits;
  if (file.size() < start + kClose.size() || !file.starts_with(kOpen) || file.substr(start, kClose.size()) != kClose) return std::nullopt;
  if (checksumOf(std::string(file)) != file.substr(kOpen.size(), kDigits) || tooDeep(file)) return std::nullopt;
  Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return std::nullopt;
  TuneRecord record = recordFrom(json);
  if (key != nullptr && record.key != *key) return std::nullopt;
  return record;
} catch (const Invalid&) {
  return std::nullopt;
}

}  // namespace fattn::cache
