// SPDX-License-Identifier: Apache-2.0
// The levels of host instructions that code is compiled for, and which of them this processor runs.
#ifndef FATTN_RUNTIME_BASE_HOSTLEVEL_H
#define FATTN_RUNTIME_BASE_HOSTLEVEL_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fattn::host {

/// Each level has the instructions of those before it.
enum class Level : std::uint8_t { Sse2, Avx2, Avx512, Avx512Bf16 };

/// All levels as targets, in the order of Level: "host:sse2", "host:avx2", "host:avx512", "host:avx512bf16".
const std::vector<std::string>& levelTargets();

/// The highest level that this processor runs; nothing on a processor that is no x86-64.
std::optional<Level> highestLevel();

/// The targets whose code this processor runs: "host", then its levels in the order of Level.
const std::vector<std::string>& runnableTargets();
bool isRunnable(std::string_view target);
/// runnableTargets() for a message, separated by commas.
std::string runnableTargetsText();

}  // namespace fattn::host

#endif
