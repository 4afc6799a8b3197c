// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cache/Schema.h"

#include <algorithm>
#include <map>
#include <regex>

namespace fattn::cache::test {
namespace {

using nlohmann::json;

bool isOfType(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "number") return value.is_number();
  if (type == "integer") return value.is_number_integer();
  return false;
}

std::string member(std::string path, const std::string& name) { return path.append("/").append(name); }

class Validator {
 public:
  explicit Validator(const json& root) : root_(root) {}

  std::string check(const json& schema, const json& value, const std::string& path) {
    for (const auto& [keyword, rule] : schema.items()) {
      if (keyword.starts_with("$") && keyword != "$ref") continue;
      if (keyword == "title" || keyword == "description") continue;
      std::string found = applies(schema, keyword, rule, value, path);
      if (!found.empty()) return found;
    }
    return "";
  }

 private:
  std::string applies(const json& schema, const std::string& keyword, const json& rule, const json& value, const std::string& path) {
    auto unless = [&](bool holds) { return holds ? "" : path + ": " + keyword + " " + rule.dump(); };
    if (keyword == "$ref") return check(root_.at(json::json_pointer(rule.get<std::string>().substr(1))), value, path);
    if (keyword == "type") return unless(isOfType(value, rule));
    if (keyword == "const") return unless(value == rule);
    if (keyword == "enum") return unless(std::ranges::find(rule, value) != rule.end());
    if (keyword == "oneOf") {
      auto fits = [&](const json& option) { return check(option, value, path).empty(); };
      return unless(std::ranges::count_if(rule, fits) == 1);
    }
    if (keyword == "pattern")
      return unless(!value.is_string() || std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>())));
    if (keyword == "minimum") return unless(!value.is_number() || value >= rule);
    if (keyword == "maximum") return unless(!value.is_number() || value <= rule);
    if (keyword == "exclusiveMinimum") return unless(!value.is_number() || value > rule);
    if (keyword == "maxLength") return unless(!value.is_string() || value.get<std::string>().size() <= rule.get<std::size_t>());
    if (keyword == "maxItems") return unless(!value.is_array() || value.size() <= rule.get<std::size_t>());
    if (keyword == "maxProperties") return unless(!value.is_object() || value.size() <= rule.get<std::size_t>());
    if (keyword == "required")
      return unless(!value.is_object() || std::ranges::all_of(rule, [&](const json& n) { return value.contains(n.get<std::string>()); }));
    if (keyword == "items") return value.is_array() ? each(rule, value, path) : "";
    if (keyword == "properties") return properties(rule, value, path);
    if (keyword == "additionalProperties") return additional(schema, rule, value, path);
    if (keyword == "propertyNames") {
      for (const auto& [name, child] : value.items())
        if (std::string found = check(rule, name, member(path, name)); !found.empty()) return found;
      return "";
    }
    return path + ": the validator does not know " + keyword;
  }

  std::string each(const json& rule, const json& value, const std::string& path) {
    for (std::size_t i = 0; i < value.size(); ++i)
      if (std::string found = check(rule, value[i], member(path, std::to_string(i))); !found.empty()) return found;
    return "";
  }

  std::string properties(const json& rule, const json& value, const std::string& path) {
    for (const auto& [name, schema] : rule.items())
      if (value.is_object() && value.contains(name))
        if (std::string found = check(schema, value[name], member(path, name)); !found.empty()) return found;
    return "";
  }

  std::string additional(const json& schema, const json& rule, const json& value, const std::string& path) {
    if (!value.is_object()) return "";
    for (const auto& [name, child] : value.items()) {
      if (schema.contains("properties") && schema["properties"].contains(name)) continue;
      if (rule.is_boolean()) return member(path, name) + ": additionalProperties false";
      if (std::string found = check(rule, child, member(path, name)); !found.empty()) return found;
    }
    return "";
  }

  const json& root_;
};

}  // namespace

std::string validate(const json& schema, const json& value) { return Validator(schema).check(schema, value, ""); }

}  // namespace fattn::cache::test
