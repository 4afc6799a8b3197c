// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-tune/Tool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>

#include "tools/common/Program.h"
#include "tools/fattn-tune/CacheCommands.h"
#include "tools/fattn-tune/Explain.h"
#include "tools/fattn-tune/Options.h"
#include "tools/fattn-tune/Plot.h"
#include "tools/fattn-tune/Run.h"

namespace fattn::tuner {
namespace {

constexpr const char* kSmaller = "choose a smaller shape";

int checkOutput(int code) {
  return tool::flushOutput() ? code : tool::complain("fattn-tune", "cannot write to standard output", "", tool::kFailure);
}

int reportErrors(const std::function<int()>& action) {
  return tool::guarded("fattn-tune", kSmaller, [&](tool::Progress&) { return checkOutput(action()); });
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
  return tool::runProgram<Options>("fattn-tune", parseCommandLine(arguments), kSmaller,
                                   [](const Options& options, tool::Progress&) { return checkOutput(execute(options)); });
}

}  // namespace fattn::tuner
