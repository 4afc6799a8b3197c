// SPDX-License-Identifier: Apache-2.0
// fattn-tune run: one problem after the other, within one budget.
#ifndef FATTN_TOOLS_FATTN_TUNE_RUN_H
#define FATTN_TOOLS_FATTN_TUNE_RUN_H

#include "tools/fattn-tune/Options.h"

namespace fattn::tuner {

/// Returns the exit code. Throws Error.
int run(const Options& options);

}  // namespace fattn::tuner

#endif
