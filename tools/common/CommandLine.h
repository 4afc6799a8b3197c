// SPDX-License-Identifier: Apache-2.0
// What the command lines of all tools have in common: exit codes, and errors as a sentence and a hint.
#ifndef FATTN_TOOLS_COMMON_COMMANDLINE_H
#define FATTN_TOOLS_COMMON_COMMANDLINE_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fattn/Error.h"

namespace fattn::tool {

enum ExitCode : int { kOk = 0, kFailure = 1, kUsage = 2, kUnsupported = 3, kNoDevice = 4, kInterrupted = 130 };

/// What an error of the library means to the caller of a tool.
int exitCode(ErrorCode code);

/// What is wrong with the command line, and what would be right.
struct UsageError {
  std::string message, hint;
};

/// Writes "TOOL: error: MESSAGE" and, on a line of its own, the hint to standard error; returns `code`.
int complain(std::string_view tool, const std::string& message, const std::string& hint, int code);

/// Prints a text such as --help's; returns kOk, or complains and returns kFailure where it does not arrive.
int printText(std::string_view tool, std::string_view text);

/// Writes out what is buffered; whether all that was printed to standard output has arrived.
bool flushOutput();

/// The candidate that `word` is a misspelling of; empty where none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// The parts between separators; one empty part for an empty text.
std::vector<std::string> split(std::string_view text, char separator);

/// An option's NAME=VALUE. Throws UsageError for anything else.
std::pair<std::string, std::string> parsePair(std::string_view option, const std::string& text);

}  // namespace fattn::tool

#endif
