// SPDX-License-Identifier: Apache-2.0
// fattn-schedule: the best schedules of a loop, from a description of the loop and the machine table.
#include <iostream>

#include "tools/common/Program.h"
#include "tools/fattn-schedule/Schedules.h"

int main(int argc, char** argv) {
  const int code = fattn::schedule::runSchedules(fattn::tool::wordsOf(argc, argv), std::cin, std::cout, std::cerr);
  if (std::cout.flush()) return code;
  return fattn::tool::complain("fattn-schedule", "cannot write to standard output", "", fattn::tool::kFailure);
}
