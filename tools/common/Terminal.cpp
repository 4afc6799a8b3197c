// SPDX-License-Identifier: Apache-2.0
// ANSI sequences: erase the line, colours.
#include "tools/common/Terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace fattn::tool {

static bool isDumb() {
  const char* term = std::getenv("TERM");
  return term != nullptr && std::string_view(term) == "dumb";
}

Progress::Progress() : enabled_(::isatty(STDERR_FILENO) != 0 && !isDumb()) {}

void Progress::step(std::string_view what) {
  if (!enabled_) return;
  fmt::print(stderr, "\r\x1b[2K{} ...", what);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[2K");
  std::fflush(stderr);
  shown_ = false;
}

bool wantsColor() {
  const char* noColor = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) != 0 && !isDumb() && (noColor == nullptr || *noColor == '\0');
}

std::string styled(std::string_view text, Style style, bool color) {
  if (!color) return std::string(text);
  static constexpr const char* kCodes[] = {"2", "1", "32", "1;31"};
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<int>(style)], text);
}

}  // namespace fattn::tool
