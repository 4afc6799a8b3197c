// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-tune/Tool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <new>

#include "fattn/Error.h"
#include "tools/fattn-tune/CacheCommands.h"
#include "tools/fattn-tune/Explain.h"
#include "tools/fattn-tune/Options.h"
#include "tools/fattn-tune/Plot.h"
#include "tools/fattn-tune/Run.h"

namespace fattn::tuner {
namespace {

int reportErrors(const std::function<int()>& action) try {
  const int code = action();
  if (std::fflush(stdout) != 0) return tool::complain("fattn-tune", "cannot write to standard output", "", tool::kFailure);
  return code;
} catch (const Error& error) {
  return tool::complain("fattn-tune", error.constraint(), error.hint(), tool::exitCode(error.code()));
} catch (const std::bad_alloc&) {
  return tool::complain("fattn-tune", "out of memory", "choose a smaller shape", tool::kFailure);
} catch (const std::exception& error) {
  return tool::complain("fattn-tune", fmt::format("internal error: {}", error.what()), "", tool::kFailure);
}

int execute(const Options& options) {
  switch (options.command) {
    case Command::Run:
      return run(options, reportErrors);
    case Command::Explain:
      return explain(options);
    case Command::Plot:
      return plot(options);
    default:
      return cacheCommand(options);
  }
}

}  // namespace

// Templates of shared objects are known to libfattn.so, which this tool does not use: its own part for them does.
int runTemplateTool(const std::vector<std::string>& arguments) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string tool = self.parent_path() / "fattn-tune-template";
  std::vector<char*> words = {const_cast<char*>(tool.c_str())};
  for (std::size_t i = 1; i < arguments.size(); ++i) words.push_back(const_cast<char*>(arguments[i].c_str()));
  words.push_back(nullptr);
  execv(tool.c_str(), words.data());
  return tool::complain("fattn-tune", fmt::format("cannot start {}: {}", tool, std::strerror(errno)), "it is installed beside fattn-tune",
                        tool::kFailure);
}

int runTool(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments[0] == "template") return runTemplateTool(arguments);
  const std::expected<Options, tool::UsageError> options = parseCommandLine(arguments);
  if (!options) return tool::complain("fattn-tune", options.error().message, options.error().hint, tool::kUsage);
  if (!options->text.empty()) return tool::printText("fattn-tune", options->text);
  return reportErrors([&] { return execute(*options); });
}

}  // namespace fattn::tuner
