// SPDX-License-Identifier: Apache-2.0
// One run of fattn-dump from the command line to the exit code.
#ifndef FATTN_TOOLS_FATTN_DUMP_JOB_H
#define FATTN_TOOLS_FATTN_DUMP_JOB_H

#include <string>
#include <vector>

namespace fattn::dump {

/// Results go to standard output or to files, errors as a sentence to standard error. Returns the exit code.
int runJob(const std::vector<std::string>& arguments);

}  // namespace fattn::dump

#endif
