// SPDX-License-Identifier: Apache-2.0
// Runs the tool inside of the test.
#ifndef FATTN_TESTS_UNIT_FATTN_SCHEDULE_RUN_H
#define FATTN_TESTS_UNIT_FATTN_SCHEDULE_RUN_H

#include <sstream>
#include <string>
#include <vector>

#include "tools/fattn-schedule/Schedules.h"

namespace fattn::schedule {

struct Outcome {
  int code = -1;
  std::string out, err;
};

inline std::string dataFile(const std::string& name) { return std::string(FATTN_SOURCE) + "/tests/unit/fattn-schedule/data/" + name; }

inline Outcome run(std::vector<std::string> arguments, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out, err;
  const int code = runSchedules(std::move(arguments), in, out, err);
  return {code, out.str(), err.str()};
}

}  // namespace fattn::schedule

#endif
