// SPDX-License-Identifier: Apache-2.0
// What the warp groups of a kernel did when it ran (runtime/cuda/RoleTrace.h), drawn like the search's prediction: as text, and as a chart.
#ifndef FATTN_TOOLS_FATTN_DUMP_ROLETRACE_H
#define FATTN_TOOLS_FATTN_DUMP_ROLETRACE_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/fattn-dump/Chart.h"

namespace fattn::dump {

struct RoleTrace {
  struct Role {
    std::string name;
    bool full = false;  ///< there was no room for more events
    std::vector<std::pair<std::string, double>> events;
  };
  std::string kernel, target, device;
  std::int64_t launch = 0;
  std::vector<Role> roles;
};

/// Throws Error{InvalidArgument} for what is no such file.
RoleTrace readRoleTrace(const std::string& file);

/// Two trips in the middle of the loop that runs most often, `width` characters wide, and what each role waits for in a trip. Lines, each
/// with its end.
std::string drawRoleTrace(const RoleTrace& trace, int width = 96);

/// The same two trips. Nothing where no loop had three trips.
std::optional<Chart> chartOf(const RoleTrace& trace);

}  // namespace fattn::dump

#endif
