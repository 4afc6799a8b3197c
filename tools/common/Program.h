// SPDX-License-Identifier: Apache-2.0
// The skeleton of a tool: from the words of its command line to its exit code.
#ifndef FATTN_TOOLS_COMMON_PROGRAM_H
#define FATTN_TOOLS_COMMON_PROGRAM_H

#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/common/CommandLine.h"
#include "tools/common/Terminal.h"

namespace CLI {
class App;
}

namespace fattn::tool {

/// The words behind the program's name.
std::vector<std::string> wordsOf(int argc, char** argv);

/// Has `app`, which is named after the tool, read the words, and then calls `interpret`, which may throw UsageError and Error. The text
/// that is asked for instead of the tool's work (--help, --version, --generate); empty where none is. `hint` stands under what CLI11
/// refuses; without one it names the tool's --help.
std::expected<std::string, UsageError> readWords(CLI::App& app, const std::vector<std::string>& words,
                                                 const std::function<void()>& interpret, const std::string& hint = "");

/// The exit code of `work`. What it throws is written as an error with a hint; `smaller` is the hint where memory runs out. The progress
/// line is gone by then.
int guarded(std::string_view tool, const std::string& smaller, const std::function<int(Progress&)>& work);

/// A tool's run: `options` as its command line gave them, with a member `text` that readWords() filled. Does `work` where neither is an
/// error nor a text.
template <typename Options>
int runProgram(std::string_view tool, const std::expected<Options, UsageError>& options, const std::string& smaller,
               const std::function<int(const Options&, Progress&)>& work) {
  if (!options) return complain(tool, options.error().message, options.error().hint, kUsage);
  if (!options->text.empty()) return printText(tool, options->text);
  return guarded(tool, smaller, [&](Progress& progress) { return work(*options, progress); });
}

/// What is measured for a target: for a chip of AMD's, of which no device runs here, a model of it, which a note on standard error says. Of
/// other targets themselves.
std::string measuredTarget(std::string_view tool, const std::string& target);

}  // namespace fattn::tool

#endif
