// SPDX-License-Identifier: Apache-2.0
// fattn-run: runs the attention forward on tensors from files or random ones, checks and measures it.
#include "tools/fattn-run/Job.h"

int main(int argc, char** argv) { return fattn::run::runJob({argv + (argc > 0 ? 1 : 0), argv + argc}, fattn::run::makeEngine); }
