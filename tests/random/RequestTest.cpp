// SPDX-License-Identifier: Apache-2.0
// What goes between processes arrives as it was sent; folders of programs, and what is wrong with them.
#include <gtest/gtest.h>

#include <filesystem>

#include "fattn/Error.h"
#include "tests/generator/Text.h"
#include "tests/random/Campaign.h"
#include "tests/support/Context.h"

namespace fattn::random {
namespace {

/// The program that a worker makes of a request.
std::string received(const Request& request) {
  auto context = test::makeContext();
  Request there = requestOf(toLine(request));
  return generator::print(programOf(there)(*context, there.draw), there.draw);
}

TEST(Requests, CarryAProgramAsItsText) {
  auto context = test::makeContext();
  generator::Draw draw{.program = 3, .target = "host"};
  std::string text = generator::print(generator::generate(*context, draw), draw);
  EXPECT_EQ(received({.draw = draw, .text = text}), text);
  EXPECT_EQ(received({.draw = draw}), text) << "a seed alone";
}

TEST(Requests, CarryTheChoicesOfAProgram) {
  auto context = test::makeContext();
  generator::Draw draw{.program = 3, .target = "host"}, other{.program = 4, .target = "host"};
  std::vector<uint64_t> choices = generator::generate(*context, other).choices;
  EXPECT_EQ(received({.draw = draw, .choices = choices}), generator::print(generator::replay(*context, choices, draw.options()), draw));
}

std::string errorOf(const std::string& programs) try {
  runDraws({.targets = {"host"}, .programs = programs}, [](const Result&) { FAIL() << "something ran"; });
  return "";
} catch (const Error& error) {
  return error.what();
}

TEST(Programs, OfAFolderThatHasNoneAreAnError) {
  EXPECT_EQ(errorOf("/no/such/folder"), "'/no/such/folder' is no folder");
  std::filesystem::path empty = std::filesystem::path(testing::TempDir()) / "fattn-no-programs";
  std::filesystem::create_directories(empty);
  EXPECT_EQ(errorOf(empty.string()), "there is no .mlir file in '" + empty.string() + "'");
}

}  // namespace
}  // namespace fattn::random
