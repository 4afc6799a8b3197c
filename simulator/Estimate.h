// SPDX-License-Identifier: Apache-2.0
// How long a launch takes on a device, by the model of a compute unit (Timing.h), from a few of its workgroups.
#ifndef FATTN_SIMULATOR_ESTIMATE_H
#define FATTN_SIMULATOR_ESTIMATE_H

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "runtime/base/DieOrder.h"
#include "simulator/CodeObject.h"
#include "simulator/TimedCode.h"
#include "simulator/Timing.h"
#include "simulator/Trace.h"

namespace fattn::simulator {

/// Workgroups that a compute unit holds at once: as many as it has registers, local memory and places for waves. 0 where not even one fits.
int residentGroups(const Chip& chip, const Kernel& kernel, int waves);

/// Of one launch. The workgroups of samples() are to be executed, and each is handed to add(). What differs between workgroups is taken to
/// follow from their place along one dimension of the grid, as the length of a causal block's loop does.
class Estimate {
 public:
  using Place = DieOrder::Place;
  /// `code` is timedCode() of the object and outlives this. `order` is the one that the kernel's programs have.
  Estimate(const Chip& chip, const std::vector<TimedInstruction>& code, const Place& grid, int resident, DieOrder order = {});

  /// All of them where they are few, else some that are spread over the grid.
  const std::vector<Place>& samples() const { return samples_; }
  void add(const Trace& trace, const Place& place);

  /// Of the whole launch on the product that Pace names: workgroups go to dies in turns, and there to whichever compute unit has a place
  /// for one first.
  double microseconds() const;
  /// Of a sample in the middle of the grid, as often as a compute unit holds it.
  const Timing& timing() const { return timing_; }
  int resident() const { return resident_; }

 private:
  std::map<std::uint32_t, double> along(std::size_t dimension) const;
  std::size_t decisive() const;

  const Chip& chip_;
  const std::vector<TimedInstruction>& code_;
  Place grid_;
  DieOrder order_;
  int resident_;
  std::vector<Place> samples_;
  std::vector<std::pair<Place, double>> clocks_;  ///< of the samples' programs, each beside others of its kind
  Timing timing_;
};

}  // namespace fattn::simulator

#endif
