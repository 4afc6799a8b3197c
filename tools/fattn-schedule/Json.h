// SPDX-License-Identifier: Apache-2.0
// Loop models as JSON. docs/schedule.md describes the format.
#ifndef FATTN_TOOLS_FATTN_SCHEDULE_JSON_H
#define FATTN_TOOLS_FATTN_SCHEDULE_JSON_H

#include <string>

#include "compiler/gpu/schedule/LoopModel.h"

namespace fattn::schedule {

/// Throws InvalidArgument: names the place in the document ("nodes[2].dot.n") and what would be legal there. An unknown field is an
/// error, so that a misspelt figure is not taken for zero.
gpu::LoopModel parseLoop(const std::string& text);

}  // namespace fattn::schedule

#endif
