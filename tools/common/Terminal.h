// SPDX-License-Identifier: Apache-2.0
// What is said to a person at a terminal: a progress line while a long step runs, colours where they are wanted.
#ifndef FATTN_TOOLS_COMMON_TERMINAL_H
#define FATTN_TOOLS_COMMON_TERMINAL_H

#include <string>
#include <string_view>

namespace fattn::tool {

/// Shows the current step on stderr, on one line that is replaced and finally erased; silent where stderr is no terminal.
class Progress {
 public:
  Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }
  void step(std::string_view what);
  void clear();

 private:
  bool enabled_, shown_ = false;
};

/// Whether standard output is a terminal and NO_COLOR is not set (no-color.org).
bool wantsColor();

enum class Style { Dim, Bold, Good, Bad };
/// The text in a style; itself where `color` is false.
std::string styled(std::string_view text, Style style, bool color);

}  // namespace fattn::tool

#endif
