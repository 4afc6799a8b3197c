// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/TunedStore.h"

#include <unistd.h>

#include <algorithm>
#include <random>

#include "runtime/base/Log.h"
#include "runtime/cache/Hash.h"

namespace fattn::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxTunedFile = std::size_t{16} << 20, kMaxTunedFiles = 1000;

fs::path problemFolder(const TuneKey& key) {
  std::string text;
  for (const std::string* part : {&key.target, &key.device, &key.driver, &key.compiler, &key.kernel}) text.append(*part).push_back('\n');
  return fs::path("tuned") / hex(hash(text)).substr(0, 32);
}

// Years of tuning are more than a file may have: the oldest points are forgotten.
std::string encodeWithin(TuneRecord& record, std::size_t bytes) {
  constexpr std::size_t kMostPoints = 20000;
  if (record.points.size() > kMostPoints) trim(record, kMostPoints);
  std::string file = encodeTuned(record);
  while (file.size() > bytes && record.points.size() > 1) {
    trim(record, record.points.size() / 2);
    file = encodeTuned(record);
  }
  return file;
}

void sayIgnored(const std::string& why) {
  if (log::enabled(log::Level::Info)) log::write(log::Level::Info, "the cache ignores " + why);
}

}  // namespace

TunedStore::TunedStore(Directory& directory, std::uint64_t bytes, double settledSeconds)
    : directory_(directory), bytes_(bytes), settledSeconds_(settledSeconds) {
  std::random_device device;
  std::string bits;
  for (int i = 0; i < 4; ++i) bits += std::to_string(device()) + " ";
  random_ = hex(hash(bits)).substr(0, 16);
}

// The process is part of it, as a forked child has the same random number.
std::string TunedStore::writer() const { return random_ + "-" + std::to_string(getpid()); }

fs::path TunedStore::folderOf(const TuneKey& key) {
  TuneKey clean = normalized(key);
  return problemFolder(clean) / bucketName(clean.shape);
}

bool TunedStore::record(const TuneKey& key, std::span<const TunePoint> points, const std::optional<TuneWinner>& winner) {
  TuneRecord added{.key = normalized(key), .points = {points.begin(), points.end()}, .winner = winner};
  for (TunePoint& point : added.points) {
    if (point.run.empty()) point.run = writer();
    for (char& c : point.reason)
      if (c < ' ' || c > '~') c = ' ';
    if (point.reason.size() > 500) point.reason.resize(500);
  }
  if (added.winner && added.winner->run.empty()) added.winner->run = writer();
  fs::path folder = folderOf(key);
  std::lock_guard lock(mutex_);
  auto [own, first] = own_.try_emplace(folder.string(), TuneRecord{.key = added.key, .points = {}, .winner = {}});
  merge(own->second, added);
  std::vector<fs::path> adopted;
  if (first) adopt(folder, own->second, adopted);
  if (!adopted.empty()) trim(own->second, SIZE_MAX);  // what is too old to say anything about this compiler's kernels
  std::string file = encodeWithin(own->second, kMaxTunedFile);
  if (file.size() > kMaxTunedFile || !decodeTuned(file, &added.key)) {
    log::write(log::Level::Error, "the cache does not keep a tuning result that its own rules forbid, for " + folder.string());
    own_.erase(own);
    return false;
  }
  if (!directory_.replace(folder / (writer() + ".json"), file, /*durable=*/true)) return false;
  for (const fs::path& name : adopted) directory_.remove(name);
  if (first) directory_.prune("tuned", bytes_, folder / (writer() + ".json"));
  return true;
}

