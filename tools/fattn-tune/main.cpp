// SPDX-License-Identifier: Apache-2.0
// fattn-tune: finds the fastest tile configurations, and shows, moves and checks what was found.
#include "tools/fattn-tune/Tool.h"

int main(int argc, char** argv) { return fattn::tuner::runTool({argv + (argc > 0 ? 1 : 0), argv + argc}); }
