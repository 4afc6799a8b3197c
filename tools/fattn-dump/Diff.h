// SPDX-License-Identifier: Apache-2.0
// What a pass changed: the lines of a module before it and behind it, compared without what printing numbers anew.
#ifndef FATTN_TOOLS_FATTN_DUMP_DIFF_H
#define FATTN_TOOLS_FATTN_DUMP_DIFF_H

#include <string>
#include <string_view>
#include <vector>

namespace fattn::dump {

/// A stretch of lines that both texts have, and what follows it: lines of the first text only, then lines of the second only.
struct DiffRun {
  int kept = 0, removed = 0, added = 0;
  bool operator==(const DiffRun&) const = default;
};

/// Two lines are equal if they are so without the numbers of values (`%12`) and blocks (`^bb3`), and with what an alias (`#regs3`)
/// stands for in its place: MLIR numbers all of these by their order in the text.
std::vector<DiffRun> diffOf(std::string_view before, std::string_view after);

/// The changes with three lines around each, as `diff -u` writes them; "no change\n" where there is none.
std::string diffText(std::string_view before, std::string_view after);

}  // namespace fattn::dump

#endif
