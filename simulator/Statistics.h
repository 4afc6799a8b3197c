// SPDX-License-Identifier: Apache-2.0
// What a launch has executed, counted.
#ifndef FATTN_SIMULATOR_STATISTICS_H
#define FATTN_SIMULATOR_STATISTICS_H

#include <array>
#include <cstdint>
#include <string_view>

#include "simulator/Instruction.h"

namespace fattn::simulator {

struct Statistics {
  std::array<std::uint64_t, kCategories> instructions{};  ///< of waves, by Category
  /// Accesses of local memory in passes: 32 banks (64 for the wide loads of gfx950) of 4 bytes serve as many consecutive lanes at a time as
  /// need all banks once; a pass takes from each bank one dword. `minimalPasses` is without conflicts.
  std::uint64_t ldsPasses = 0, ldsMinimalPasses = 0;
  std::uint64_t barriers = 0;     ///< that workgroups passed
  std::uint64_t globalBytes = 0;  ///< that loads and stores of all lanes ask for, hits in caches or not

  std::uint64_t of(Category category) const { return instructions[static_cast<std::size_t>(category)]; }
  std::uint64_t total() const;
  void add(const Statistics& other);
};

/// "vector", "matrix" ...
std::string_view name(Category category);

}  // namespace fattn::simulator

#endif
