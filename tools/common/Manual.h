// SPDX-License-Identifier: Apache-2.0
// Manual pages and shell completions, written from the tree of options that the tool parses its command line with.
#ifndef FATTN_TOOLS_COMMON_MANUAL_H
#define FATTN_TOOLS_COMMON_MANUAL_H

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fattn::tool {

/// A page for man(1): troff with the man macros. The footer's paragraphs become sections ("Examples:", "Exit codes: ...").
std::string manPage(const CLI::App& app);
std::string bashCompletion(const CLI::App& app);
std::string zshCompletion(const CLI::App& app);
std::string fishCompletion(const CLI::App& app);

/// What `--generate man|bash|zsh|fish` asks for, which must be the whole command line; nothing for any other. The build calls it, people
/// need not know it. Values of an option are completed by its type_name: words between bars are the choices, FILE and DIR paths.
std::optional<std::string> generate(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace fattn::tool

#endif
