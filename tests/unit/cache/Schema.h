// SPDX-License-Identifier: Apache-2.0
// A validator for the part of JSON Schema that our schemas use. A keyword it does not know is a violation, so that none is ignored.
#ifndef FATTN_TESTS_UNIT_CACHE_SCHEMA_H
#define FATTN_TESTS_UNIT_CACHE_SCHEMA_H

#include <nlohmann/json.hpp>
#include <string>

namespace fattn::cache::test {

/// "" or the first violation, as "path: rule".
std::string validate(const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace fattn::cache::test

#endif
