// SPDX-License-Identifier: Apache-2.0
// Runs a kernel beside attention on random operands, checks it against float64 and measures it.
#ifndef FATTN_TOOLS_FATTN_RUN_KERNELJOB_H
#define FATTN_TOOLS_FATTN_RUN_KERNELJOB_H

#include "tools/fattn-run/Job.h"

namespace fattn::run {

/// Precondition: options.kernel. Throws Error.
KernelResult runKernel(const Options& options, tool::Progress& progress);

}  // namespace fattn::run

#endif
