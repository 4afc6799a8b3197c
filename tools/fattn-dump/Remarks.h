// SPDX-License-Identifier: Apache-2.0
// What machine code costs, in a sentence a source line.
#ifndef FATTN_TOOLS_FATTN_DUMP_REMARKS_H
#define FATTN_TOOLS_FATTN_DUMP_REMARKS_H

#include <optional>
#include <string>

#include "tools/fattn-dump/Facts.h"
#include "tools/fattn-dump/Stages.h"

namespace fattn::dump {

/// Lines "FILE:LINE: 8 loads of 16 bytes a thread from global memory", in the order of the sources, then lines "kernel: ..." about
/// occupancy, registers and whatever concerns the kernel as a whole. The compilation has line tables.
std::string remarksOf(const Options& options, const Compilation& compilation, const std::optional<Usage>& usage);

}  // namespace fattn::dump

#endif
