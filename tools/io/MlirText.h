// SPDX-License-Identifier: Apache-2.0
// Limits on the text of MLIR modules, looked at before it is parsed. MLIR's parser, printer and passes recurse into what is nested, take
// time that grows with the square of a literal's digits, and write out an alias each time it is used; none of them has a limit of its own.
#ifndef FATTN_TOOLS_IO_MLIRTEXT_H
#define FATTN_TOOLS_IO_MLIRTEXT_H

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace fattn::io {

/// What is legal: several times of what any program of this project has.
struct MlirLimits {
  std::size_t bytes = std::size_t{16} << 20;
  int nesting = 100;               ///< of brackets: regions, attributes, types, affine expressions
  int digits = 200;                ///< of a number
  int operators = 1000;            ///< of an affine expression
  std::size_t expanded = 5000000;  ///< uses of aliases, once each is written out
};

/// The sentence that says which limit a text breaks, and in which line; empty where it keeps them all. Linear in the text.
std::string brokenLimit(std::string_view text, const MlirLimits& limits = {});

/// Reads a file of MLIR text for a tool. Throws Error{IoError} where it cannot be read or is no regular file, Error{CompileError} where it
/// breaks a limit.
std::string readMlir(const std::string& path);

/// Runs `body` on a thread with 512 MiB of stack, enough for what keeps the limits whatever the caller's stack is, and waits for it.
/// Rethrows what it throws; throws Error{OutOfMemory} where there is no such stack.
void onLargeStack(const std::function<void()>& body);

}  // namespace fattn::io

#endif
