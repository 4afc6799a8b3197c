// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/Shipped.h"
#include "tests/unit/cache/Support.h"

namespace fattn::cache {
namespace {

using namespace test;
namespace fs = std::filesystem;

TuneRecord record(std::int64_t rows, std::int32_t blockM) {
  TuneRecord made = sampleRecord();
  made.key.shape = bucketOf({{"heads", 16}, {"seq_k", rows}, {"seq_q", rows}});
  made.winner->tile = {.block_m = blockM, .block_n = 64};
  return made;
}

struct ShippedTest : testing::Test {
  TemporaryFolder folder;
  std::vector<fs::path> roots{folder.path()};

  void ship(const std::string& device, std::int64_t rows, std::int32_t blockM) {
    TuneRecord made = record(rows, blockM);
    writeFile(folder.path() / shippedFile(device, "problem", made.key.shape), encodeTuned(made));
  }
  std::optional<ShippedChoice> choose(const std::string& device, const std::string& family, std::int64_t rows,
                                      std::int32_t refused = 0) const {
    return chooseShipped(roots, device, family, "problem", {{"heads", 16}, {"seq_k", rows}, {"seq_q", rows}},
                         [=](const TileConfig& tile) { return tile.block_m != refused; });
  }
};

TEST_F(ShippedTest, TheNearestBucketOfTheDeviceIsChosen) {
  ship("a", 1024, 32);
  ship("a", 4096, 64);
  ship("b", 2048, 128);
  auto exact = choose("a", "", 4000);
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->tile.block_m, 64);
  EXPECT_EQ(exact->distance, 0);
  EXPECT_EQ(exact->file, folder.path() / "a" / "problem" / "heads=16,seq_k=4096,seq_q=4096.json");
  EXPECT_EQ(exact->measured.device, sampleKey().device);
  EXPECT_EQ(choose("a", "", 64)->tile.block_m, 32);
  EXPECT_EQ(choose("a", "", 64)->distance, 8);
  EXPECT_EQ(choose("a", "", 4000, /*refused=*/64)->tile.block_m, 32) << "what is not accepted is passed over";
  EXPECT_FALSE(choose("c", "", 1024));
  EXPECT_FALSE(chooseShipped(roots, "a", "", "another", {{"heads", 16}}, [](const TileConfig&) { return true; }));
}

TEST_F(ShippedTest, AnotherDeviceOfTheFamilyServesWhereTheDeviceHasNone) {
  ship("chip-90-big", 1024, 32);
  ship("chip-90-small", 1024, 64);
  EXPECT_EQ(choose("chip-90-small", "chip-90-", 1024)->tile.block_m, 64);
  EXPECT_EQ(choose("chip-90-other", "chip-90-", 1024)->tile.block_m, 32) << "the first by name";
  EXPECT_EQ(choose("", "chip-90-", 1024)->tile.block_m, 32);
  EXPECT_FALSE(choose("chip-80-other", "chip-80-", 1024));
}

TEST_F(ShippedTest, DamagedForeignAndMisplacedFilesAreAsIfTheyWereNotThere) {
  ship("a", 1024, 32);
  fs::path problem = folder.path() / "a" / "problem";
  std::string whole = readFile(problem / "heads=16,seq_k=1024,seq_q=1024.json");
  writeFile(problem / "heads=16,seq_k=2048,seq_q=2048.json", whole);  // about another bucket than its name says
  writeFile(problem / "heads=16,seq_k=4096,seq_q=4096.json", whole.substr(0, whole.size() / 2));
  writeFile(problem / "notes.txt", "hello");
  fs::create_directories(problem / "heads=16,seq_k=8192,seq_q=8192.json");
  for (std::int64_t rows : {2048, 4096, 8192}) EXPECT_EQ(choose("a", "", rows)->file.filename(), "heads=16,seq_k=1024,seq_q=1024.json");
  std::minstd_rand random = seeded(5);
  for (int i = 0; i < 300; ++i) {
    writeFile(problem / "heads=16,seq_k=1024,seq_q=1024.json", damaged(whole, random));
    EXPECT_FALSE(choose("a", "", 1024)) << i;
  }
}

TEST_F(ShippedTest, OnlyTheWinnerIsShipped) {
  TuneRecord whole = sampleRecord();
  whole.winner->tile = whole.points[0].tile;
  TuneRecord small = shipped(whole);
  EXPECT_EQ(small.key, whole.key);
  EXPECT_EQ(small.winner, whole.winner);
  ASSERT_EQ(small.points.size(), 1u);
  EXPECT_EQ(small.points[0], whole.points[0]);
  EXPECT_TRUE(decodeTuned(encodeTuned(small)));
}

TEST(ShippedRoots, TheEnvironmentComesFirstAndEmptyMeansNone) {
  setenv("FATTN_TUNED_DIR", "/some/where", 1);
  EXPECT_EQ(shippedRoots(), std::vector<fs::path>{"/some/where"});
  setenv("FATTN_TUNED_DIR", "", 1);
  EXPECT_TRUE(shippedRoots().empty());
  unsetenv("FATTN_TUNED_DIR");
  std::vector<fs::path> roots = shippedRoots();
  ASSERT_EQ(roots.size(), 3u);
  for (const fs::path& root : roots) {
    EXPECT_TRUE(root.is_absolute()) << root;
    EXPECT_TRUE(root.string().ends_with("fattn/tuned")) << root;
  }
}

}  // namespace
}  // namespace fattn::cache
