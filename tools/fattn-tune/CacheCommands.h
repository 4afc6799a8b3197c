// SPDX-License-Identifier: Apache-2.0
// fattn-tune cache: what is there, from one machine to another, whether it is whole, and how much of it there may be.
#ifndef FATTN_TOOLS_FATTN_TUNE_CACHECOMMANDS_H
#define FATTN_TOOLS_FATTN_TUNE_CACHECOMMANDS_H

#include <string>
#include <string_view>
#include <vector>

#include "runtime/cache/Tuned.h"
#include "tools/fattn-tune/Options.h"

namespace fattn::tuner {

/// Returns the exit code. Throws Error.
int cacheCommand(const Options& options);

/// An exported file: the files of records one after the other, so that two exported files one after the other are one.
std::string encodeBundle(const std::vector<cache::TuneRecord>& records);
/// The records that are whole, and how many were not.
struct Bundle {
  std::vector<cache::TuneRecord> records;
  std::size_t broken = 0;
};
Bundle decodeBundle(std::string_view text);

}  // namespace fattn::tuner

#endif
