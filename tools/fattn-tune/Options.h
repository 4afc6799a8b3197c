// SPDX-License-Identifier: Apache-2.0
// The command line of fattn-tune: text in, checked options or a usage error out. Opens no device and no file.
#ifndef FATTN_TOOLS_FATTN_TUNE_OPTIONS_H
#define FATTN_TOOLS_FATTN_TUNE_OPTIONS_H

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "fattn/Attention.h"
#include "tools/common/CommandLine.h"

namespace fattn::tuner {

enum class Command : std::uint8_t { Run, Explain, Plot, CacheLs, CacheShow, CacheExport, CacheImport, CacheVerify, CachePrune };

struct Options {
  Command command = Command::Run;
  /// What to tune, problems that share kernels next to each other; one for explain and plot.
  std::vector<AttentionConfig> problems;
  std::optional<double> budgetSeconds;  ///< for all problems together
  int jobs = 0;                         ///< 0: one a core
  bool dryRun = false, resume = false, json = false;

  std::string filter;  ///< cache: only what contains this
  std::string file;    ///< plot, export, import; "-" for standard output
  bool shippedLayout = false;
  std::optional<std::uint64_t> tunedBytes, binaryBytes;  ///< prune
  std::optional<double> olderThanSeconds;

  std::string text;  ///< not empty for --help and --version: print this and do nothing else
};

std::expected<Options, tool::UsageError> parseCommandLine(const std::vector<std::string>& arguments);

}  // namespace fattn::tuner

#endif
