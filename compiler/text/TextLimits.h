// SPDX-License-Identifier: Apache-2.0
// Limits on the text of MLIR modules, looked at before it is parsed. MLIR's parser, printer and passes recurse into what is nested, take
// time that grows with the square of a literal's digits, and write out an alias each time it is used; none of them has a limit of its own.
#ifndef FATTN_COMPILER_TEXT_TEXTLIMITS_H
#define FATTN_COMPILER_TEXT_TEXTLIMITS_H

#include <cstddef>
#include <string>
#include <string_view>

namespace fattn::compiler {

/// What is legal: several times of what any program of this project has.
struct TextLimits {
  std::size_t bytes = std::size_t{16} << 20;
  int nesting = 100;               ///< of brackets: regions, attributes, types, affine expressions; aliases count as what they stand for
  int digits = 200;                ///< of a number
  int operators = 1000;            ///< of an affine expression
  std::size_t results = 10000;     ///< of an operation
  std::size_t expanded = 5000000;  ///< uses of aliases, once each is written out
};

/// The sentence that says which limit a text breaks, and in which line; empty where it keeps them all. Linear in the text.
std::string brokenLimit(std::string_view text, const TextLimits& limits = {});

}  // namespace fattn::compiler

#endif
