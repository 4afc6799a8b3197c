// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Shipped.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <expected>

#include "runtime/cache/Folder.h"

namespace fattn::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxShippedFile = std::size_t{1} << 20;
constexpr std::size_t kMaxEntries = 10000;

// The library, or the program, that this code was linked into.
fs::path ownFolder() {
  Dl_info info{};
  std::error_code failed;
  if (dladdr(reinterpret_cast<const void*>(&shippedRoots), &info) == 0 || info.dli_fname == nullptr) return {};
  return fs::weakly_canonical(info.dli_fname, failed).parent_path();
}

std::vector<TunedBucket> bucketsIn(const fs::path& root, const fs::path& below, const std::function<bool(const TileConfig&)>& accept) {
  constexpr std::string_view extension = ".json";
  std::vector<TunedBucket> found;
  const std::expected<Folder, Refusal> opened = Folder::open(root, below, Trust::Installation, /*create=*/false);
  if (!opened) return found;
  const fs::path folder = root / below;
  for (const std::string& name : opened->entries(kMaxEntries)) {
    if (!name.ends_with(extension)) continue;
    const std::expected<std::string, Refusal> file = opened->read(name, kMaxShippedFile, /*touchAfter=*/-1);
    std::optional<TuneRecord> record = file ? decodeTuned(*file) : std::nullopt;
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
      if (std::vector<TunedBucket> found = bucketsIn(root, fs::path(device) / problem, accept); !found.empty()) return found;
    if (family.empty()) continue;
    const std::expected<Folder, Refusal> folder = Folder::open(root, {}, Trust::Installation, /*create=*/false);
    if (!folder) continue;
    for (const std::string& other : folder->entries(kMaxEntries))
      if (other.starts_with(family))
        if (std::vector<TunedBucket> found = bucketsIn(root, fs::path(other) / problem, accept); !found.empty()) return found;
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
