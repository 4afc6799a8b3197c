// SPDX-License-Identifier: Apache-2.0
// fattn-dump: every stage between a kernel's C++ and its machine code.
#include "tools/common/Program.h"
#include "tools/fattn-dump/Job.h"

int main(int argc, char** argv) { return fattn::dump::runJob(fattn::tool::wordsOf(argc, argv)); }
