// SPDX-License-Identifier: Apache-2.0
// Spans of time as rows of characters.
#ifndef FATTN_COMPILER_GPU_SCHEDULE_CANVAS_H
#define FATTN_COMPILER_GPU_SCHEDULE_CANVAS_H

#include <string>

namespace fattn::gpu {

/// `width` characters from `begin` to `end`. An empty row is made as wide first.
class Canvas {
 public:
  Canvas(double begin, double end, int width) : begin_(begin), scale_(width / (end - begin)), width_(width) {}

  /// `label` behind a bar, or as much of it as there is room for; then the filler.
  void draw(std::string& row, double from, double to, const std::string& label, char fill) const;
  void fill(std::string& row, double from, double to, char character) const;

 private:
  int column(double time) const;
  double begin_, scale_;
  int width_;
};

}  // namespace fattn::gpu

#endif
