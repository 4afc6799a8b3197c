// SPDX-License-Identifier: Apache-2.0
// Reads every file of the cache and names the ones that no reader would take, and the folders that nobody looks into.
#ifndef FATTN_RUNTIME_CACHE_VERIFY_H
#define FATTN_RUNTIME_CACHE_VERIFY_H

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/cache/Directory.h"

namespace fattn::cache {

struct Fault {
  std::filesystem::path file;  ///< relative to the directory
  std::string what;
  bool removable = false;  ///< it has a name of the cache's own, so that pruning may remove it
};

struct Inventory {
  std::size_t tuned = 0, binaries = 0;  ///< whole files
  std::uint64_t tunedBytes = 0, binaryBytes = 0;
  std::vector<Fault> faults;  ///< by name
};

/// Files that a process is writing at the moment are not reported.
Inventory verify(const Directory& directory);

}  // namespace fattn::cache

#endif
