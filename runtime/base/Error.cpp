// SPDX-License-Identifier: Apache-2.0
#include "fattn/Error.h"

#include <array>
#include <utility>

namespace fattn {

std::string_view name(ErrorCode code) {
  static constexpr std::array<std::string_view, 9> names = {"invalid-argument", "unsupported", "trace-error",
                                                            "compile-error",    "no-device",   "device-error",
                                                            "out-of-memory",    "io-error",    "internal"};
  return names[static_cast<std::size_t>(code)];
}

Error::Error(ErrorCode code, std::string constraint, std::string hint)
    : std::runtime_error(hint.empty() ? constraint : constraint + "\n  hint: " + hint),
      code_(code),
      constraint_(std::move(constraint)),
      hint_(std::move(hint)) {}

}  // namespace fattn
