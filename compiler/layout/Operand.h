// SPDX-License-Identifier: Apache-2.0
// The tiles of a matrix instruction.
#ifndef FATTN_COMPILER_LAYOUT_OPERAND_H
#define FATTN_COMPILER_LAYOUT_OPERAND_H

#include <cstdint>

namespace fattn::layout {

/// A is m x k, B is k x n, C is m x n.
enum class Operand : std::uint8_t { A, B, C };

}  // namespace fattn::layout

#endif
