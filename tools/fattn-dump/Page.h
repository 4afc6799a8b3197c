// SPDX-License-Identifier: Apache-2.0
// One self-contained page: the stages with what ties their lines together, and the code that shows them.
#ifndef FATTN_TOOLS_FATTN_DUMP_PAGE_H
#define FATTN_TOOLS_FATTN_DUMP_PAGE_H

#include <optional>
#include <string>
#include <vector>

#include "tools/fattn-dump/Chart.h"
#include "tools/fattn-dump/Facts.h"

namespace fattn::dump {

/// The most that the stages of a page may have of text. Where they have more, passes are left out, the longest first.
inline constexpr std::size_t kPageBytes = 4'000'000;

std::string makePage(const Options& options, const Compilation& compilation, const std::vector<Fact>& facts,
                     const std::vector<Chart>& charts = {}, std::size_t limit = kPageBytes);

}  // namespace fattn::dump

#endif
