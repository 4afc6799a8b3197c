// SPDX-License-Identifier: Apache-2.0
// Compiles what the options name and keeps every stage: the one door from this tool to the compiler.
#ifndef FATTN_TOOLS_FATTN_DUMP_STAGES_H
#define FATTN_TOOLS_FATTN_DUMP_STAGES_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/driver/Stage.h"
#include "compiler/gpu/schedule/ScheduledLoop.h"
#include "runtime/base/Binary.h"
#include "tools/fattn-dump/Mix.h"
#include "tools/fattn-dump/Options.h"

namespace fattn::dump {

using compiler::SourceLine;
using compiler::Stage;

/// The name of the stage that mixText() writes.
inline constexpr std::string_view kMixStage = "mix";

struct Compilation {
  std::string title;                      ///< "attention_forward, bf16, head dimension 128"
  TileConfig config;                      ///< the choices in use; all unset for a file
  std::vector<Stage> stages;              ///< "dsl" first, then as the compiler hands them out
  compiler::Binary binary;                ///< what came out; empty where nothing was compiled
  std::vector<std::string> undivided;     ///< arguments for which no divisibility is promised: pointers and integers
  std::vector<gpu::ScheduledLoop> loops;  ///< of a GPU's kernel, as the compiler scheduled them
  std::optional<Mix> mix;                 ///< of its PTX or assembly

  /// The stage of a kind; null where there is none. Sass is not among them.
  const Stage* find(Kind kind) const;
};

/// Traces or reads, and compiles unless only dsl and tile are wanted. Stages of MLIR have the source of each line, the others carry
/// line tables where the options say so or a page is wanted. Throws Error.
Compilation compileStages(const Options& options);
/// The same; where it throws, `result` has what was reached before.
void compileStages(const Options& options, Compilation& result);

}  // namespace fattn::dump

#endif
