// SPDX-License-Identifier: Apache-2.0
#include "fattn/Template.h"

namespace fattn {
namespace {

template <typename T>
constexpr std::string_view kKind = std::is_same_v<T, bool>           ? "a flag"
                                   : std::is_same_v<T, std::int64_t> ? "an integer"
                                                                     : "a text";

template <typename T>
const T& valueOf(const Parameters& parameters, std::string_view name) {
  const auto found = parameters.all().find(name);
  if (found != parameters.all().end())
    if (const T* value = std::get_if<T>(&found->second)) return *value;
  throw Error(ErrorCode::InvalidArgument, "there is no parameter " + std::string(name) + " that is " + std::string(kKind<T>),
              "the parameters are " + parameters.toString());
}

}  // namespace

bool Parameters::flag(std::string_view name) const { return valueOf<bool>(*this, name); }
std::int64_t Parameters::integer(std::string_view name) const { return valueOf<std::int64_t>(*this, name); }
const std::string& Parameters::text(std::string_view name) const { return valueOf<std::string>(*this, name); }

DType Parameters::dtype(std::string_view name) const {
  if (std::optional<DType> type = parseDType(text(name))) return *type;
  throw Error(ErrorCode::InvalidArgument, std::string(name) + " is \"" + text(name) + "\"; it must name an element type",
              "f32, f16, bf16, f8e4m3, f8e5m2, i1, i8, i32 or i64");
}

std::string Parameters::toString() const {
  std::string text;
  for (const auto& [name, value] : values_) {
    text += (text.empty() ? "" : ",") + name + "=";
    if (const bool* flag = std::get_if<bool>(&value)) text += *flag ? "true" : "false";
    if (const auto* integer = std::get_if<std::int64_t>(&value)) text += std::to_string(*integer);
    if (const auto* words = std::get_if<std::string>(&value)) text += *words;
  }
  return text;
}

}  // namespace fattn
