// SPDX-License-Identifier: Apache-2.0
// fattn-tune run: one problem after the other, within one budget.
#ifndef FATTN_TOOLS_FATTN_TUNE_RUN_H
#define FATTN_TOOLS_FATTN_TUNE_RUN_H

#include <functional>

#include "tools/fattn-tune/Options.h"

namespace fattn::tuner {

/// Returns the exit code. Throws Error. The tuning goes on in a process of its own (runtime/tune/Watchdog.h), in which `reporting` calls
/// what it is given and makes an exit code of what that throws.
int run(const Options& options, const std::function<int(const std::function<int()>&)>& reporting);

}  // namespace fattn::tuner

#endif
