// SPDX-License-Identifier: Apache-2.0
// What a model of time says of a kernel for a chip of AMD's: how long a launch takes, which units are busy, where waves wait.
#ifndef FATTN_TOOLS_FATTN_DUMP_TIME_H
#define FATTN_TOOLS_FATTN_DUMP_TIME_H

#include "tools/fattn-dump/Options.h"
#include "tools/fattn-dump/Stages.h"

namespace fattn::dump {

/// The name of the stage that timeStage() writes.
inline constexpr std::string_view kTimeStage = "time";

/// Compiles the forward or the template that the options name, and runs samples of a launch on operands of the shape that it calls typical.
/// Throws Error{Unsupported} for a file, whose operands nobody knows.
Stage timeStage(const Options& options, const Compilation& compilation);

}  // namespace fattn::dump

#endif
