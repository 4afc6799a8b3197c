// SPDX-License-Identifier: Apache-2.0
// fattn-tune plot: what was measured for a problem as a picture.
#ifndef FATTN_TOOLS_FATTN_TUNE_PLOT_H
#define FATTN_TOOLS_FATTN_TUNE_PLOT_H

#include <string>

#include "runtime/cache/Tuned.h"
#include "tools/fattn-tune/Options.h"

namespace fattn::tuner {

/// Returns the exit code. Throws Error, also where nothing was measured.
int plot(const Options& options);

/// One heat map of BLOCK_M by BLOCK_N for each combination of the other choices, as an SVG image of its own. `safe` is marked as the
/// default.
std::string drawLandscape(const cache::TuneRecord& record, const std::string& title, const TileConfig& safe);

}  // namespace fattn::tuner

#endif
