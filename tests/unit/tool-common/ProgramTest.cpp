// SPDX-License-Identifier: Apache-2.0
// The skeleton of the tools: words to a text or an error, and what is thrown to an exit code.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <new>
#include <stdexcept>

#include "fattn/Error.h"
#include "fattn/Version.h"
#include "tools/common/Program.h"

namespace fattn::tool {
namespace {

std::expected<std::string, UsageError> read(const std::vector<std::string>& words, const std::function<void()>& interpret = [] {}) {
  CLI::App app("Adds.", "fattn-add");
  int number = 0;
  app.set_version_flag("--version", std::string(version()));
  app.add_option("--number", number);
  return readWords(app, words, interpret);
}

TEST(Program, TextsThatAreAskedFor) {
  EXPECT_EQ(read({"--number", "3"}), "");
  EXPECT_EQ(read({"--version"}), "fattn-add " + std::string(version()) + "\n");
  EXPECT_NE(read({"--help"}).value().find("--number"), std::string::npos);
  EXPECT_NE(read({"--generate", "man"}).value().find(".TH"), std::string::npos);
}

TEST(Program, WrongWordsAreUsage) {
  const auto unknown = read({"--nummer", "3"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().hint, "fattn-add --help lists the options");
  const auto ours = read({}, [] { throw UsageError{"--number is missing", "give one"}; });
  ASSERT_FALSE(ours);
  EXPECT_EQ(ours.error().message, "--number is missing");
  const auto library = read({}, [] { throw Error(ErrorCode::Unsupported, "no such number", "take 3"); });
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().message, "no such number");
  EXPECT_EQ(library.error().hint, "take 3");
}

int codeOf(const std::function<void()>& action) {
  return guarded("fattn-add", "add less", [&](Progress&) {
    action();
    return 7;
  });
}

TEST(Program, ErrorsAreExitCodesAndSentences) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(codeOf([] {}), 7);
  EXPECT_EQ(codeOf([] { throw Error(ErrorCode::Unsupported, "too much", "less"); }), kUnsupported);
  EXPECT_EQ(codeOf([] { throw Error(ErrorCode::NoDevice, "there is none"); }), kNoDevice);
  EXPECT_EQ(codeOf([] { throw std::bad_alloc(); }), kFailure);
  EXPECT_EQ(codeOf([] { throw std::runtime_error("odd"); }), kFailure);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "fattn-add: error: too much\n  hint: less\nfattn-add: error: there is none\nfattn-add: error: out of memory\n  hint: add less\n"
            "fattn-add: error: internal error: odd\n");
}

}  // namespace
}  // namespace fattn::tool
