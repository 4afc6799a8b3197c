// SPDX-License-Identifier: Apache-2.0
// fattn-layout: draws layouts of tiles and says what accesses, conversions and reductions of them cost.
#include <cstdio>

#include "tools/fattn-layout/Tool.h"

int main(int argc, char** argv) {
  fattn::layout::ToolResult result = fattn::layout::runTool({argv + (argc > 0 ? 1 : 0), argv + argc});
  std::fputs(result.output.c_str(), stdout);
  std::fputs(result.errors.c_str(), stderr);
  return result.status;
}
