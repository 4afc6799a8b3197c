// SPDX-License-Identifier: Apache-2.0
// fattn-tune: finds the fastest tile configurations, and shows, moves and checks what was found.
#include "tools/common/Program.h"
#include "tools/fattn-tune/Tool.h"

int main(int argc, char** argv) { return fattn::tuner::runTool(fattn::tool::wordsOf(argc, argv)); }
