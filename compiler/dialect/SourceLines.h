// SPDX-License-Identifier: Apache-2.0
// Which lines of a user's sources operations come from, as their locations say.
#ifndef FATTN_COMPILER_DIALECT_SOURCELINES_H
#define FATTN_COMPILER_DIALECT_SOURCELINES_H

#include <algorithm>
#include <vector>

#include "compiler/text/SourceLine.h"
#include "mlir/IR/Location.h"

namespace fattn::compiler {

/// Adds the lines that the location names; a fused or inlined location names several.
inline void addSourceLines(mlir::Location location, std::vector<SourceLine>& lines) {
  location->walk([&](mlir::Location part) {
    if (auto file = mlir::dyn_cast<mlir::FileLineColLoc>(part)) lines.push_back({file.getFilename().str(), file.getLine()});
    return mlir::WalkResult::advance();
  });
}

/// In order, each line once.
inline void sortSourceLines(std::vector<SourceLine>& lines) {
  std::ranges::sort(lines);
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
}

}  // namespace fattn::compiler

#endif
