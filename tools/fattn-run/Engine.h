// SPDX-License-Identifier: Apache-2.0
// The compiled kernel with its operands where the device wants them: the one door from this tool to the library.
#ifndef FATTN_TOOLS_FATTN_RUN_ENGINE_H
#define FATTN_TOOLS_FATTN_RUN_ENGINE_H

#include <functional>
#include <memory>
#include <string>

#include "tools/fattn-run/Options.h"
#include "tools/fattn-run/Problem.h"

namespace fattn::run {

class Engine {
 public:
  virtual ~Engine() = default;

  /// Launches once and waits; returns the microseconds it took.
  virtual double launch() = 0;
  /// Brings the results of the launches to the problem's o and lse.
  virtual void fetch(Problem& problem) = 0;

  std::string target, device;  ///< "host"; "AMD EPYC 9B14, 8 threads"
  std::string config;          ///< the tile configuration that runs, as --config takes it
  double compileMs = 0;
  bool fromCache = false;
};

/// Compiles for options.target and the problem's shape and type. The problem must outlive the engine. Throws Error.
std::unique_ptr<Engine> makeEngine(const Options& options, Problem& problem);

using EngineFactory = std::function<std::unique_ptr<Engine>(const Options&, Problem&)>;

}  // namespace fattn::run

#endif
