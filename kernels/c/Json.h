// SPDX-License-Identifier: Apache-2.0
// JSON as the C interface reads and writes it: what is wrong is an Error{InvalidArgument} that names the key.
#ifndef FATTN_KERNELS_C_JSON_H
#define FATTN_KERNELS_C_JSON_H

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "fattn/Error.h"

namespace fattn::kernels::json {

using Json = nlohmann::ordered_json;

[[noreturn]] void fail(const std::string& constraint, std::string hint = "");
std::string dump(const Json& value);
/// The value as JSON spells it, cut where it is long: for messages.
std::string quote(const Json& value);

/// Refuses keys that are given twice; `example` is the hint where the text is no JSON.
Json parseJson(std::string_view text, const std::string& example);

std::int64_t integerOf(std::string_view key, const Json& value);
const std::string& textOf(std::string_view key, const Json& value);
/// The number of a member of `object`. 0 means "not chosen" or "not known" in C++; in JSON one leaves the key out.
std::int32_t countOf(const std::string& object, const std::string& key, const Json& number, const std::string& otherwise);

}  // namespace fattn::kernels::json

#endif
