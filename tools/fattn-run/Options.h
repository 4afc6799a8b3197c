// SPDX-License-Identifier: Apache-2.0
// The command line of fattn-run: text in, checked options or a usage error out. Knows no device and opens no file.
#ifndef FATTN_TOOLS_FATTN_RUN_OPTIONS_H
#define FATTN_TOOLS_FATTN_RUN_OPTIONS_H

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "fattn/DType.h"
#include "fattn/TileConfig.h"
#include "tools/common/CommandLine.h"
#include "tools/fattn-run/KernelOptions.h"
#include "tools/io/HostTensor.h"
#include "tools/io/Reference.h"
#include "tools/io/TensorFile.h"

namespace fattn::run {

using namespace tool;  // exit codes and usage errors

struct Options {
  std::optional<io::FileSpec> q, k, v;  ///< all or none
  std::optional<io::FileSpec> out, lse;
  io::AttentionShape shape;  ///< of the random inputs; `causal` is valid always
  io::Layout layout = io::Layout::BHSD;
  std::optional<DType> dtype;   ///< f32, f16 or bf16; where not given, that of the files
  std::optional<double> scale;  ///< finite
  std::string target;           ///< "" = the default device
  bool simulate = false;        ///< `target` is then a simulated chip's
  TileConfig config;
  bool check = false, bench = false, json = false;
  std::uint64_t seed = 0;
  int threads = 0;                      ///< 0: the runtime's default
  std::optional<KernelOptions> kernel;  ///< a subcommand; then of the above only target, config, check, bench, json, seed and threads count

  std::string text;  ///< not empty for --help and --version: print this and do nothing else
};

std::expected<Options, UsageError> parseCommandLine(const std::vector<std::string>& arguments);

}  // namespace fattn::run

#endif
