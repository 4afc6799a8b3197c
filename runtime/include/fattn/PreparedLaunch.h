// SPDX-License-Identifier: Apache-2.0
// A launch that a thread may make again: its arguments already lie where the device's driver takes them. fattn/Relaunch.h makes such
// launches.
#ifndef FATTN_PREPARED_LAUNCH_H
#define FATTN_PREPARED_LAUNCH_H

#include <array>
#include <cstddef>
#include <cstdint>

#include "fattn/Device.h"

namespace fattn {

/// Another address for a pointer among a launch's arguments.
struct NewAddress {
  std::size_t slot;       ///< the number of the argument
  std::uint64_t address;  ///< what it holds now; its remainder by 16 is that of before
};

/// Written by Device::tryLaunch() for Device::repeat(), in one thread. It keeps nothing alive: the module must live when it is repeated.
struct PreparedLaunch {
  static constexpr std::size_t kBytes = 1024;

  const Module* module = nullptr;  ///< null: there is no launch to repeat
  Grid grid{};                     ///< of blocks
  alignas(64) std::array<std::byte, kBytes> block{};
};

}  // namespace fattn

#endif
