// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-tune/Ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tools/common/CommandLine.h"

namespace fattn::tuner {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 31;

[[noreturn]] void fail(const std::string& option, const std::string& text, const std::string& expected) {
  throw tool::UsageError{fmt::format("{} '{}': {}", option, text.substr(0, 60), expected), ""};
}

template <typename Number>
bool parse(const std::string& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::int64_t parseNumber(const std::string& text, const std::string& option) {
  std::string digits = text;
  int shift = 0;
  if (!digits.empty()) {
    if (digits.back() == 'k' || digits.back() == 'K') shift = 10;
    if (digits.back() == 'm' || digits.back() == 'M') shift = 20;
    if (shift != 0) digits.pop_back();
  }
  std::int64_t value = 0;
  if (!parse(digits, value) || value < 1 || value >= kMost >> shift)
    fail(option, text, "expected a number from 1 to 2147483647, for example 1000 or 16k");
  return value << shift;
}

std::vector<std::int64_t> parseNumbers(const std::string& text, const std::string& option) {
  std::vector<std::int64_t> numbers;
  for (const std::string& item : tool::split(text, ',')) {
    const std::size_t dots = item.find("..");
    if (dots == std::string::npos) {
      numbers.push_back(parseNumber(item, option));
      continue;
    }
    const std::int64_t first = parseNumber(item.substr(0, dots), option), last = parseNumber(item.substr(dots + 2), option);
    if (first > last) fail(option, item, "a range goes from the smaller to the larger number");
    for (std::int64_t at = first; at < last; at *= 2) numbers.push_back(at);
    numbers.push_back(last);
  }
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  return numbers;
}

double parseSeconds(const std::string& text, const std::string& option) {
  std::string digits = text;
  double unit = 1;
  if (!digits.empty() && (digits.back() == 's' || digits.back() == 'm' || digits.back() == 'h')) {
    unit = digits.back() == 's' ? 1 : digits.back() == 'm' ? 60 : 3600;
    digits.pop_back();
  }
  double value = 0;
  if (!parse(digits, value) || !(value > 0) || value * unit > 1e6) fail(option, text, "expected a time, for example 90, 120s or 2m");
  return value * unit;
}

}  // namespace fattn::tuner
