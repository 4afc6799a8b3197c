// SPDX-License-Identifier: Apache-2.0
// What one access of shared memory costs whose addresses are known lane by lane. bankConflicts() (Shared.h) asks it for a layout's
// accesses.
#ifndef FATTN_COMPILER_LAYOUT_BANKCONFLICTS_H
#define FATTN_COMPILER_LAYOUT_BANKCONFLICTS_H

#include <cstdint>
#include <span>

#include "compiler/layout/Shared.h"

namespace fattn::layout {

/// How often the banks have to be read.
struct BankPasses {
  int passes = 0;
  int ideal = 0;  ///< one for every group of lanes served together
};

/// Of one access in which lane i moves `accessBytes` bytes, a power of two, at byte `addresses[i]`. Lanes that touch the same word share
/// it.
BankPasses passesOfAccess(std::span<const std::int64_t> addresses, int accessBytes, const Banks& banks = {});

/// How many groups of lanes are served one after the other.
int groupsServed(int lanes, int accessBytes, const Banks& banks);

}  // namespace fattn::layout

#endif
