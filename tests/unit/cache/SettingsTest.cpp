// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/cache/BinaryStore.h"
#include "runtime/cache/Settings.h"
#include "runtime/cache/TunedStore.h"

namespace fattn::cache {
namespace {

// Sets a variable while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(Settings, BytesHaveSuffixes) {
  EXPECT_EQ(parseBytes("0"), 0u);
  EXPECT_EQ(parseBytes("1000000"), 1000000u);
  EXPECT_EQ(parseBytes("64K"), 65536u);
  EXPECT_EQ(parseBytes("512m"), std::uint64_t{512} << 20);
  EXPECT_EQ(parseBytes("2G"), std::uint64_t{2} << 30);
  for (const char* bad : {"", "K", "-1", "1.5G", "1 G", "1T", "99999999999999999999", "18446744073709551615K"})
    EXPECT_FALSE(parseBytes(bad)) << bad;
}

TEST(Settings, SizesOfTheStores) {
  EXPECT_EQ(binaryBytes(), BinaryStore::kDefaultBytes);
  EXPECT_EQ(tunedBytes(), TunedStore::kDefaultBytes);
  Variable binaries("FATTN_CACHE_BINARY_BYTES", "1G"), tuned("FATTN_CACHE_TUNED_BYTES", "128K");
  EXPECT_EQ(binaryBytes(), std::uint64_t{1} << 30);
  EXPECT_EQ(tunedBytes(), std::uint64_t{128} << 10);
}

TEST(Settings, ModesOfTuning) {
  EXPECT_EQ(tuneMode(), TuneMode::Cached);
  for (auto [text, mode] : {std::pair("off", TuneMode::Off), std::pair("cached", TuneMode::Cached), std::pair("on", TuneMode::On),
                            std::pair("", TuneMode::Cached)}) {
    Variable variable("FATTN_TUNE", text);
    EXPECT_EQ(tuneMode(), mode) << text;
  }
  EXPECT_EQ(tuneBudgetSeconds(), 20);
  Variable budget("FATTN_TUNE_BUDGET", "1.5");
  EXPECT_EQ(tuneBudgetSeconds(), 1.5);
}

TEST(Settings, TheWatchdogIsOffUnlessAsked) {
  EXPECT_EQ(watchdogMilliseconds(), 0);
  Variable watchdog("FATTN_WATCHDOG", "500");
  EXPECT_EQ(watchdogMilliseconds(), 500);
}

TEST(Settings, AWrongValueIsOneWarningAndIgnored) {
  Variable watchdog("FATTN_WATCHDOG", "soon");
  Variable mode("FATTN_TUNE", "always"), bytes("FATTN_CACHE_TUNED_BYTES", "much"), budget("FATTN_TUNE_BUDGET", "-1");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(tuneMode(), TuneMode::Cached);
    EXPECT_EQ(tunedBytes(), TunedStore::kDefaultBytes);
    EXPECT_EQ(tuneBudgetSeconds(), 20);
    EXPECT_EQ(watchdogMilliseconds(), 0);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "fattn: warning: FATTN_TUNE is 'always' and is ignored; legal values are off, cached and on\n"
            "fattn: warning: FATTN_CACHE_TUNED_BYTES is 'much' and is ignored; legal values are numbers of bytes, also as 64K, 512M or 2G\n"
            "fattn: warning: FATTN_TUNE_BUDGET is '-1' and is ignored; legal values are seconds, above 0 and up to 86400\n"
            "fattn: warning: FATTN_WATCHDOG is 'soon' and is ignored; legal values are milliseconds, up to 3600000; 0 = none\n");
}

}  // namespace
}  // namespace fattn::cache
