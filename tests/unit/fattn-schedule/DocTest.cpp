// SPDX-License-Identifier: Apache-2.0
// Every block of docs/schedule.md that begins with `$ fattn-schedule` is what the tool prints.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/fattn-schedule/Run.h"

namespace fattn::schedule {
namespace {

/// Words of a command line; quotes keep blanks.
std::vector<std::string> words(const std::string& line) {
  std::vector<std::string> result;
  bool quoted = false, open = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      open = false;
    } else {
      if (!open) result.emplace_back();
      open = true;
      result.back() += c;
    }
  }
  return result;
}

TEST(ScheduleDoc, ItsExamplesAreWhatTheToolPrints) {
  std::ifstream page(std::string(FATTN_SOURCE) + "/docs/schedule.md");
  ASSERT_TRUE(page.is_open());
  const std::string prompt = "$ fattn-schedule ", folder = "tests/unit/fattn-schedule/data/";
  int examples = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with(prompt)) continue;
    std::vector<std::string> arguments = words(line.substr(prompt.size()));
    for (std::string& argument : arguments)
      if (argument.starts_with(folder)) argument = dataFile(argument.substr(folder.size()));
    std::string shown;
    for (std::string text; std::getline(page, text) && text != "```";) shown += text + "\n";
    const Outcome outcome = run(arguments);
    EXPECT_EQ(shown, outcome.out + outcome.err) << line;
    ++examples;
  }
  EXPECT_GE(examples, 4);
}

}  // namespace
}  // namespace fattn::schedule
