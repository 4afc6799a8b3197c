// SPDX-License-Identifier: Apache-2.0
// What the command lines of all tools share.
#include <gtest/gtest.h>

#include "tools/common/CommandLine.h"
#include "tools/common/Terminal.h"

namespace fattn::tool {
namespace {

TEST(CommandLine, ErrorsOfTheLibraryHaveTheirExitCodes) {
  EXPECT_EQ(exitCode(ErrorCode::InvalidArgument), 2);
  EXPECT_EQ(exitCode(ErrorCode::Unsupported), 3);
  EXPECT_EQ(exitCode(ErrorCode::NoDevice), 4);
  for (ErrorCode code : {ErrorCode::CompileError, ErrorCode::DeviceError, ErrorCode::OutOfMemory, ErrorCode::IoError, ErrorCode::Internal})
    EXPECT_EQ(exitCode(code), 1);
}

TEST(CommandLine, ComplaintsAreASentenceAndAHint) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(complain("fattn-x", "it is broken", "mend it", kUsage), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "fattn-x: error: it is broken\n  hint: mend it\n");
  testing::internal::CaptureStderr();
  complain("fattn-x", "it is broken", "", kFailure);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "fattn-x: error: it is broken\n");
}

TEST(CommandLine, MisspelledWordsFindTheirNeighbour) {
  const std::vector<std::string> words = {"--emit", "--after", "--all-passes"};
  EXPECT_EQ(nearest("--emmit", words), "--emit");
  EXPECT_EQ(nearest("--afer", words), "--after");
  EXPECT_EQ(nearest("--completely-else", words), "");
  EXPECT_EQ(nearest("", words), "");
}

TEST(CommandLine, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,b", ','), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(split("a,", ','), (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(split("", ','), std::vector<std::string>{""});
}

TEST(Terminal, SaysNothingWhereThereIsNone) {
  testing::internal::CaptureStderr();
  {
    Progress progress;
    progress.step("working");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(styled("text", Style::Bad, false), "text");
  EXPECT_EQ(styled("text", Style::Bold, true), "\x1b[1mtext\x1b[0m");
}

}  // namespace
}  // namespace fattn::tool
