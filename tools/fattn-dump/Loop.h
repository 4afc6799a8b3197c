// SPDX-License-Identifier: Apache-2.0
// A loop of a tile program as the schedule search sees it (compiler/gpu/schedule/LoopModel.h), with the lines its nodes come from.
#ifndef FATTN_TOOLS_FATTN_DUMP_LOOP_H
#define FATTN_TOOLS_FATTN_DUMP_LOOP_H

#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/Stage.h"
#include "compiler/gpu/schedule/LoopModel.h"

namespace mlir {
class ModuleOp;
}

namespace fattn::dump {

struct TileLoop {
  gpu::LoopModel model;
  std::vector<std::vector<compiler::SourceLine>> sources;  ///< a list for each node
  std::string order;  ///< the program's own, as a schedule: copies `stages` - 1 trips ahead of their use
};

/// The innermost loop with the most dots, of several the one with the fewest operations: where a loop was split, the part without masks.
/// One program, of `threads` threads, is one group. Nothing where no loop has dots, or it has more nodes than the model takes.
std::optional<TileLoop> findLoop(mlir::ModuleOp module, int threads, int stages);

}  // namespace fattn::dump

#endif
