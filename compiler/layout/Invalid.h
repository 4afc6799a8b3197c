// SPDX-License-Identifier: Apache-2.0
// What the sources of this folder share: the error of a layout that cannot be, and powers of two.
#ifndef FATTN_COMPILER_LAYOUT_INVALID_H
#define FATTN_COMPILER_LAYOUT_INVALID_H

#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "fattn/Error.h"

namespace fattn::layout {

[[noreturn]] inline void invalid(std::string constraint, std::string hint = "") {
  throw Error(ErrorCode::InvalidArgument, std::move(constraint), std::move(hint));
}

/// The largest power of two that divides `size`.
inline std::int64_t powerOfTwoIn(std::int64_t size) { return std::int64_t{1} << std::countr_zero(static_cast<std::uint64_t>(size)); }

}  // namespace fattn::layout

#endif
