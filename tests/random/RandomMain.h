// SPDX-License-Identifier: Apache-2.0
// The command that runs random programs.
#ifndef FATTN_TESTS_RANDOM_RANDOMMAIN_H
#define FATTN_TESTS_RANDOM_RANDOMMAIN_H

#include <string>
#include <vector>

namespace fattn::random {

/// argv[0] is what stands before the options; `self` starts the command again, without options. Returns the exit status: 0 where all draws
/// agreed, 1 where some did not, 2 where nothing could be run.
int randomMain(int argc, char** argv, std::vector<std::string> self);

}  // namespace fattn::random

#endif
