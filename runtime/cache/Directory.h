// SPDX-License-Identifier: Apache-2.0
// The folder of the caches. A cache must never be the reason that something fails, so nothing here throws: what cannot be read is not
// there, and the first thing that cannot be written is a warning. Files change by being replaced whole, which is all that readers and
// writers in other processes, on other machines, agree upon: there are no locks. Folder.h says whose files count.
#ifndef FATTN_RUNTIME_CACHE_DIRECTORY_H
#define FATTN_RUNTIME_CACHE_DIRECTORY_H

#include <atomic>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cache/Folder.h"
#include "runtime/cache/Names.h"

namespace fattn::cache {

/// The version of the layout of the folder and the name of the subfolder that holds it. Another version lives beside it untouched.
inline constexpr std::string_view kSchema = "v1";

/// Thread-safe. Names of files are relative to the schema's folder and come from this library, never from a file.
class Directory {
 public:
  /// The folder of this process: $FATTN_CACHE_DIR, else $XDG_CACHE_HOME/fattn, else $HOME/.cache/fattn, as they are at the first call.
  static Directory& process();
  /// The folder that $FATTN_CACHE_SHARED_DIR names, which is read and never written: a machine's or a container image's. Empty without it.
  static Directory& shared();
  /// Nothing is created before something is written. An empty root: a cache that is always empty.
  explicit Directory(std::filesystem::path root, Trust trust = Trust::Own);

  /// The folder all names are relative to.
  const std::filesystem::path& path() const { return path_; }

  /// The bytes of a file of at most `limit` bytes that is to be trusted. Reading a file counts as a use of it for prune(). A folder that is
  /// not to be trusted is a warning, once.
  std::expected<std::string, Refusal> read(const std::filesystem::path& name, std::size_t limit) const;

  /// Puts a file with these bytes in the place of `name`, at once for every reader. `durable`: also flushed to the disk.
  /// false if that failed; the first failure of this object is a warning in the log.
  bool replace(const std::filesystem::path& name, std::string_view bytes, bool durable);

  /// The names of the entries of a folder, sorted, at most 100,000; none if it cannot be read.
  std::vector<std::string> entries(const std::filesystem::path& name) const;

  struct Entry {
    std::filesystem::path name;
    NameKind kind;       ///< File, Temporary or Foreign
    bool ordinary;       ///< no link, folder, pipe or device
    std::uint64_t size;  ///< bytes
    double age;          ///< seconds since it was last written or read
  };
  struct Listing {
    std::vector<Entry> entries;
    std::vector<Refusal> refused;  ///< folders that are not looked into
  };
  /// What is in a folder and in the cache's own folders below it.
  Listing list(const std::filesystem::path& name) const;

  /// Removes the least recently used of the cache's own files below `name` until what is left takes at most `bytes`, never `keep` (relative
  /// as `name` is), and what killed writers have left behind. Returns the number of bytes that stayed.
  std::uint64_t prune(const std::filesystem::path& name, std::uint64_t bytes, const std::filesystem::path& keep = {}) const;

  bool rename(const std::filesystem::path& from, const std::filesystem::path& to) const;
  /// Only what has a name of the cache's own; false for others, and where there is nothing.
  bool remove(const std::filesystem::path& name) const;
  /// Seconds since a file was last written or read; 0 if it is not there.
  double age(const std::filesystem::path& name) const;

 private:
  std::expected<Folder, Refusal> open(const std::filesystem::path& below, bool create = false) const;
  int tryReplace(const std::filesystem::path& name, std::string_view bytes, bool durable, std::string& why) const;
  void listInto(Listing& listing, const std::filesystem::path& name) const;
  void warn(const std::string& text) const;

  std::filesystem::path root_, path_;
  Trust trust_;
  mutable std::atomic<bool> warned_{false};
};

/// Whether the environment asks to compile everything anew: FATTN_ALWAYS_COMPILE is set, and not to "" or "0".
bool alwaysCompile();

}  // namespace fattn::cache

#endif
