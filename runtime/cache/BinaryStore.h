// SPDX-License-Identifier: Apache-2.0
// Compiled binaries on disk, by the hash of everything that shaped them. docs/cache-format.md specifies the files.
#ifndef FATTN_RUNTIME_CACHE_BINARYSTORE_H
#define FATTN_RUNTIME_CACHE_BINARYSTORE_H

#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/Binary.h"
#include "runtime/cache/Directory.h"
#include "runtime/cache/Hash.h"

namespace fattn::cache {

/// The bytes of the file of a binary. The same for the same arguments, on every machine.
std::string encodeBinary(const Digest& key, const compiler::Binary& binary);
/// The binary of a file, if the file is whole, of this version and written for this key.
std::optional<compiler::Binary> decodeBinary(std::string_view file, const Digest& key);

/// Thread-safe; any number of processes may share a directory.
class BinaryStore {
 public:
  static constexpr std::uint64_t kDefaultBytes = std::uint64_t{512} << 20;

  /// `bytes`: what the store may take on disk. `shared`: where it also looks, and never writes.
  explicit BinaryStore(Directory& directory, std::uint64_t bytes = kDefaultBytes, const Directory* shared = nullptr)
      : directory_(directory), bytes_(bytes), shared_(shared) {}

  /// The key of a binary: the hash of a text that describes everything that shaped it.
  static Digest keyOf(std::string_view identity) { return hash(identity); }
  /// Where the binary of a key is, relative to the directory.
  static std::filesystem::path fileOf(const Digest& key);

  std::optional<compiler::Binary> load(const Digest& key) const;
  /// Keeps a binary, and removes the ones unused for longest where the store has become too large. false: it could not be written.
  bool save(const Digest& key, const compiler::Binary& binary);

 private:
  Directory& directory_;
  std::uint64_t bytes_;
  const Directory* shared_;
};

}  // namespace fattn::cache

#endif
