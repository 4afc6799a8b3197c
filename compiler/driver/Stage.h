// SPDX-License-Identifier: Apache-2.0
// One stage of a compilation as text, with the source each of its lines comes from. Names no MLIR or LLVM type.
#ifndef FATTN_COMPILER_DRIVER_STAGE_H
#define FATTN_COMPILER_DRIVER_STAGE_H

#include <functional>
#include <string>
#include <vector>

#include "compiler/text/SourceLine.h"

namespace fattn::compiler {

struct Stage {
  std::string name;       ///< "tile", the argument of the pass it follows ("cse"), or what a code generator calls its result
  std::string extension;  ///< what the text is: "mlir", "ll" (LLVM IR), "s" (assembly), "ptx", "o" (an object's bytes)
  std::string text;
  /// Of MLIR: the sources of each line of the text, as the locations of its operations say. Other texts carry their own line tables.
  std::vector<std::vector<SourceLine>> lines;
};

using StageSink = std::function<void(Stage)>;

}  // namespace fattn::compiler

#endif
