// SPDX-License-Identifier: Apache-2.0
// Reads what LinearLayout::str() writes.
#ifndef FATTN_COMPILER_LAYOUT_PARSE_H
#define FATTN_COMPILER_LAYOUT_PARSE_H

#include "compiler/layout/LinearLayout.h"

namespace fattn::layout {

/// "register: 1 -> (0,1), x5 along dim1; lane: 1 -> (1,0) | dim0: 2, dim1: 10". Repeats of different inputs come in the order of the
/// text; those that do not commute cannot be told apart from it otherwise. Throws Error{InvalidArgument} naming what was expected where.
LinearLayout parseLayout(std::string_view text);

}  // namespace fattn::layout

#endif
