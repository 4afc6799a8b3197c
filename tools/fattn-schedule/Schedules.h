// SPDX-License-Identifier: Apache-2.0
// The command line of fattn-schedule.
#ifndef FATTN_TOOLS_FATTN_SCHEDULE_SCHEDULES_H
#define FATTN_TOOLS_FATTN_SCHEDULE_SCHEDULES_H

#include <iosfwd>
#include <string>
#include <vector>

namespace fattn::schedule {

/// Runs the tool. Exit codes: 0 success, 1 failure (a file that cannot be read, a loop model that breaks a rule, nothing that fits),
/// 2 wrong usage.
int runSchedules(std::vector<std::string> arguments, std::istream& in, std::ostream& out, std::ostream& err);

}  // namespace fattn::schedule

#endif
