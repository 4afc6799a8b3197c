// SPDX-License-Identifier: Apache-2.0
// Draws of a launch's arguments that lead loops through all small numbers of trips.
#ifndef FATTN_COMPILER_GPU_CHECK_SCENARIOS_H
#define FATTN_COMPILER_GPU_CHECK_SCENARIOS_H

#include <set>

#include "compiler/gpu/check/Execution.h"

namespace fattn::check {

class Scenarios {
 public:
  /// `most`: of trips that are worth trying. `emitted` says which programs a block takes.
  Scenarios(const Program& program, std::int64_t most, const Program& emitted)
      : program(program), most(most), repeats(emitted.repeats), dynamic(emitted.dynamic) {}
  Scenario draw(int number) const;
  /// Whether a run with so many trips of each loop shows something that no earlier one did.
  bool isNew(const std::vector<std::int64_t>& trips);

 private:
  const Program& program;
  std::int64_t most;
  std::optional<tile::Axis> repeats;
  bool dynamic;
  std::set<std::pair<std::size_t, std::int64_t>> seen;  ///< loops and their trips
};

}  // namespace fattn::check

#endif
