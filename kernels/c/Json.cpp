// SPDX-License-Identifier: Apache-2.0
#include "kernels/c/Json.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace fattn::kernels::json {

[[noreturn]] void fail(const std::string& constraint, std::string hint) {
  throw Error(ErrorCode::InvalidArgument, "configuration: " + constraint, std::move(hint));
}

// Bytes that are no UTF-8 must not end the report of an error.
std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// The value as JSON spells it, cut where it is long: for messages.
std::string quote(const Json& value) {
  constexpr std::size_t longest = 60;
  std::string text = dump(value);
  if (text.size() <= longest) return text;
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // not inside a character
  return text.substr(0, end) + "...";
}

// The library's printer, which messages use, takes stack for each level.
constexpr int kDeepest = 16;
constexpr std::size_t kMostKeys = 64;

/// nlohmann's parser keeps the last of two equal keys, which would hide a mistake; this sees them all.
Json parseJson(std::string_view text, const std::string& example) {
  std::vector<std::vector<std::string>> open;  // the keys of each object that has begun
  auto watch = [&open](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDeepest) fail("it is nested deeper than any configuration is");
    if (event == Json::parse_event_t::object_start) {
      open.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      open.pop_back();
    } else if (event == Json::parse_event_t::key) {
      auto& keys = open.back();
      const auto& key = parsed.get_ref<const std::string&>();
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) fail("the key " + quote(parsed) + " is given twice");
      if (keys.size() <= kMostKeys) keys.push_back(key);  // an object with more has an unknown one
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::exception& error) {
    std::string what = error.what();  // "[json.exception.parse_error.101] parse error at line 1, column 5: ..."
    if (std::size_t prefix = what.find("] "); prefix != std::string::npos) what.erase(0, prefix + 2);
    std::ranges::replace_if(
        what, [](char c) { return (static_cast<unsigned char>(c) & 0x80) != 0; }, '?');  // it quotes what may be no UTF-8
    fail("not valid JSON: " + what, example);
  }
}

std::int64_t integerOf(std::string_view key, const Json& value) {
  if (!value.is_number_integer()) fail(std::string(key) + " is " + quote(value) + "; it must be an integer");
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)
    fail(std::string(key) + " is " + quote(value) + "; it does not fit 64 bits");
  return value.get<std::int64_t>();
}

const std::string& textOf(std::string_view key, const Json& value) {
  if (!value.is_string()) fail(std::string(key) + " is " + quote(value) + "; it must be a string");
  return value.get_ref<const std::string&>();
}

/// The number of a member of `object`. 0 means "not chosen" or "not known" in C++; in JSON one leaves the key out.
std::int32_t countOf(const std::string& object, const std::string& key, const Json& number, const std::string& otherwise) {
  std::int64_t wanted = integerOf(object + "." + key, number);
  if (wanted < 1 || wanted > std::numeric_limits<std::int32_t>::max())
    fail(object + "." + key + " is " + quote(number) + "; it must be at least 1 and fit 32 bits", "leave " + key + " out " + otherwise);
  return static_cast<std::int32_t>(wanted);
}

}  // namespace fattn::kernels::json
