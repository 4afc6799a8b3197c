// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Shipped.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <tuple>

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

std::optional<ShippedChoice> chooseIn(const fs::path& folder, const Shape& bucket, const std::function<bool(const TileConfig&)>& accept) {
  constexpr std::string_view extension = ".json";
  std::vector<std::tuple<int, std::string>> files;
  for (const std::string& name : entries(folder)) {
    if (!name.ends_with(extension)) continue;
    std::optional<Shape> there = parseBucket(std::string_view(name).substr(0, name.size() - extension.size()));
    if (int distance = there ? bucketDistance(*there, bucket) : -1; distance >= 0) files.emplace_back(distance, name);
  }
  std::ranges::sort(files);
  for (const auto& [distance, name] : files) {
    std::optional<TuneRecord> record = readRecord(folder / name);
    if (!record || !record->winner || bucketName(record->key.shape) + std::string(extension) != name) continue;
    if (!accept(record->winner->tile)) continue;
    return ShippedChoice{.tile = record->winner->tile,
                         .file = folder / name,
                         .measured = std::move(record->key),
                         .medianUs = record->winner->medianUs,
                         .distance = distance};
  }
  return std::nullopt;
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

std::optional<ShippedChoice> chooseShipped(std::span<const fs::path> roots, const std::string& device, const std::string& family,
                                           const std::string& problem, const Shape& shape,
                                           const std::function<bool(const TileConfig&)>& accept) {
  const Shape bucket = bucketOf(shape);
  for (const fs::path& root : roots) {
    if (!device.empty())
      if (std::optional<ShippedChoice> found = chooseIn(root / device / problem, bucket, accept)) return found;
    if (family.empty()) continue;
    for (const std::string& other : entries(root))
      if (other.starts_with(family))
        if (std::optional<ShippedChoice> found = chooseIn(root / other / problem, bucket, accept)) return found;
  }
  return std::nullopt;
}

TuneRecord shipped(const TuneRecord& record) {
  TuneRecord small{.key = record.key, .points = {}, .winner = record.winner};
  for (const TunePoint& point : record.points)
    if (record.winner && point.tile == record.winner->tile && point.run == record.winner->run) small.points.push_back(point);
  return small;
}

}  // namespace fattn::cache
