// SPDX-License-Identifier: Apache-2.0
// The command line of fattn-dump: text in, checked options or a usage error out.
#ifndef FATTN_TOOLS_FATTN_DUMP_OPTIONS_H
#define FATTN_TOOLS_FATTN_DUMP_OPTIONS_H

#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "fattn/DType.h"
#include "fattn/TileConfig.h"
#include "tools/common/CommandLine.h"

namespace fattn::dump {

/// What of a compilation can be shown, in the order in which it comes into being.
enum class Kind : std::uint8_t { Dsl, Tile, TileGpu, Schedule, Llvm, Asm, Ptx, Sass, Gcn, Mix, Time, Obj };
/// "dsl", "tile", "tilegpu" ...
std::string_view name(Kind kind);
/// The kinds that a target's compilation goes through. Throws Error{InvalidArgument} for what is no target.
std::vector<Kind> kindsOf(const std::string& target);

struct Options {
  std::string file;          ///< a .mlir file; or empty
  std::string fromTemplate;  ///< a template, with these parameters by name and text; or empty
  std::vector<std::pair<std::string, std::string>> parameters;
  // Attention's forward, where both are empty.
  DType dtype = DType::BF16;
  int headDim = 64, headDimV = 0;
  bool causal = false;
  TileConfig config;

  std::string target = "host";
  std::vector<Kind> emit;  ///< not empty unless after or allPasses is given
  std::string after;       ///< a pass
  bool allPasses = false, diff = false, html = false, lineTables = false, remarks = false;
  std::string folder;  ///< empty: standard output
  std::string trace;   ///< a timeline of warp groups that is drawn with the schedule; or empty

  std::string text;  ///< not empty for --help and the like: print this and do nothing else
};

std::expected<Options, tool::UsageError> parseCommandLine(const std::vector<std::string>& arguments);

}  // namespace fattn::dump

#endif
