// SPDX-License-Identifier: Apache-2.0
// The tool fattn-layout as a function.
#ifndef FATTN_TOOLS_FATTN_LAYOUT_TOOL_H
#define FATTN_TOOLS_FATTN_LAYOUT_TOOL_H

#include <string>
#include <vector>

namespace fattn::layout {

struct ToolResult {
  int status = 0;  ///< 0 success, 1 a file could not be written, 2 wrong usage
  std::string output, errors;
};

/// Never throws.
ToolResult runTool(const std::vector<std::string>& arguments);

}  // namespace fattn::layout

#endif
