// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/schedule/Canvas.h"

#include <algorithm>
#include <cmath>

namespace fattn::gpu {

int Canvas::column(double time) const { return static_cast<int>(std::lround(std::clamp((time - begin_) * scale_, -1e6, 1e6))); }

void Canvas::draw(std::string& row, double from, double to, const std::string& label, char fill) const {
  if (row.empty()) row.assign(width_, ' ');
  const int first = column(from), last = column(to);
  for (int x = std::max(first, 0); x < std::min(last, width_); ++x) {
    const int into = x - first;
    row[x] = into == 0 ? '|' : into - 1 < static_cast<int>(label.size()) ? label[into - 1] : fill;
  }
}

void Canvas::fill(std::string& row, double from, double to, char character) const {
  if (row.empty()) row.assign(width_, ' ');
  for (int x = std::max(column(from), 0); x < std::min(column(to), width_); ++x) row[x] = character;
}

}  // namespace fattn::gpu
