// SPDX-License-Identifier: Apache-2.0
// Tuned configurations on disk. Every process that tunes a problem writes a file of its own, with all that it has found so far, and readers
// merge the files: so no writer can overwrite what another one has found, without any lock.
#ifndef FATTN_RUNTIME_CACHE_TUNEDSTORE_H
#define FATTN_RUNTIME_CACHE_TUNEDSTORE_H

#include <functional>
#include <mutex>
#include <span>

#include "runtime/cache/Directory.h"
#include "runtime/cache/TunedBuckets.h"

namespace fattn::cache {

/// Thread-safe; any number of processes may share a directory.
class TunedStore {
 public:
  static constexpr std::uint64_t kDefaultBytes = std::uint64_t{64} << 20;

  /// `bytes`: what the store may take on disk. `settledSeconds`: the age from which files of other writers are taken into this one's.
  explicit TunedStore(Directory& directory, std::uint64_t bytes = kDefaultBytes, double settledSeconds = 3600);

  /// Adds points, and the winner where the tuning has come that far. When this returns true, they are on the disk.
  bool record(const TuneKey& key, std::span<const TunePoint> points, const std::optional<TuneWinner>& winner = std::nullopt);

  /// All that is known about the bucket of a problem.
  TuneRecord read(const TuneKey& key) const;

  /// The finished tunings of a problem for all shapes, by name; see finished().
  std::vector<TunedBucket> buckets(const TuneKey& key, const std::function<bool(const TileConfig&)>& accept) const;

  /// Whether there can be an answer at all: cheap.
  bool empty() const;
  /// Every record, merged.
  std::vector<TuneRecord> all() const;
  /// The folder of a key's bucket, relative to the directory.
  static std::filesystem::path folderOf(const TuneKey& key);

 private:
  std::vector<std::string> filesIn(const std::filesystem::path& folder) const;
  /// The record in a file of a folder; null `key`: of any key whose folder this is. `moved` becomes true where the file has gone since the
  /// folder was listed: another process has taken it over, and its points are in another file now.
  std::optional<TuneRecord> readFile(const std::filesystem::path& folder, const std::string& name, const TuneKey* key, bool& moved) const;
  TuneRecord readFolder(const std::filesystem::path& folder, const TuneKey* key) const;
  void adopt(const std::filesystem::path& folder, TuneRecord& own, std::vector<std::filesystem::path>& adopted);
  std::string writer() const;

  Directory& directory_;
  std::uint64_t bytes_;
  double settledSeconds_;
  std::string random_;
  std::mutex mutex_;
  std::map<std::string, TuneRecord> own_;  // by folder: everything this process has recorded
};

}  // namespace fattn::cache

#endif
