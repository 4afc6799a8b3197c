// SPDX-License-Identifier: Apache-2.0
// The accesses of memory in machine code's text, with the source line of each.
#ifndef FATTN_TOOLS_FATTN_DUMP_ACCESSES_H
#define FATTN_TOOLS_FATTN_DUMP_ACCESSES_H

#include <optional>
#include <vector>

#include "compiler/driver/Stage.h"
#include "compiler/layout/BankConflicts.h"

namespace fattn::dump {

/// What moves, as people say it. Spills are registers of the code generator's choice in memory of the thread's own.
enum class Move : std::uint8_t { Load, Store, Copy, Atomic, SharedLoad, SharedStore, SpillStore, SpillLoad, Boxes };

struct Access {
  Move move = Move::Load;
  int bytes = 0;                                  ///< that a thread moves; 0 for boxes, whose size a tensor map says
  std::optional<layout::BankPasses> banks = {};   ///< of an access of shared memory whose addresses follow from the thread's number
  std::optional<compiler::SourceLine> line = {};  ///< where the text says it
};

/// The accesses in PTX, in AMD's or x86-64's assembly ("s") or in SASS, in the order of the text; its line tables have been read
/// (readLineTables()). Of SASS and of x86-64 assembly only spills are listed; of SASS, as ptxas is the one to spill for NVIDIA.
std::vector<Access> accessesOf(const compiler::Stage& stage, const layout::Banks& banks);

}  // namespace fattn::dump

#endif
