// SPDX-License-Identifier: Apache-2.0
// Launches of a kernel on simulated memory.
#ifndef FATTN_SIMULATOR_RUN_H
#define FATTN_SIMULATOR_RUN_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "simulator/CodeObject.h"
#include "simulator/Fault.h"
#include "simulator/Memory.h"
#include "simulator/Statistics.h"
#include "simulator/Trace.h"

namespace fattn::simulator {

struct LaunchOptions {
  /// Which wave of a workgroup runs first, up to its next barrier, then which ...
  enum class Order : std::uint8_t { Forward, Reversed, Random };
  Order order = Order::Forward;
  std::uint64_t seed = 0;                                ///< of the random order
  std::uint64_t mostInstructions = 100'000'000;          ///< of one wave; more is a fault: a program that does not end
  std::span<const std::array<std::uint32_t, 3>> only{};  ///< workgroups to run; all where there are none
  /// Called behind each workgroup with what it has executed and its place in the grid. May be empty: then nothing is noted.
  std::function<void(const Trace&, const std::array<std::uint32_t, 3>&)> traced{};
};

struct LaunchResult {
  std::optional<Fault> fault;  ///< the first one, which ended the launch; buffers are then half written
  Statistics statistics;
};

/// Runs all workgroups, or those that the options name, one after the other. `arguments` are the bytes of the kernel's explicit arguments,
/// as HIP takes them; hidden ones (numbers of blocks, sizes of a block) are filled in. `grid` counts workgroups, `block` threads. Throws
/// Error{InvalidArgument} where the launch itself is wrong: other bytes of arguments than the kernel has, a block it was not compiled for.
/// Launches with different memories may run at the same time.
LaunchResult launch(const CodeObject& object, std::string_view kernel, std::span<const std::byte> arguments,
                    std::array<std::uint32_t, 3> grid, std::array<std::uint32_t, 3> block, Memory memory,
                    const LaunchOptions& options = {});

}  // namespace fattn::simulator

#endif
