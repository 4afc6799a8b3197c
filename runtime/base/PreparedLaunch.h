// SPDX-License-Identifier: Apache-2.0
// A launch that a thread may make again: its arguments already lie where the device's driver takes them.
#ifndef FATTN_RUNTIME_BASE_PREPAREDLAUNCH_H
#define FATTN_RUNTIME_BASE_PREPAREDLAUNCH_H

#include <array>
#include <cstddef>
#include <cstdint>

#include "fattn/Device.h"

namespace fattn {

/// Another address for a pointer among the arguments: the slot, and what it holds now.
struct NewAddress {
  std::size_t slot;
  std::uint64_t address;
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
