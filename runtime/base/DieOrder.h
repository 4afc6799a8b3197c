// SPDX-License-Identifier: Apache-2.0
// Which program each block of a launch takes on a chip of several dies.
//
// Each die has a cache of its own, and the device deals blocks to dies in turns: block b runs on die b % dies. So blocks that are
// neighbours never share a cache. Here each die gets programs that follow each other instead, 20 blocks on 8 dies:
//
//   block    0 8 16 | 1 9 17 | 2 10 18 | 3 11 19 | 4 12 | 5 13 | 6 14 | 7 15
//   program  0 1  2 | 3 4  5 | 6  7  8 | 9 10 11 | 12 13 | ...
//
// Blocks are numbered along x first, as the device does; programs along an axis that may be another one. The compiler emits the same
// formula (compiler/gpu/passes/programs/GatherPrograms.cpp), and a test holds the two together.
#ifndef FATTN_RUNTIME_BASE_DIEORDER_H
#define FATTN_RUNTIME_BASE_DIEORDER_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace fattn {

struct DieOrder {
  using Place = std::array<std::uint32_t, 3>;

  std::uint8_t dies = 1;   ///< 1: each block takes the program of its own place
  std::uint8_t first = 0;  ///< the axis along which programs are numbered first; 0 is x

  /// Launches of so many blocks and more leave each block its own place: the emitted numbers have 32 bits.
  static constexpr std::uint64_t kTooMany = std::uint64_t{1} << 32;

  /// The axis that is numbered in this turn: `first`, then the others from x on.
  static constexpr std::size_t axisInTurn(std::size_t first, std::size_t turn) {
    return turn == 0 ? first : turn <= first ? turn - 1 : turn;
  }

  Place programOf(const Place& block, const Place& grid) const;
  /// The block that takes a program.
  Place blockOf(const Place& program, const Place& grid) const;

  bool operator==(const DieOrder&) const = default;
};

}  // namespace fattn

#endif