// Keeps the number of files small. A file is renamed before it is read, so that what is removed in the end is what was read, even if its
// writer is alive and has written a new one meanwhile; under its new name readers still find it, should this process end here.
void TunedStore::adopt(const fs::path& folder, TuneRecord& own, std::vector<fs::path>& adopted) {
  for (const std::string& name : directory_.entries(folder)) {
    if (kindOfName(folder / name) != NameKind::File || directory_.age(folder / name) < settledSeconds_) continue;
    fs::path taken = folder / (writer() + "-" + std::to_string(adopted.size()) + ".json");
    if (!directory_.rename(folder / name, taken)) continue;
    const std::expected<std::string, Refusal> file = directory_.read(taken, kMaxTunedFile);
    if (!file) continue;
    if (std::optional<TuneRecord> record = decodeTuned(*file, &own.key)) merge(own, *record);
    adopted.push_back(std::move(taken));  // also what is no record: it will never be one
  }
}

std::vector<std::string> TunedStore::filesIn(const fs::path& folder) const {
  std::vector<std::string> names = directory_.entries(folder);
  std::erase_if(names, [&](const std::string& name) { return kindOfName(folder / name) != NameKind::File; });
  if (names.size() > kMaxTunedFiles) names.resize(kMaxTunedFiles);
  return names;
}

std::optional<TuneRecord> TunedStore::readFile(const fs::path& folder, const std::string& name, const TuneKey* key, bool& moved) const {
  const std::expected<std::string, Refusal> file = directory_.read(folder / name, kMaxTunedFile);
  if (!file) {
    if (file.error().absent())
      moved = true;
    else
      sayIgnored(file.error().why);
    return std::nullopt;
  }
  std::optional<TuneRecord> record = decodeTuned(*file, key);
  if (record && (key != nullptr || folderOf(record->key) == folder)) return record;
  sayIgnored((directory_.path() / folder / name).string() + ": it is no whole file of its kind");
  return std::nullopt;
}

TuneRecord TunedStore::readFolder(const fs::path& folder, const TuneKey* key) const {
  TuneRecord merged;
  bool moved = true;
  for (int attempt = 0; moved && attempt < 8; ++attempt) {
    merged = key != nullptr ? TuneRecord{.key = *key, .points = {}, .winner = {}} : TuneRecord{};
    moved = false;
    for (const std::string& name : filesIn(folder)) {
      const std::optional<TuneRecord> record = readFile(folder, name, key, moved);
      if (!record) continue;
      if (key == nullptr) merged.key = record->key;
      sayDropped(*record, directory_.path() / folder / name);
      merge(merged, *record);
    }
  }
  return merged;
}

TuneRecord TunedStore::read(const TuneKey& key) const {
  TuneKey clean = normalized(key);
  return readFolder(folderOf(clean), &clean);
}

std::vector<TunedBucket> TunedStore::buckets(const TuneKey& key, const std::function<bool(const TileConfig&)>& accept) const {
  TuneKey there = normalized(key);
  std::vector<TunedBucket> found;
  const fs::path problem = problemFolder(there);
  for (const std::string& name : directory_.entries(problem)) {
    std::optional<Shape> shape = parseBucket(name);
    if (!shape) continue;
    there.shape = std::move(*shape);
    std::optional<TunedBucket> bucket = finished(readFolder(problem / name, &there), accept);
    if (!bucket) continue;
    bucket->source = directory_.path() / problem / name;
    found.push_back(std::move(*bucket));
  }
  std::ranges::sort(found, {}, [](const TunedBucket& bucket) { return bucketName(bucket.shape); });
  return found;
}

bool TunedStore::empty() const {
  std::error_code failed;
  return directory_.path().empty() || !fs::exists(directory_.path() / "tuned", failed);
}

std::vector<TuneRecord> TunedStore::all() const {
  std::vector<TuneRecord> records;
  for (const std::string& problem : directory_.entries("tuned"))
    for (const std::string& bucket : directory_.entries(fs::path("tuned") / problem))
      if (parseBucket(bucket)) {
        TuneRecord record = readFolder(fs::path("tuned") / problem / bucket, nullptr);
        if (!record.points.empty() || record.winner) records.push_back(std::move(record));
      }
  return records;
}

}  // namespace fattn::cache
