// SPDX-License-Identifier: Apache-2.0
// A second look at what failed.
#ifndef FATTN_TESTS_RANDOM_AGAIN_H
#define FATTN_TESTS_RANDOM_AGAIN_H

#include <vector>

#include "tests/random/Campaign.h"

namespace fattn::random {

/// Runs the draws that were wrong, crashed or timed out again, each alone in a new process while nothing else runs; what fails again is
/// reduced and printed as a test. `options.reduce` of them at the most, the others are named.
void runAgain(const CampaignOptions& options, const std::vector<Result>& results);

}  // namespace fattn::random

#endif
