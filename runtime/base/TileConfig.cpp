// SPDX-License-Identifier: Apache-2.0
#include "fattn/TileConfig.h"

#include <array>
#include <charconv>

#include "fattn/Error.h"

namespace fattn {
namespace {

// One row a choice: everything else in this file is derived from the table.
struct Choice {
  std::string_view key;
  std::int32_t TileConfig::* member;
  bool block;         // block sizes are 1, 2, 4 or a multiple of 8
  std::int32_t last;  // largest legal value; the smallest is 1
};

constexpr std::array<Choice, 6> kChoices = {{{"BLOCK_M", &TileConfig::block_m, true, 1024},
                                             {"BLOCK_N", &TileConfig::block_n, true, 1024},
                                             {"BLOCK_K", &TileConfig::block_k, true, 1024},
                                             {"STAGES", &TileConfig::stages, false, 8},
                                             {"WARPS", &TileConfig::warps, false, 32},
                                             {"SCHEDULE", &TileConfig::schedule, false, 64}}};

bool legal(const Choice& choice, std::int64_t value) {
  if (value < 1 || value > choice.last) return false;
  return !choice.block || value == 1 || value == 2 || value == 4 || value % 8 == 0;
}

std::string legalText(const Choice& choice) {
  std::string last = std::to_string(choice.last);
  return choice.block ? "1, 2, 4 and multiples of 8 up to " + last : "1 to " + last;
}

std::string legalKeys() {
  std::string keys;
  for (const Choice& choice : kChoices) keys.append(keys.empty() ? "" : ", ").append(choice.key);
  return keys;
}

[[noreturn]] void failConfig(std::string constraint, std::string hint) {
  throw Error(ErrorCode::InvalidArgument, "tile configuration: " + std::move(constraint), std::move(hint));
}

[[noreturn]] void failValue(const Choice& choice, std::string_view value) {
  std::string key(choice.key);
  failConfig(key + " is " + std::string(value) + "; legal values are " + legalText(choice), "leave " + key + " out to let fattn choose");
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

void parseItem(std::string_view item, TileConfig& config) {
  std::size_t equals = item.find('=');
  if (equals == std::string_view::npos)
    failConfig("'" + std::string(item) + "' is not of the form NAME=VALUE", "write for example BLOCK_M=128,BLOCK_N=64");
  std::string_view key = trim(item.substr(0, equals)), value = trim(item.substr(equals + 1));
  for (const Choice& choice : kChoices) {
    if (choice.key != key) continue;
    std::int32_t number = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || !legal(choice, number))
      failValue(choice, "'" + std::string(value) + "'");
    if (config.*choice.member != 0) failConfig(std::string(key) + " is given twice", "name each choice once");
    config.*choice.member = number;
    return;
  }
  failConfig("unknown name '" + std::string(key) + "'", "the legal names are " + legalKeys());
}

}  // namespace

TileConfig TileConfig::parse(std::string_view text) {
  TileConfig config;
  if (trim(text).empty()) return config;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t end = std::min(text.find(',', begin), text.size());
    parseItem(trim(text.substr(begin, end - begin)), config);
    begin = end + 1;
  }
  return config;
}

std::string TileConfig::toString() const {
  std::string text;
  for (const Choice& choice : kChoices)
    if (this->*choice.member != 0)
      text.append(text.empty() ? "" : ",").append(choice.key).append("=").append(std::to_string(this->*choice.member));
  return text;
}

void TileConfig::validate() const {
  for (const Choice& choice : kChoices) {
    std::int32_t value = this->*choice.member;
    if (value != 0 && !legal(choice, value)) failValue(choice, std::to_string(value));
  }
}

TileConfig TileConfig::withDefaults(const TileConfig& defaults) const {
  TileConfig result = *this;
  for (const Choice& choice : kChoices)
    if (result.*choice.member == 0) result.*choice.member = defaults.*choice.member;
  TileConfig same = defaults;
  same.schedule = result.schedule;
  if (schedule == 0 && result != same) result.schedule = 0;
  return result;
}

}  // namespace fattn
