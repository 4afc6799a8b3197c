// SPDX-License-Identifier: Apache-2.0
// What the environment says about the caches, about tuning and about debugging. A value that cannot be used is one warning, and as if it
// were not set: a setting never fails a compilation.
#ifndef FATTN_RUNTIME_CACHE_SETTINGS_H
#define FATTN_RUNTIME_CACHE_SETTINGS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fattn::cache {

/// Bytes as people write them: "1000000", "64K", "512M", "2G" (powers of 1024, also in small letters); nothing for other texts.
std::optional<std::uint64_t> parseBytes(std::string_view text);

/// What the store of binaries may take on disk: FATTN_CACHE_BINARY_BYTES, else 512 MiB.
std::uint64_t binaryBytes();
/// What the store of tuned configurations may take: FATTN_CACHE_TUNED_BYTES, else 64 MiB.
std::uint64_t tunedBytes();

enum class TuneMode : std::uint8_t {
  Off,     ///< tuned configurations are not looked up
  Cached,  ///< what was tuned is used; nothing is tuned. The default
  On,      ///< a compilation that finds nothing tuned for its shape tunes first
};
/// FATTN_TUNE.
TuneMode tuneMode();
/// Seconds that tuning within a compilation may take: FATTN_TUNE_BUDGET, else 20.
double tuneBudgetSeconds();

/// For debugging: milliseconds that a GPU's kernel may wait for a copy or a slot before it says which and ends with an error, where it is
/// compiled for an NVIDIA chip: FATTN_WATCHDOG, else 0, for ever.
std::int64_t watchdogMilliseconds();

/// For debugging: the folder for what warp groups note of their time, where a kernel is compiled for an NVIDIA chip; fattn-dump --trace
/// draws it. FATTN_TRACE, else empty: they note nothing.
std::string traceFolder();

}  // namespace fattn::cache

#endif
