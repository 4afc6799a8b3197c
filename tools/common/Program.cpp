// SPDX-License-Identifier: Apache-2.0
#include "tools/common/Program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <new>

#include "fattn/Error.h"
#include "fattn/Version.h"
#include "runtime/base/TargetName.h"
#include "tools/common/Manual.h"

namespace fattn::tool {

std::vector<std::string> wordsOf(int argc, char** argv) { return {argv + (argc > 0 ? 1 : 0), argv + argc}; }

std::expected<std::string, UsageError> readWords(CLI::App& app, const std::vector<std::string>& words,
                                                 const std::function<void()>& interpret, const std::string& hint) {
  if (auto page = generate(app, words)) return std::move(*page);
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 wants them
    app.parse(reversed);
    interpret();
    return std::string();
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::CallForVersion&) {
    return fmt::format("{} {}\n", app.get_name(), version());
  } catch (const CLI::ParseError& error) {
    return std::unexpected(UsageError{error.what(), hint.empty() ? app.get_name() + " --help lists the options" : hint});
  } catch (const UsageError& error) {
    return std::unexpected(error);
  } catch (const Error& error) {
    return std::unexpected(UsageError{error.constraint(), error.hint()});
  }
}

int guarded(std::string_view tool, const std::string& smaller, const std::function<int(Progress&)>& work) {
  Progress progress;
  try {
    return work(progress);
  } catch (const Error& error) {
    progress.clear();
    return complain(tool, error.constraint(), error.hint(), exitCode(error.code()));
  } catch (const std::bad_alloc&) {
    progress.clear();
    return complain(tool, "out of memory", smaller, kFailure);
  } catch (const std::exception& error) {
    progress.clear();
    return complain(tool, fmt::format("internal error: {}", error.what()), "", kFailure);
  }
}

std::string measuredTarget(std::string_view tool, const std::string& target) {
  const TargetName name = parseTarget(target);
  if (name.kind != TargetKind::Amd) return target;
  const std::string modelled = fmt::format("modelled:{}", name.part);
  fmt::print(
      stderr,
      "{}: note: nothing is measured: {} names a chip and no device, and times are those of a model of its compute units ({}) on samples "
      "of each launch's workgroups; docs/simulator.md says what it leaves out\n",
      tool, target, modelled);
  return modelled;
}

}  // namespace fattn::tool
