// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Shipped.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace fattn::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxShippedFile = std::uintmax_t{1} << 20;
constexpr std::size_t kMaxEntries = 10000;

// The library, or the program, that this code was linked into.
fs::path ownFolder() {
  Dl_info info{};
  std::error_code failed;
  if (dladdr(reinterpret_cast<const void*>(&shippedRoots), &info) == 0 || info.dli_fname == nullptr) return {};
  return fs::weakly_canonical(info.dli_fname, failed).parent_path();
}

std::vector<std::string> entries(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end && names.size() < kMaxEntries; entry.increment(failed))
    names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::optional<TuneRecord> readRecord(const fs::path& file) {
  std::error_code failed;
  if (!fs::is_regular_file(file, failed) || fs::file_size(file, failed) > kMaxShippedFile || failed) return std::nullopt;
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  return decodeTuned(text);
}

std::vector<TunedBucket> bucketsIn(const fs::path& folder, const std::function<bool(const TileConfig&)>& accept) {
  constexpr std::string_view extension = ".json";
  std::vector<TunedBucket> found;
  for (const std::string& name : entries(folder)) {
    if (!name.ends_with(extension)) continue;
    std::optional<TuneRecord> record = readRecord(folder / name);
    if (!record || bucketName(record->key.shape) + std::string(extension) != name) continue;
    sayDropped(*record, folder / name);
    std::optional<TunedBucket> bucket = finished(*record, accept);
    if (!bucket) continue;
    bucket->source = folder / name;
    bucket->shipped = true;
    found.push_back(std::move(*bucket));
  }
  return found;
}

}  // namespace

std::vector<fs::path> shippedRoots() {
  if (const char* chosen = std::getenv("FATTN_TUNED_DIR")) return *chosen == '\0' ? std::vector<fs::path>{} : std::vector<fs::path>{chosen};
  std::vector<fs::path> roots;
  // Where the library is, and where a program with the library linked in is, in an installation and in a build.
  if (fs::path own = ownFolder(); !own.empty())
    for (const char* up : {FATTN_TUNED_FROM_LIBRARY, FATTN_TUNED_FROM_PROGRAM}) roots.push_back((own / up).lexically_normal());
  roots.emplace_back(FATTN_TUNED_INSTALLED);
  return roots;
}

fs::path shippedFile(const std::string& device, const std::string& problem, const Shape& bucket) {
  return fs::path(device) / problem / (bucketName(bucket) + ".json");
}

std::vector<TunedBucket> shippedBuckets(std::span<const fs::path> roots, const std::string& device, const std::string& family,
                                        const std::string& problem, const std::function<bool(const TileConfig&)>& accept) {
  for (const fs::path& root : roots) {
    if (!device.empty())
      if (std::vector<TunedBucket> found = bucketsIn(root / device / problem, accept); !found.empty()) return found;
    if (family.empty()) continue;
    for (const std::string& other : entries(root))
      if (other.starts_with(family))
        if (std::vector<TunedBucket> found = bucketsIn(root / other / problem, accept); !found.empty()) return found;
  }
  return {};
}

TuneRecord shipped(const TuneRecord& record) {
  TuneRecord small{.key = record.key, .points = {}, .winner = record.winner};
  if (!record.winner) return small;
  const double most = record.winner->medianUs * (1 + kUnmeasured);
  for (const TunePoint& point : record.points)
    if (point.status == TunePoint::Status::Measured && (point.medianUs <= most || point.tile == record.winner->tile))
      small.points.push_back(point);
  return small;
}

}  // namespace fattn::cache
