// SPDX-License-Identifier: Apache-2.0
// What a compiled kernel takes of the machine, in words.
#ifndef FATTN_TOOLS_FATTN_DUMP_FACTS_H
#define FATTN_TOOLS_FATTN_DUMP_FACTS_H

#include <optional>
#include <string>
#include <vector>

#include "tools/fattn-dump/Sass.h"
#include "tools/fattn-dump/Stages.h"

namespace fattn::dump {

enum class Tone { Plain, Good, Bad };

struct Fact {
  std::string label, value, note;
  Tone tone = Tone::Plain;
};

/// How many programs of a kernel an SM holds at once, and what limits them.
struct Occupancy {
  int programs = 0, warps = 0, maxWarps = 0;
  std::string limit;  ///< "registers", "shared memory" or "warps"
};

/// From the machine table. Throws as gpu::findTarget().
Occupancy occupancyOf(const std::string& target, int threads, int registers, long sharedBytes);

/// Registers, memory, spills and occupancy, as far as they are known: without ptxas a GPU's registers are not.
std::vector<Fact> collectFacts(const Options& options, const Compilation& compilation, const std::optional<Usage>& usage);

}  // namespace fattn::dump

#endif
