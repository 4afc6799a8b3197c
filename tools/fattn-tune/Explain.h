// SPDX-License-Identifier: Apache-2.0
// fattn-tune explain: which configuration a shape gets, from which file, by which rule, and what is known beside it.
#ifndef FATTN_TOOLS_FATTN_TUNE_EXPLAIN_H
#define FATTN_TOOLS_FATTN_TUNE_EXPLAIN_H

#include "tools/fattn-tune/Options.h"

namespace fattn::tuner {

/// Returns the exit code. Throws Error.
int explain(const Options& options);

}  // namespace fattn::tuner

#endif
