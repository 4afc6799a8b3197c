// SPDX-License-Identifier: Apache-2.0
// Numbers that a run by hand gives to a test: how many cases it draws, and which.
#ifndef FATTN_TESTS_SUPPORT_ENVIRONMENT_H
#define FATTN_TESTS_SUPPORT_ENVIRONMENT_H

#include <cstdint>
#include <cstdlib>

namespace fattn::test {

/// The value of an environment variable, or `otherwise` where it is not set.
inline std::uint64_t fromEnvironment(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace fattn::test

#endif
