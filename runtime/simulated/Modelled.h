// SPDX-License-Identifier: Apache-2.0
// What the model of time says of a launch, beside the time: for tools that show it.
#ifndef FATTN_RUNTIME_SIMULATED_MODELLED_H
#define FATTN_RUNTIME_SIMULATED_MODELLED_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fattn/Device.h"

namespace fattn::simulated {

/// An instruction at which waves stood, waiting for operands, for a unit, for memory, or for each other.
struct Stall {
  std::uint64_t address = 0;  ///< from the kernel's entry
  std::string text;
  double waves = 0;  ///< waves of a compute unit that stand there at a time, on average
};

struct ModelledLaunch {
  std::string kernel;
  double us = 0;                 ///< of the launch
  double memoryUs = 0;           ///< that memory takes to move all operands once: the least
  int registers = 0, waves = 0;  ///< of a lane; of a workgroup
  std::int64_t ldsBytes = 0, scratchBytes = 0;
  int resident = 0;  ///< workgroups that a compute unit holds at once
  /// Shares of the time in which units of a compute unit are busy, in a workgroup of the middle of the grid.
  double matrix = 0, vector = 0, local = 0, global = 0;
  std::vector<Stall> stalls;  ///< those where most waves stand, most first
};

/// Of the last launch on a device "modelled:..."; nullptr where there was none, and of other devices. Thread-safe.
std::shared_ptr<const ModelledLaunch> lastModelled(Device& device);

}  // namespace fattn::simulated

#endif
