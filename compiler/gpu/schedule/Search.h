// SPDX-License-Identifier: Apache-2.0
// The schedule search: enumerate, drop what does not fit, simulate, keep the best few for the tuner to measure. Where there are too many to
// enumerate, a walk over neighbours looks at the most promising ones.
#ifndef FATTN_COMPILER_GPU_SCHEDULE_SEARCH_H
#define FATTN_COMPILER_GPU_SCHEDULE_SEARCH_H

#include <vector>

#include "compiler/gpu/schedule/Resources.h"
#include "compiler/gpu/schedule/Simulator.h"

namespace fattn::gpu {

struct SearchOptions {
  int best = 8;                   ///< schedules to keep
  bool turns = false;             ///< groups issue their dots one after the other
  int stages = 2;                 ///< 1 to kMaxStages
  std::size_t limit = 10000;      ///< schedules to enumerate at most; where there are more, a walk looks at a part of them
  std::size_t walk = 2000;        ///< schedules that a walk looks at before it ends
  std::size_t simulations = 300;  ///< of all groups, before a walk ends
  bool exhaustive = false;        ///< simulate everything, also what cannot be among the best; for tests
  Overheads overheads = {};
};

/// A schedule and what the model says of it. Cycles are those of a trip of all groups.
struct Candidate {
  Schedule schedule = {};
  Resources resources = {};
  double alone = 0;     ///< cycles of a single group, which has nobody to fill its gaps
  double cycles = 0;    ///< with the overheads
  double stressed = 0;  ///< with stressed ones
  /// What is compared first, rounded to whole cycles: the mean of the two. Then the instructions a schedule adds (moves), then
  /// alone, late stages, registers.
  double score() const { return (cycles + stressed) / 2; }
};

struct SearchResult {
  std::vector<Candidate> best = {};  ///< the best one first
  std::size_t legal = 0;             ///< steady states, or how many of them a walk looked at
  std::size_t fitting = 0;           ///< of them, within the limits of registers and shared memory
  std::size_t simulated = 0;         ///< of them, with all groups; the others cannot be among the best
  bool complete = true;              ///< false: a walk looked at a part of them
  double bound = 0;                  ///< cycles a trip of the busiest unit
  Unit busiest = Unit::Tensor;
};

/// Throws InvalidArgument for options out of range and Unsupported where nothing fits, or nothing that a walk looked at, saying what the
/// smallest schedule needs.
SearchResult search(const CostedLoop& loop, const SearchOptions& options = {});

/// What the model says of one schedule, which may need more than the limits. Throws InvalidArgument where the groups of this
/// schedule would wait for each other for ever.
Candidate evaluate(const CostedLoop& loop, const Schedule& schedule, const SearchOptions& options = {});

}  // namespace fattn::gpu

#endif
