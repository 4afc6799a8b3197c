// SPDX-License-Identifier: Apache-2.0
#include "tools/common/CommandLine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

namespace fattn::tool {

int exitCode(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return kUsage;
    case ErrorCode::Unsupported:
      return kUnsupported;
    case ErrorCode::NoDevice:
      return kNoDevice;
    default:
      return kFailure;
  }
}

int complain(std::string_view tool, const std::string& message, const std::string& hint, int code) {
  std::string text = fmt::format("{}: error: {}\n", tool, message);
  if (!hint.empty()) text += fmt::format("  hint: {}\n", hint);
  std::fputs(text.c_str(), stderr);  // unlike fmt::print() it does not throw where nobody can read it
  return code;
}

int printText(std::string_view tool, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return flushOutput() ? kOk : complain(tool, "cannot write to standard output", "", kFailure);
}

bool flushOutput() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

static std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j)
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)}));
  }
  return row.back();
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  word = word.substr(0, 40);
  std::string best;
  std::size_t distance = std::min<std::size_t>(3, word.size() / 2);  // more than two typing errors is no typing error
  for (const std::string& candidate : candidates)
    if (const std::size_t d = editDistance(word, candidate); d < distance) {
      distance = d;
      best = candidate;
    }
  return best;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    if (end == text.size()) return parts;
    at = end + 1;
  }
}

std::pair<std::string, std::string> parsePair(std::string_view option, const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    throw UsageError{fmt::format("{} '{}': expected NAME=VALUE", option, text.substr(0, 80)), ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace fattn::tool
