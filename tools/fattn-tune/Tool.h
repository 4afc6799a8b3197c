// SPDX-License-Identifier: Apache-2.0
// One run from the command line to the exit code.
#ifndef FATTN_TOOLS_FATTN_TUNE_TOOL_H
#define FATTN_TOOLS_FATTN_TUNE_TOOL_H

#include <string>
#include <vector>

namespace fattn::tuner {

/// Results go to standard output, progress and errors to standard error. Returns the exit code.
int runTool(const std::vector<std::string>& arguments);

}  // namespace fattn::tuner

#endif
