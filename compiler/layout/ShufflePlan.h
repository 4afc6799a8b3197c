// SPDX-License-Identifier: Apache-2.0
// Inside of Conversion.cpp: who holds what a destination needs, and the rounds of shuffles that bring it.
#ifndef FATTN_COMPILER_LAYOUT_SHUFFLEPLAN_H
#define FATTN_COMPILER_LAYOUT_SHUFFLEPLAN_H

#include "compiler/layout/Conversion.h"

namespace fattn::layout {

enum class Movement : std::uint8_t {
  Registers,  ///< each lane has what it needs
  Lanes,      ///< each warp has what it needs
};

/// The map S of Conversion.h by its parts, column by column: from a register, lane or warp bit of the destination to the register and
/// lane of the source (the warp stays the same).
struct HolderMap {
  f2::Columns registerToRegister, laneToRegister, warpToRegister;
  f2::Columns registerToLane, laneToLane, warpToLane;
};

/// Nothing if some element would have to move further.
std::optional<HolderMap> findHolders(const LinearLayout& source, const LinearLayout& destination, Movement movement);

struct ShuffleRounds {
  int word = 1;
  std::vector<ShuffleRound> rounds;
};
/// Nothing if lanes would have to send different registers to several readers at once, which only copies in the source can cause.
std::optional<ShuffleRounds> shuffleRounds(const HolderMap& holders, int elementBits);

}  // namespace fattn::layout

#endif
