// SPDX-License-Identifier: Apache-2.0
// The command line of fattn-bench: text in, checked options or a usage error out.
#ifndef FATTN_TOOLS_FATTN_BENCH_OPTIONS_H
#define FATTN_TOOLS_FATTN_BENCH_OPTIONS_H

#include <expected>
#include <string>
#include <vector>

#include "fattn/DType.h"
#include "fattn/TileConfig.h"
#include "tools/common/CommandLine.h"

namespace fattn::bench {

struct Options {
  std::vector<std::string> suites = {"quick"};
  std::vector<DType> types = {DType::BF16};
  std::vector<TileConfig> configs = {{}};  ///< contestants of each case; all unset: what compile() would take
  std::string target;                      ///< "": the default device
  double seconds = 20;
  int threads = 0;
  bool json = false, list = false;
  std::string output;   ///< a file for the JSON object
  std::string compare;  ///< an earlier JSON object

  std::string text;  ///< not empty for --help and the like: print this and do nothing else
};

std::expected<Options, tool::UsageError> parseCommandLine(const std::vector<std::string>& arguments);

}  // namespace fattn::bench

#endif
