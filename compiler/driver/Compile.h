// SPDX-License-Identifier: Apache-2.0
// The compiler from end to end: a tile module in, a binary for one target out.
#ifndef FATTN_COMPILER_DRIVER_COMPILE_H
#define FATTN_COMPILER_DRIVER_COMPILE_H

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/driver/Stage.h"
#include "compiler/gpu/schedule/ScheduledLoop.h"
#include "fattn/TileConfig.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Binary.h"

namespace fattn::compiler {

/// Looks at the module after a pass, which it names as the command line does ("cse"). It must neither change the module nor throw.
using ModuleSink = std::function<void(std::string_view pass, mlir::ModuleOp module)>;

/// Builds for debugging verify every compilation.
#ifdef NDEBUG
inline constexpr bool kVerifyAlways = false;
#else
inline constexpr bool kVerifyAlways = true;
#endif

struct CompileOptions {
  std::string target = "host";  ///< "host", "host:sse2|avx2|avx512|avx512bf16", "nvidia:sm_90" ...
  TileConfig config;
  int schedule = 0;               ///< where `config` names none, which of the search's best orders of the loops' work; not for keeping
  std::string dumpDir;            ///< if set: every stage is written there as NN-name.{mlir,ll,s,ptx,o}
  StageSink onStage;              ///< if set: is handed every stage, as it is reached; compile() throws what it throws
  ModuleSink onModule;            ///< if set: is handed the module after every pass
  gpu::ScheduledLoopSink onLoop;  ///< if set: is handed the loops of a GPU's kernel as their schedules are chosen; must not throw
  bool boxes = true;  ///< engines copy whole boxes where the chip has some: code that Module::accepts() does not launch on everything
  std::int64_t watchdog = 0;  ///< NVIDIA: milliseconds that a wait for a copy or a slot may last before the kernel says which and ends with
                              ///< an error; 0 = for ever. For debugging: waits and registers cost more
  bool marks = false;         ///< NVIDIA: the launch's first block notes what its warp groups do and when, for fattn-dump --trace
  bool lineTables = false;    ///< the binary says which source lines its code comes from; the code is the same
  bool verify = kVerifyAlways;  ///< the IR is verified after every pass, and layouts after those that rebuild much
};

/// Compiles the one kernel function (attribute tile.kernel) of `module`, which is consumed (lowered in place). Thread-safe for modules of
/// different contexts. Throws Error{CompileError} with the diagnostics if the module is invalid, Error{Unsupported} or
/// Error{InvalidArgument} for the target.
Binary compile(mlir::ModuleOp module, const CompileOptions& options);

/// The orders of loops' work that the compiler would choose from, as texts for TileConfig::schedule, best first; none where the target's
/// back end offers none. Consumes the module and throws as compile() does.
std::vector<std::string> offeredSchedules(mlir::ModuleOp module, const CompileOptions& options);

/// Throws what compile() throws for a kernel that does not fit its target. Runs the passes, which decide that, and no code generator: a
/// part of compile()'s time. Consumes the module.
void requireFit(mlir::ModuleOp module, const CompileOptions& options);

/// What registering once per MLIRContext takes for compile() to work on its modules.
void registerCompilerDialects(mlir::DialectRegistry& registry);

}  // namespace fattn::compiler

#endif
