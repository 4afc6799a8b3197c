// SPDX-License-Identifier: Apache-2.0
// The small languages of the command line: numbers, lists and ranges, times, sizes.
#ifndef FATTN_TOOLS_FATTN_TUNE_RANGES_H
#define FATTN_TOOLS_FATTN_TUNE_RANGES_H

#include <cstdint>
#include <string>
#include <vector>

namespace fattn::tuner {

/// "1000", "16k" (1024 each), "1m". Throws tool::UsageError naming `option`.
std::int64_t parseNumber(const std::string& text, const std::string& option);

/// A list of numbers and ranges, "512,1k..16k": a range doubles from its first to its last number, both of which are in it. Ascending,
/// each once. Throws tool::UsageError.
std::vector<std::int64_t> parseNumbers(const std::string& text, const std::string& option);

/// "90", "120s", "2m", "1h": seconds. Throws tool::UsageError.
double parseSeconds(const std::string& text, const std::string& option);

}  // namespace fattn::tuner

#endif
