// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/schedule/OrderWords.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace fattn::gpu {
namespace {

/// The number in "waves2"; nothing where the word is another one.
std::optional<std::int64_t> wavesOf(std::string_view word) {
  constexpr std::string_view kName = "waves";
  if (!word.starts_with(kName)) return std::nullopt;
  word.remove_prefix(kName.size());
  if (word.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  if (std::from_chars(word.data(), word.data() + word.size(), number).ec == std::errc::result_out_of_range) return INT64_MAX;
  return number;
}

/// Whether it is one of the words.
bool note(std::string_view word, OrderWords& words) {
  constexpr std::pair<std::string_view, bool OrderWords::*> kFlags[] = {
      {"owners", &OrderWords::owners},   {"pairs", &OrderWords::pairs},     {"persistent", &OrderWords::persistent},
      {"dynamic", &OrderWords::dynamic}, {"cluster", &OrderWords::cluster}, {"dies", &OrderWords::dies}};
  for (const auto& [name, flag] : kFlags)
    if (word == name) return words.*flag = true;
  const std::optional<std::int64_t> waves = wavesOf(word);
  if (waves) words.waves = std::max(words.waves.value_or(0), *waves);
  return waves.has_value();
}

}  // namespace

OrderWords takeWords(std::string& order) {
  OrderWords words;
  const auto trim = [&] { order.resize(order.find_last_not_of(' ') + 1); };
  for (trim(); !order.empty(); trim()) {
    const std::size_t begin = order.rfind(' ') + 1;
    if (!note(std::string_view(order).substr(begin), words)) break;
    order.resize(begin);
  }
  return words;
}

}  // namespace fattn::gpu
