// SPDX-License-Identifier: Apache-2.0
// The names that the cache gives to its files and folders. What has another name is not the cache's, and is never deleted.
#ifndef FATTN_RUNTIME_CACHE_NAMES_H
#define FATTN_RUNTIME_CACHE_NAMES_H

#include <cstdint>
#include <filesystem>

namespace fattn::cache {

enum class NameKind : std::uint8_t { Folder, File, Temporary, Foreign };

/// What a path relative to the schema's folder names:
///   Folder     binaries, binaries/<digit>, tuned, tuned/<32 digits>, tuned/<32 digits>/<bucket>
///   File       binaries/<digit>/<64 digits>.bin, tuned/<32 digits>/<bucket>/<16 digits>-<number>[-<number>].json
///   Temporary  .tmp-<number>-<number>-<number> beside such files
/// Digits are hexadecimal.
NameKind kindOfName(const std::filesystem::path& name);

}  // namespace fattn::cache

#endif
