// SPDX-License-Identifier: Apache-2.0
#include "tests/random/Refusals.h"

#include <algorithm>
#include <array>
#include <regex>

namespace fattn::random {
namespace {

/// Parts of kinds. What compiles again leaves this list.
constexpr std::array<std::string_view, 0> kKnown = {};

}  // namespace

std::string kindOf(std::string_view message) {
  std::string text(message.substr(0, message.find('\n')));
  static const std::regex target("^the kernel could not be compiled for [^ ]+: "),
      quoted("'((tensor|!tile)[^']*|b?f[0-9]+(E[0-9]M[0-9](FN)?)?|i[0-9]+)'"), number("[0-9]+"), sizes("N(x[N?])+");
  text = std::regex_replace(text, target, "");
  text = std::regex_replace(text, quoted, "TYPE");
  text = std::regex_replace(text, number, "N");
  text = std::regex_replace(text, sizes, "SIZE");
  return text.substr(0, 200);
}

bool isKnownRefusal(std::string_view message) {
  std::string kind = kindOf(message);
  return std::ranges::any_of(kKnown, [&](std::string_view part) { return kind.find(part) != std::string::npos; });
}

}  // namespace fattn::random
