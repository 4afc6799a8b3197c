// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/LinkLog.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace fattn::cuda {
namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// Raises `value` to the number that stands right before `unit` in a lower-case line.
void raise(int& value, std::string_view line, std::string_view unit) {
  for (std::size_t at = line.find(unit); at != std::string_view::npos; at = line.find(unit, at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && isDigit(line[begin - 1])) --begin;
    int number = 0;
    if (auto [end, error] = std::from_chars(line.data() + begin, line.data() + at, number); error == std::errc() && begin != at)
      value = std::max(value, number);
  }
}

// "(C7510)", with any number of digits.
bool hasAdviceCode(std::string_view line) {
  for (std::size_t at = line.find("(C"); at != std::string_view::npos; at = line.find("(C", at + 1)) {
    std::size_t end = at + 2;
    while (end < line.size() && isDigit(line[end])) ++end;
    if (end > at + 2 && end < line.size() && line[end] == ')') return true;
  }
  return false;
}

bool isWarning(std::string_view lowerLine) {
  return lowerLine.starts_with("warning") || lowerLine.find("warning ") != std::string_view::npos;
}

}  // namespace

LinkLog parseLinkLog(std::string_view log) {
  LinkLog result;
  while (!log.empty()) {
    std::size_t end = std::min(log.find('\n'), log.size());
    std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::string words = lower(line);
    if (hasAdviceCode(line) || isWarning(words)) {
      result.warnings.emplace_back(line);
      continue;
    }
    raise(result.registers, words, " registers");
    raise(result.stackBytes, words, " stack,");
    raise(result.stackBytes, words, " bytes stack frame");
    raise(result.stackBytes, words, " bytes cumulative stack size");
    raise(result.spillStoreBytes, words, " bytes spill stores");
    raise(result.spillLoadBytes, words, " bytes spill loads");
    raise(result.localBytes, words, " bytes lmem");
  }
  return result;
}

}  // namespace fattn::cuda
