// SPDX-License-Identifier: Apache-2.0
// fattn-layout: draws layouts of tiles and says what accesses, conversions and reductions of them cost.
#include <cstdio>

#include "tools/common/Program.h"
#include "tools/fattn-layout/Tool.h"

int main(int argc, char** argv) {
  fattn::layout::ToolResult result = fattn::layout::runTool(fattn::tool::wordsOf(argc, argv));
  std::fputs(result.errors.c_str(), stderr);
  const int printed = fattn::tool::printText("fattn-layout", result.output);
  return result.status != fattn::tool::kOk ? result.status : printed;
}
