// SPDX-License-Identifier: Apache-2.0
// fattn-run: runs the attention forward on tensors from files or random ones, checks and measures it; other kernels by subcommands.
#include "tools/common/Program.h"
#include "tools/fattn-run/KernelJob.h"

int main(int argc, char** argv) {
  return fattn::run::runJob(fattn::tool::wordsOf(argc, argv), fattn::run::makeEngine, fattn::run::runKernel);
}
