// SPDX-License-Identifier: Apache-2.0
// Draws layouts: which lane and register holds which element of a tile, or where each vector lies in shared memory.
#ifndef FATTN_COMPILER_LAYOUT_DRAW_H
#define FATTN_COMPILER_LAYOUT_DRAW_H

#include "compiler/layout/Named.h"

namespace fattn::layout {

/// One table, ready to be written as text or as SVG.
struct Drawing {
  std::string title, legend;
  std::vector<std::string> columns, rows;       ///< headings
  std::vector<std::vector<std::string>> cells;  ///< by row
  std::vector<std::vector<int>> colours;        ///< what of `shades` a cell has
  int shades = 32;
};

/// Tiles of one or two dimensions; at most so many rows and columns of elements (0: all).
Drawing draw(const NamedLayout& layout, std::int64_t rows = 0, std::int64_t columns = 0);

std::string text(const Drawing& drawing);
std::string svg(const Drawing& drawing);

}  // namespace fattn::layout

#endif
