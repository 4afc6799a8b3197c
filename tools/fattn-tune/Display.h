// SPDX-License-Identifier: Apache-2.0
// How far a run is, on standard error: one line with a bar that is replaced on a terminal; elsewhere a line for each figure, which stands
// there only after the figure is on the disk.
#ifndef FATTN_TOOLS_FATTN_TUNE_DISPLAY_H
#define FATTN_TOOLS_FATTN_TUNE_DISPLAY_H

#include <string>

#include "runtime/tune/Search.h"

namespace fattn::tuner {

class Display {
 public:
  explicit Display(std::size_t problems);
  ~Display() { clear(); }
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  void begin(std::size_t problem, const std::string& title);
  void update(const tuning::Progress& progress);
  /// Erases the bar.
  void clear();

  /// The bar and what follows it, without the sequences that replace it: "[2/6] f16 d64 1x32x2048  [#####-----]  23/49  ETA 0:12  best
  /// ...".
  static std::string line(std::size_t problem, std::size_t problems, const std::string& title, const tuning::Progress& progress,
                          int columns);

 private:
  std::size_t problems_, problem_ = 0;
  std::string title_;
  bool bar_, shown_ = false;
  int columns_ = 80;
  double lastShown_ = -1;
};

}  // namespace fattn::tuner

#endif
