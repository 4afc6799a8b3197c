// SPDX-License-Identifier: Apache-2.0
// A traced program through the compiler, behind the cache on disk.
#ifndef FATTN_KERNELS_CORE_COMPILEPROGRAM_H
#define FATTN_KERNELS_CORE_COMPILEPROGRAM_H

#include <functional>
#include <string>

#include "fattn/dsl/Trace.h"
#include "kernels/core/CodeCache.h"

namespace fattn::kernels {

struct ProgramJob {
  ResolvedTarget target;
  TileConfig tile;
  std::string folder;  ///< of FATTN_DUMP_DIR, where the stages go; what a file's name cannot hold becomes '-'
  /// Records the program; it is lowered in place, and so recorded anew where it has to be compiled once more.
  std::function<dsl::Program()> trace;
  bool boxes = true;  ///< compiler::CompileOptions::boxes
};
/// From the cache on disk if it is there, else compiled and kept there. Throws Error.
Compiled compileProgram(const ProgramJob& job);

/// Throws what compileProgram() throws where the program does not fit the target, in a part of its time.
void requireFit(const ProgramJob& job);

/// The orders of the loops' work that the compiler would choose from for a program, as texts, best first. Takes the time of most of a
/// compilation. None where it does not compile: whoever compiles it says why.
std::vector<std::string> offeredSchedules(const ResolvedTarget& target, const TileConfig& tile, const dsl::Program& program);

/// Runs what compiles for a caller: what leaves the library is a fattn::Error.
void asErrors(const std::function<void()>& work);

/// The process's cache of programs that are not attention.
CodeCache& programCache();

}  // namespace fattn::kernels

#endif
