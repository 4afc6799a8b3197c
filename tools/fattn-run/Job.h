// SPDX-License-Identifier: Apache-2.0
// One run from the command line to the exit code.
#ifndef FATTN_TOOLS_FATTN_RUN_JOB_H
#define FATTN_TOOLS_FATTN_RUN_JOB_H

#include <string>
#include <vector>

#include "tools/common/Terminal.h"
#include "tools/fattn-run/Engine.h"

namespace fattn::run {

/// What a subcommand found out, as it is printed, and whether the check passed or was not asked for.
struct KernelResult {
  std::string text;
  bool passed = true;
};
using KernelRunner = std::function<KernelResult(const Options&, tool::Progress&)>;

/// Runs the tool; results go to standard output, errors as a sentence to standard error. Returns the exit code.
int runJob(const std::vector<std::string>& arguments, const EngineFactory& makeEngine, const KernelRunner& runKernel = {});

}  // namespace fattn::run

#endif
