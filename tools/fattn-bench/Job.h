// SPDX-License-Identifier: Apache-2.0
// One run of fattn-bench from the command line to the exit code.
#ifndef FATTN_TOOLS_FATTN_BENCH_JOB_H
#define FATTN_TOOLS_FATTN_BENCH_JOB_H

#include <string>
#include <vector>

namespace fattn::bench {

/// Results go to standard output or to files, errors as a sentence to standard error. Returns the exit code.
int runJob(const std::vector<std::string>& arguments);

}  // namespace fattn::bench

#endif
