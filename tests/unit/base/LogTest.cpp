// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/base/Log.h"

namespace fattn::log {
namespace {

// In a process of its own, as the variable is read once.
void logAll(const char* level) {
  setenv("FATTN_LOG_LEVEL", level, 1);
  write(Level::Error, "one");
  write(Level::Warning, "two");
  write(Level::Info, "three");
  std::exit(0);
}

TEST(Log, LevelsByName) {
  EXPECT_EQ(parseLevel("off"), Level::Off);
  EXPECT_EQ(parseLevel("debug"), Level::Debug);
  EXPECT_EQ(parseLevel("verbose"), std::nullopt);
}

TEST(Log, TheVariableChooses) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(logAll("error"), testing::ExitedWithCode(0), "^fattn: error: one\n$");
  EXPECT_EXIT(logAll("info"), testing::ExitedWithCode(0), "^fattn: error: one\nfattn: warning: two\nfattn: info: three\n$");
  EXPECT_EXIT(logAll("off"), testing::ExitedWithCode(0), "^$");
}

TEST(Log, AnUnknownLevelNamesTheLegalOnes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(logAll("loud"), testing::ExitedWithCode(0),
              "fattn: warning: FATTN_LOG_LEVEL is 'loud'; legal values are off, error, warning, info, debug");
}

}  // namespace
}  // namespace fattn::log
