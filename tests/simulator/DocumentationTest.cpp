// SPDX-License-Identifier: Apache-2.0
// docs/simulator.md lists the instructions that the simulator executes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "simulator/Table.h"

namespace fattn::test {
namespace {

/// The indented lines of the section, by words.
std::vector<std::string> listedInstructions() {
  std::ifstream file(FATTN_SIMULATOR_PAGE);
  std::vector<std::string> words;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) inside = line == "## Instructions";
    if (!inside || !line.starts_with("    ")) continue;
    std::istringstream text(line);
    for (std::string word; text >> word;) words.push_back(word);
  }
  std::ranges::sort(words);
  return words;
}

TEST(Documentation, ListsTheInstructions) {
  std::vector<std::string> known;
  std::string lines, line = "   ";
  for (std::string_view name : simulator::knownMnemonics()) {
    known.emplace_back(name);
    if (line.size() + name.size() > 138) lines += line + "\n", line = "   ";
    line.append(" ").append(name);
  }
  EXPECT_TRUE(listedInstructions() == known) << "The list of docs/simulator.md has to be\n" << lines << line;
}

}  // namespace
}  // namespace fattn::test
