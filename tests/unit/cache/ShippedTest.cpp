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
  std::vector<TunedBucket> buckets(const std::string& device, const std::string& family, std::int32_t refused = 0) const {
    return shippedBuckets(roots, device, family, "problem", [=](const TileConfig& tile) { return tile.block_m != refused; });
  }
};

TEST_F(ShippedTest, TheBucketsOfTheDeviceAreFound) {
  ship("a", 1024, 32);
  ship("a", 4096, 64);
  ship("b", 2048, 128);
  const std::vector<TunedBucket> found = buckets("a", "");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].winner.tile.block_m, 64);
  EXPECT_EQ(found[1].source, folder.path() / "a" / "problem" / "heads=16,seq_k=4096,seq_q=4096.json");
  EXPECT_EQ(found[1].device, sampleKey().device);
  EXPECT_TRUE(found[1].shipped);
  EXPECT_EQ(buckets("a", "", /*refused=*/64).size(), 1u) << "what is not accepted is passed over";
  EXPECT_TRUE(buckets("c", "").empty());
  EXPECT_TRUE(shippedBuckets(roots, "a", "", "another", [](const TileConfig&) { return true; }).empty());
}

TEST_F(ShippedTest, AnotherDeviceOfTheFamilyServesWhereTheDeviceHasNone) {
  ship("chip-90-big", 1024, 32);
  ship("chip-90-small", 1024, 64);
  EXPECT_EQ(buckets("chip-90-small", "chip-90-").at(0).winner.tile.block_m, 64);
  EXPECT_EQ(buckets("chip-90-other", "chip-90-").at(0).winner.tile.block_m, 32) << "the first by name";
  EXPECT_EQ(buckets("", "chip-90-").at(0).winner.tile.block_m, 32);
  EXPECT_TRUE(buckets("chip-80-other", "chip-80-").empty());
}

TEST_F(ShippedTest, DamagedForeignAndMisplacedFilesAreAsIfTheyWereNotThere) {
  ship("a", 1024, 32);
  fs::path problem = folder.path() / "a" / "problem";
  std::string whole = readFile(problem / "heads=16,seq_k=1024,seq_q=1024.json");
  writeFile(problem / "heads=16,seq_k=2048,seq_q=2048.json", whole);  // about another bucket than its name says
  writeFile(problem / "heads=16,seq_k=4096,seq_q=4096.json", whole.substr(0, whole.size() / 2));
  writeFile(problem / "notes.txt", "hello");
  fs::create_directories(problem / "heads=16,seq_k=8192,seq_q=8192.json");
  ASSERT_EQ(buckets("a", "").size(), 1u);
  EXPECT_EQ(buckets("a", "")[0].source.filename(), "heads=16,seq_k=1024,seq_q=1024.json");
  std::minstd_rand random = seeded(5);
  for (int i = 0; i < 300; ++i) {
    writeFile(problem / "heads=16,seq_k=1024,seq_q=1024.json", damaged(whole, random));
    EXPECT_TRUE(buckets("a", "").empty()) << i;
  }
}

TEST_F(ShippedTest, TheWinnerIsShippedWithWhatIsNotMuchSlower) {
  TuneRecord whole = sampleRecord();
  whole.winner->tile = whole.points[0].tile;
  whole.winner->medianUs = whole.points[0].medianUs = 100;
  whole.points[1].medianUs = 124;
  whole.points[2].medianUs = 126;
  TuneRecord small = shipped(whole);
  EXPECT_EQ(small.key, whole.key);
  EXPECT_EQ(small.winner, whole.winner);
  ASSERT_EQ(small.points.size(), 2u);
  EXPECT_EQ(small.points[0], whole.points[0]);
  EXPECT_EQ(small.points[1], whole.points[1]);
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
