// SPDX-License-Identifier: Apache-2.0
// The loaded code of this process, by source and tile configuration.
#ifndef FATTN_KERNELS_CORE_CODECACHE_H
#define FATTN_KERNELS_CORE_CODECACHE_H

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/core/LoadedCode.h"
#include "kernels/core/Variants.h"

namespace fattn::kernels {

/// What tuning says about a source whose tile is open.
struct TileChoice {
  TileChoice(std::optional<TileConfig> chosen, std::vector<TunedShape> known = {}) : tile(std::move(chosen)), shapes(std::move(known)) {}
  TileChoice(TileConfig chosen) : tile(std::move(chosen)) {}

  std::optional<TileConfig> tile;  ///< none: the default
  std::vector<TunedShape> shapes;  ///< the buckets that have one of their own
};

/// What a handle to a kernel points to.
struct KernelHandle {
  std::shared_ptr<const LoadedCode> code;
  /// Where the tile configuration was left open: the code for other shapes. A launch takes `code` where none of them is near.
  std::shared_ptr<const Variants> variants{};
};

/// Thread-safe. Whoever asks for the same code at once waits for one compilation; others go on in parallel.
class CodeCache {
 public:
  /// For a caller who left the tile open: what tuning chose, else the source's safe one.
  KernelHandle open(const Source& source, TileChoice choice);
  /// For a caller who chose `asked`, some of it or all. A schedule of the caller's has to fit; one of the defaults gives way.
  KernelHandle closed(const Source& source, const TileConfig& asked);

  /// Whether the code for exactly this tile is here.
  bool has(const Source& source, const TileConfig& tile);
  /// The code for different shapes of a source; none before its first open().
  std::shared_ptr<const Variants> variants(const Source& source);
  /// Has a forked child find this cache unlocked. The cache then must live as long as the process.
  void lockAcrossForks();

 private:
  struct Entry {
    std::mutex compiling;
    std::atomic<bool> ready{false};
    std::shared_ptr<const LoadedCode> code;  // written once, before ready
  };

  std::shared_ptr<const LoadedCode> built(const Source& source, const TileConfig& tile);
  std::shared_ptr<const LoadedCode> builtOrSafe(const Source& source, const TileConfig& chosen);

  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_;      // by key and tile
  std::unordered_map<std::string, std::shared_ptr<Variants>> variants_;  // by key
};

}  // namespace fattn::kernels

#endif
