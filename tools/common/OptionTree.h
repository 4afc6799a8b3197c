// SPDX-License-Identifier: Apache-2.0
// The options of a tool as manual pages and completions need them.
#ifndef FATTN_TOOLS_COMMON_OPTIONTREE_H
#define FATTN_TOOLS_COMMON_OPTIONTREE_H

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fattn::tool {

struct OptionInfo {
  enum class Value { None, Any, Choice, File, Folder };
  std::vector<std::string> names;  ///< "-o", "--output"; empty for a positional argument
  std::string positional;          ///< its name
  std::string value;               ///< "FILE", "f32|f16"; empty for a flag
  Value kind = Value::None;
  std::vector<std::string> choices;
  std::string what, group;
  bool required = false;
};

struct CommandInfo {
  std::string name, what, footer;
  std::vector<OptionInfo> options;
  std::vector<CommandInfo> commands;
};

CommandInfo describe(const CLI::App& app);

}  // namespace fattn::tool

#endif
