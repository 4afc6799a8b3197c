// SPDX-License-Identifier: Apache-2.0
// What goes between the process that hands out draws and its workers: a line of JSON each.
#ifndef FATTN_TESTS_RANDOM_REQUEST_H
#define FATTN_TESTS_RANDOM_REQUEST_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/random/Execution.h"

namespace fattn::random {

/// A draw, and where its program is not the one of its seed, the choices that make the program, or its text, as in
/// tests/generator/Text.h or tests/regressions/Regression.h.
struct Request {
  generator::Draw draw = {};
  std::optional<std::vector<uint64_t>> choices = {};
  std::optional<std::string> text = {};
  std::string source = {};  ///< the file of the text
};

/// What became of it.
struct Result {
  generator::Draw draw = {};  ///< with a rank of schedules that there is
  Outcome outcome = {};
  std::string source = {};  ///< of its request
};

/// Whether a program's text is one of tests/generator/Text.h.
bool hasDraw(const std::string& text);
/// Makes the program of a request.
MakeProgram programOf(const Request& request);

std::string toLine(const Request& request);
std::string toLine(const Result& result);
/// Throw Error{Internal} for a line that is none.
Request requestOf(const std::string& line);
Result resultOf(const std::string& line);

}  // namespace fattn::random

#endif
