// SPDX-License-Identifier: Apache-2.0
// What stops a kernel: thrown by the instruction that finds it.
#ifndef FATTN_SIMULATOR_FAULT_H
#define FATTN_SIMULATOR_FAULT_H

#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace fattn::simulator {

struct Fault {
  std::string message;           ///< what is wrong, as a sentence without the place
  std::uint64_t address = 0;     ///< of the instruction, relative to the kernel's entry
  std::string instruction = {};  ///< its disassembly
  std::array<std::uint32_t, 3> workgroup{};
  int wave = 0;
  int lane = -1;  ///< -1: no lane in particular

  /// "kernel+0x1c: buffer_store_dword v0, ...: workgroup (0, 0, 0), wave 1, lane 3: ..."
  std::string text() const;
};

/// What an instruction throws; the place is added where it is caught.
struct Violation {
  std::string message;
  int lane = -1;
};

[[noreturn]] void violate(std::string message, int lane = -1);

}  // namespace fattn::simulator

#endif
