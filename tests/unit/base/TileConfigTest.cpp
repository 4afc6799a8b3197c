// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "fattn/Error.h"
#include "fattn/TileConfig.h"

namespace fattn {
namespace {

std::string errorOf(std::string_view text) {
  try {
    TileConfig::parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.what();
  }
  return "no error";
}

TEST(TileConfig, ParsesAnyOrderAndBlanks) {
  TileConfig config = TileConfig::parse(" BLOCK_N = 176, BLOCK_M=64 ,STAGES=3,WARPS=12,SCHEDULE = A B1 a ,BLOCK_K=32");
  EXPECT_EQ(config, (TileConfig{.block_m = 64, .block_n = 176, .block_k = 32, .stages = 3, .warps = 12, .schedule = "A B1 a"}));
}

TEST(TileConfig, EmptyTextIsAllUnset) {
  EXPECT_EQ(TileConfig::parse(""), TileConfig{});
  EXPECT_EQ(TileConfig::parse("  "), TileConfig{});
  EXPECT_EQ(TileConfig{}.toString(), "");
}

TEST(TileConfig, TextRoundTrips) {
  TileConfig config{.block_m = 1, .block_n = 1024, .warps = 32};
  EXPECT_EQ(config.toString(), "BLOCK_M=1,BLOCK_N=1024,WARPS=32");
  EXPECT_EQ(TileConfig::parse(config.toString()), config);
}

TEST(TileConfig, UnknownNameListsTheLegalOnes) {
  EXPECT_EQ(errorOf("BLOCK_M=64,BLOCKN=64"),
            "tile configuration: unknown name 'BLOCKN'\n"
            "  hint: the legal names are BLOCK_M, BLOCK_N, BLOCK_K, STAGES, WARPS, SCHEDULE");
}

TEST(TileConfig, BadValueListsTheLegalOnes) {
  const char* blocks =
      "; legal values are 1, 2, 4 and multiples of 8 up to 1024\n"
      "  hint: leave BLOCK_M out to let fattn choose";
  for (const char* value : {"0", "-8", "3", "12", "1032", "64x", "", "99999999999", "0x40", "6.4"})
    EXPECT_EQ(errorOf(std::string("BLOCK_M=") + value), std::string("tile configuration: BLOCK_M is '") + value + "'" + blocks);
  EXPECT_EQ(errorOf("STAGES=9"),
            "tile configuration: STAGES is '9'; legal values are 1 to 8\n  hint: leave STAGES out to let fattn choose");
}

TEST(TileConfig, AScheduleIsAText) {
  for (const char* good : {"A", "A B1 a b", "S PV1 E L", "a_b2 C"}) {
    const TileConfig config = TileConfig::parse("BLOCK_M=64,SCHEDULE=" + std::string(good));
    EXPECT_EQ(config.schedule, good);
    EXPECT_EQ(config.toString(), "BLOCK_M=64,SCHEDULE=" + std::string(good));
    EXPECT_NO_THROW(config.validate());
  }
  for (const char* bad : {"3", "", "A  B", "A 1B", "A-B", "_A"})
    EXPECT_EQ(
        errorOf("SCHEDULE=" + std::string(bad)),
        "tile configuration: SCHEDULE is '" + std::string(bad) +
            "'; a schedule is named by its text: names of the loop's nodes in the order of issue, each followed by its stage where that "
            "is not 0, such as A B1 a\n  hint: leave SCHEDULE out to let fattn choose");
  EXPECT_EQ(errorOf("SCHEDULE=A,SCHEDULE=B"), "tile configuration: SCHEDULE is given twice\n  hint: name each choice once");
  EXPECT_THROW(TileConfig{.schedule = "A=B"}.validate(), Error);
}

TEST(TileConfig, MalformedItems) {
  EXPECT_EQ(errorOf("64,64"), "tile configuration: '64' is not of the form NAME=VALUE\n  hint: write for example BLOCK_M=128,BLOCK_N=64");
  EXPECT_EQ(errorOf("BLOCK_M=64,"),
            "tile configuration: '' is not of the form NAME=VALUE\n  hint: write for example BLOCK_M=128,BLOCK_N=64");
  EXPECT_EQ(errorOf("BLOCK_M=64,BLOCK_M=64"), "tile configuration: BLOCK_M is given twice\n  hint: name each choice once");
}

TEST(TileConfig, ValidateNamesTheChoice) {
  EXPECT_NO_THROW(TileConfig{}.validate());
  try {
    TileConfig{.block_n = 12}.validate();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.constraint(), "tile configuration: BLOCK_N is 12; legal values are 1, 2, 4 and multiples of 8 up to 16384");
  }
}

TEST(TileConfig, DefaultsFillOnlyWhatIsUnset) {
  TileConfig merged = TileConfig{.block_m = 16}.withDefaults({.block_m = 64, .block_n = 32, .stages = 2});
  EXPECT_EQ(merged, (TileConfig{.block_m = 16, .block_n = 32, .stages = 2}));
}

TEST(TileConfig, AScheduleIsThatOfItsOwnConfiguration) {
  const TileConfig defaults{.block_m = 64, .block_n = 32, .schedule = "A a B"};
  EXPECT_EQ(TileConfig{}.withDefaults(defaults), defaults);
  EXPECT_EQ((TileConfig{.block_m = 64}.withDefaults(defaults)), defaults);
  EXPECT_EQ((TileConfig{.block_m = 16}.withDefaults(defaults)), (TileConfig{.block_m = 16, .block_n = 32}));
  EXPECT_EQ((TileConfig{.block_m = 16, .schedule = "A B1 a"}.withDefaults(defaults)),
            (TileConfig{.block_m = 16, .block_n = 32, .schedule = "A B1 a"}));
}

}  // namespace
}  // namespace fattn
