// SPDX-License-Identifier: Apache-2.0
// fattn-bench: suites of problems, measured beside what the device can do at best.
#include "tools/common/Program.h"
#include "tools/fattn-bench/Job.h"

int main(int argc, char** argv) { return fattn::bench::runJob(fattn::tool::wordsOf(argc, argv)); }
