// SPDX-License-Identifier: Apache-2.0
#ifndef FATTN_COMPILER_TEXT_SOURCELINE_H
#define FATTN_COMPILER_TEXT_SOURCELINE_H

#include <compare>
#include <string>

namespace fattn::compiler {

/// A line of a source file.
struct SourceLine {
  std::string file;
  unsigned line = 0;
  auto operator<=>(const SourceLine&) const = default;
};

}  // namespace fattn::compiler

#endif
