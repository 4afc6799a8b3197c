// SPDX-License-Identifier: Apache-2.0
#include "fattn/TileConfig.h"

#include <array>
#include <charconv>

#include "fattn/Error.h"

namespace fattn {
namespace {

// One row a number: all that this file says of numbers is derived from the table. The schedule is the one choice that is a text.
struct Choice {
  std::string_view key;
  std::int32_t TileConfig::* member;
  bool block;         // block sizes are 1, 2, 4 or a multiple of 8
  std::int32_t last;  // largest legal value; the smallest is 1
};

constexpr std::array<Choice, 5> kChoices = {{{"BLOCK_M", &TileConfig::block_m, true, 1024},
                                             {"BLOCK_N", &TileConfig::block_n, true, 16384},
                                             {"BLOCK_K", &TileConfig::block_k, true, 1024},
                                             {"STAGES", &TileConfig::stages, false, 8},
                                             {"WARPS", &TileConfig::warps, false, 32}}};
constexpr std::string_view kSchedule = "SCHEDULE";
constexpr std::size_t kLongestSchedule = 200;

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
  return keys.append(", ").append(kSchedule);
}

[[noreturn]] void failConfig(std::string constraint, std::string hint) {
  throw Error(ErrorCode::InvalidArgument, "tile configuration: " + std::move(constraint), std::move(hint));
}

[[noreturn]] void failValue(const Choice& choice, std::string_view value) {
  std::string key(choice.key);
  failConfig(key + " is " + std::string(value) + "; legal values are " + legalText(choice), "leave " + key + " out to let fattn choose");
}

[[noreturn]] void failSchedule(std::string_view value) {
  failConfig("SCHEDULE is '" + std::string(value) +
                 "'; a schedule is named by its text: names of the loop's nodes in the order of issue, each " +
                 "followed by its stage where that is not 0, such as A B1 a",
             "leave SCHEDULE out to let fattn choose");
}

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool nameCharacter(char c) { return letter(c) || c == '_' || (c >= '0' && c <= '9'); }

// Names, one blank between them: which nodes there are is known to the compiler only.
bool legalSchedule(std::string_view text) {
  if (text.empty() || text.size() > kLongestSchedule || text.back() == ' ') return false;
  bool begins = true;
  for (char c : text) {
    if (begins ? !letter(c) : c != ' ' && !nameCharacter(c)) return false;
    begins = c == ' ';
  }
  return true;
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
  if (key == kSchedule) {
    if (!legalSchedule(value)) failSchedule(value);
    if (!config.schedule.empty()) failConfig("SCHEDULE is given twice", "name each choice once");
    config.schedule = value;
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
  if (!schedule.empty()) text.append(text.empty() ? "" : ",").append(kSchedule).append("=").append(schedule);
  return text;
}

void TileConfig::validate() const {
  for (const Choice& choice : kChoices) {
    std::int32_t value = this->*choice.member;
    if (value != 0 && !legal(choice, value)) failValue(choice, std::to_string(value));
  }
  if (!schedule.empty() && !legalSchedule(schedule)) failSchedule(schedule);
}

TileConfig TileConfig::withDefaults(const TileConfig& defaults) const {
  TileConfig result = *this;
  for (const Choice& choice : kChoices)
    if (result.*choice.member == 0) result.*choice.member = defaults.*choice.member;
  TileConfig same = defaults;
  same.schedule.clear();
  if (schedule.empty() && result == same) result.schedule = defaults.schedule;
  return result;
}

}  // namespace fattn
