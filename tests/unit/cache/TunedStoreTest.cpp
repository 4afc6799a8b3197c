// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <set>

#include "tests/unit/cache/Schema.h"
#include "tests/unit/cache/Support.h"

namespace fattn::cache {
namespace {

using namespace test;
using nlohmann::json;
namespace fs = std::filesystem;

struct TunedStoreTest : testing::Test {
  TemporaryFolder folder;
  Directory directory{folder.path()};
  TunedStore store{directory};

  std::string fileOf(const TuneKey& key) const {
    std::vector<fs::path> files = filesBelow(directory.path() / TunedStore::folderOf(key));
    return files.size() == 1 ? readFile(files[0]) : "";
  }
};

bool acceptAll(const TileConfig&) { return true; }

TEST(TunedBucket, ExtentsRoundUpToPowersOfTwo) {
  EXPECT_EQ(bucketOf({{"a", 1}, {"b", 1000}, {"c", 1024}, {"d", 1025}, {"e", 0}, {"f", INT64_MAX}}),
            (Shape{{"a", 1}, {"b", 1024}, {"c", 1024}, {"d", 2048}, {"e", 1}, {"f", std::int64_t{1} << 40}}));
}

TEST(TunedBucket, NamesReadBack) {
  for (const Shape& shape : {Shape{}, Shape{{"heads", 32}}, Shape{{"heads", 32}, {"seq_k", 4096}}}) {
    auto back = parseBucket(bucketName(shape));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, shape);
  }
  for (const char* bad : {"", "heads", "heads=", "heads=3", "heads=-2", "heads=02", "heads=2,", "heads=2,heads=2", "b=2,a=2", "../x=2",
                          "X=2", "a=2199023255552", "a=99999999999999999999", "heads=2/..", "any=2,any"})
    EXPECT_FALSE(parseBucket(bad)) << bad;
}

TEST_F(TunedStoreTest, RoundTripAndSchema) {
  TuneRecord record = sampleRecord();
  ASSERT_TRUE(store.record(sampleKey(), record.points, record.winner));
  EXPECT_EQ(store.read(sampleKey(900)), record);  // the same bucket
  EXPECT_EQ(TunedStore(directory).read(sampleKey()), record);
  std::string file = fileOf(sampleKey());
  json parsed = json::parse(file, nullptr, false);
  ASSERT_FALSE(parsed.is_discarded());
  EXPECT_EQ(validate(json::parse(readFile(FATTN_TUNED_SCHEMA)), parsed), "");
  EXPECT_EQ(std::ranges::count(file, '\n'), 6) << "one line a point";
}

TEST_F(TunedStoreTest, TheSchemaRejectsWhatTheReaderRejects) {
  json schema = json::parse(readFile(FATTN_TUNED_SCHEMA));
  json good = json::parse(encodeTuned(sampleRecord()));
  ASSERT_EQ(validate(schema, good), "");
  // Paths and what to put there; null removes.
  const std::pair<const char*, json> changes[] = {{"/format", "other"},
                                                  {"/version", 3},
                                                  {"/version", "1"},
                                                  {"/extra", 1},
                                                  {"/key", nullptr},
                                                  {"/key/shape/heads", 0},
                                                  {"/key/shape/Heads", 2},
                                                  {"/key/shape/heads", 1.5},
                                                  {"/key/device", 7},
                                                  {"/points", json::object()},
                                                  {"/points/0", "text"},
                                                  {"/points/0/tile", nullptr},
                                                  {"/points/0/status", "great"},
                                                  {"/points/0/median_us", -1},
                                                  {"/points/0/median_us", 0},
                                                  {"/points/0/median_us", "1"},
                                                  {"/points/0/spread_us", -0.5},
                                                  {"/points/0/samples", 0},
                                                  {"/points/0/samples", 1e300},
                                                  {"/points/0/extra", 1},
                                                  {"/points/0/run", 5},
                                                  {"/points/0/time_ms", -1},
                                                  {"/winner", json::array()},
                                                  {"/winner/tile", "BLOCK_M=64; rm"},
                                                  {"/winner/tile", json::array()},
                                                  {"/winner/median_us", nullptr},
                                                  {"/key/shape", json::array()},
                                                  {"/points/0/median_us", 1e300}};
  for (const auto& [path, value] : changes) {
    json bad = good;
    json::json_pointer at(path);
    if (value.is_null())
      bad.at(at.parent_pointer()).erase(at.back());
    else
      bad[at] = value;
    EXPECT_NE(validate(schema, bad), "") << path;
    bad.erase("checksum");
    EXPECT_FALSE(decodeTuned(sealTuned(bad.dump()))) << path;
  }
  good.erase("checksum");
  EXPECT_TRUE(decodeTuned(sealTuned(good.dump())));
}

TEST_F(TunedStoreTest, TenThousandDamagedFilesAreNoRecords) {
  std::string file = encodeTuned(sampleRecord());
  std::minstd_rand random = seeded(3);
  for (int i = 0; i < 10000; ++i) EXPECT_FALSE(decodeTuned(damaged(file, random))) << i;
}

TEST_F(TunedStoreTest, TenThousandSealedDamagesGiveLegalRecordsOrNone) {
  std::string file = encodeTuned(sampleRecord());
  std::string object = "{" + file.substr(file.find(',') + 1);
  std::minstd_rand random = seeded(4);
  int read = 0;
  for (int i = 0; i < 10000; ++i)
    if (auto record = decodeTuned(sealTuned(damaged(object, random)))) {
      ++read;
      for (const TunePoint& point : record->points) {
        EXPECT_NO_THROW(point.tile.validate());
        EXPECT_EQ(point.status == TunePoint::Status::Measured, point.medianUs > 0);
      }
      if (record->winner) {
        EXPECT_NO_THROW(record->winner->tile.validate());
      }
      auto again = decodeTuned(encodeTuned(*record));
      ASSERT_TRUE(again);
      EXPECT_EQ(*again, *record);
    }
  EXPECT_GT(read, 50);
}

TEST_F(TunedStoreTest, HostileFilesAreHarmless) {
  ASSERT_TRUE(store.record(sampleKey(), std::vector{samplePoint(1)}));
  fs::path where = directory.path() / TunedStore::folderOf(sampleKey());
  std::string deep = "{\"points\":" + std::string(1000000, '[') + std::string(1000000, ']') + "}";
  writeFile(where / "0123456789abcdef-1.json", sealTuned(deep));
  writeFile(where / "0123456789abcdef-2.json", sealTuned("{" + std::string(3000000, '{')));
  writeFile(where / "0123456789abcdef-3.json", std::string(10000, '\0'));
  writeFile(where / "0123456789abcdef-4.json", "");
  fs::resize_file(where / "0123456789abcdef-4.json", std::uint64_t{1} << 40);
  fs::create_directories(where / "0123456789abcdef-5.json");
  fs::create_symlink("/dev/zero", where / "0123456789abcdef-6.json");
  ASSERT_EQ(mkfifo((where / "0123456789abcdef-7.json").c_str(), 0600), 0);
  TuneRecord foreign = sampleRecord();
  foreign.key.device = "another device";
  foreign.winner->tile.block_m = 1024;
  writeFile(where / "0123456789abcdef-8.json", encodeTuned(foreign));
  for (const char* name : {"seq_q=1024", "heads=16,seq_k=..,seq_q=1024", "heads=16,seq_k=3,seq_q=1024", "%n%s"})
    writeFile(where.parent_path() / name / "0123456789abcdef-9.json", encodeTuned(foreign));
  TuneRecord found = store.read(sampleKey());
  ASSERT_EQ(found.points.size(), 1u);
  EXPECT_FALSE(found.winner);
  EXPECT_TRUE(store.buckets(sampleKey(), acceptAll).empty()) << "nothing finished";
  EXPECT_EQ(store.all().size(), 1u);
  EXPECT_TRUE(store.record(sampleKey(), std::vector{samplePoint(2)}));
}

TEST_F(TunedStoreTest, WhatItsOwnRulesForbidIsNotWritten) {
  TunePoint bad = samplePoint(1);
  bad.medianUs = -1;
  testing::internal::CaptureStderr();
  EXPECT_FALSE(store.record(sampleKey(), std::vector{bad}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "fattn: error: the cache does not keep a tuning result that its own rules forbid, for " +
                TunedStore::folderOf(sampleKey()).string() + "\n");
  EXPECT_TRUE(store.record(sampleKey(), std::vector{samplePoint(1)}));
}

TEST_F(TunedStoreTest, BucketsAreTheTuningsThatFinished) {
  EXPECT_TRUE(store.buckets(sampleKey(), acceptAll).empty());
  EXPECT_TRUE(store.empty());
  ASSERT_TRUE(store.record(sampleKey(4000), std::vector{samplePoint(5), samplePoint(3)}));
  EXPECT_TRUE(store.buckets(sampleKey(4000), acceptAll).empty()) << "points without a verdict choose nothing";
  ASSERT_TRUE(store.record(sampleKey(1000), std::vector{samplePoint(7)}, TuneWinner{{.block_m = 40}, 50, 1, 1, ""}));
  auto found = store.buckets(sampleKey(5), acceptAll);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(bucketName(found[0].shape), "heads=16,seq_k=1024,seq_q=1024");
  EXPECT_EQ(found[0].winner.tile.block_m, 40);
  ASSERT_EQ(found[0].times.size(), 2u);
  EXPECT_EQ(found[0].times[0].second, 50);
  EXPECT_EQ(found[0].times[1].first, samplePoint(7).tile);
  EXPECT_EQ(found[0].source, directory.path() / TunedStore::folderOf(sampleKey()));
  EXPECT_FALSE(found[0].shipped);
  EXPECT_TRUE(store.buckets(sampleKey(), [](const TileConfig& tile) { return tile.block_m != 40; }).empty());
  // Another kernel, device, compiler or target has nothing.
  for (auto part : {&TuneKey::target, &TuneKey::device, &TuneKey::driver, &TuneKey::compiler, &TuneKey::kernel}) {
    TuneKey other = sampleKey();
    (other.*part) += "x";
    EXPECT_TRUE(store.buckets(other, acceptAll).empty());
  }
}

TEST_F(TunedStoreTest, RanksOfSchedulesAreDroppedWithAMessage) {
  std::string old = encodeTuned(sampleRecord());
  const auto replace = [&](std::string_view from, std::string_view to) { old.replace(old.find(from), from.size(), to); };
  replace("\"version\":2", "\"version\":1");
  ASSERT_EQ(decodeTuned(sealTuned("{" + old.substr(old.find(',') + 1)))->points.size(), 5u) << "without ranks it is as good as ever";
  replace("BLOCK_M=64,BLOCK_N=32", "BLOCK_M=64,BLOCK_N=32,SCHEDULE=3");  // the winner
  replace("BLOCK_M=8,BLOCK_N=8", "BLOCK_M=8,BLOCK_N=8,SCHEDULE=2");
  const std::string file = sealTuned("{" + old.substr(old.find(',') + 1));
  const std::optional<TuneRecord> record = decodeTuned(file);
  ASSERT_TRUE(record);
  EXPECT_FALSE(record->winner);
  EXPECT_EQ(record->points.size(), 4u);
  EXPECT_EQ(record->dropped, 2u);
  const fs::path path = directory.path() / TunedStore::folderOf(sampleKey()) / "0123456789abcdef-10.json";
  writeFile(path, file);
  testing::internal::CaptureStderr();
  EXPECT_EQ(store.read(sampleKey()).points.size(), 4u);
  EXPECT_EQ(store.read(sampleKey()).points.size(), 4u);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "fattn: warning: tuned configurations that name a schedule by its rank are ignored, as ranks mean something else with every "
            "compiler: " +
                path.string() + " holds 2; fattn-tune measures them anew\n");
  // As version 2 such a file is none.
  std::string now = encodeTuned(sampleRecord());
  now.replace(now.find("BLOCK_N=32"), 10, "SCHEDULE=3");
  EXPECT_FALSE(decodeTuned(sealTuned("{" + now.substr(now.find(',') + 1))));
}

TEST_F(TunedStoreTest, ScheduleTextsAndUntriedCandidatesAreKept) {
  TuneRecord record = sampleRecord();
  record.winner->tile.schedule = "A B1 a b";
  record.winner->untried = 7;
  record.points[0].tile.schedule = "A a B1 b";
  const std::string file = encodeTuned(record);
  EXPECT_EQ(decodeTuned(file), record);
  EXPECT_EQ(validate(json::parse(readFile(FATTN_TUNED_SCHEMA)), json::parse(file)), "");
}

TEST(TunedMerge, OrderAndRepetitionDoNotMatter) {
  std::minstd_rand random = seeded(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<TuneRecord> parts(4);
    for (TuneRecord& part : parts) {
      for (int i = 0; i < 5; ++i) {
        TunePoint point = samplePoint(static_cast<int>(random() % 4));
        point.run = "r" + std::to_string(random() % 2);
        point.timeMs = random() % 3;
        point.medianUs = 1 + random() % 3;
        part.points.push_back(point);
      }
      if (random() % 2)
        part.winner =
            TuneWinner{{.block_m = 8}, 1.0 + random() % 3, 0, static_cast<std::int64_t>(random() % 3), "r" + std::to_string(random() % 2)};
    }
    TuneRecord forward, backward;
    for (int i = 0; i < 4; ++i) merge(forward, parts[static_cast<std::size_t>(i)]);
    for (int i : {3, 2, 1, 0, 2, 3}) merge(backward, parts[static_cast<std::size_t>(i)]);
    ASSERT_EQ(forward, backward);
  }
}

TEST_F(TunedStoreTest, TwoWritersLoseNothing) {
  TunedStore other(directory);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE((i % 2 ? store : other).record(sampleKey(), std::vector{samplePoint(i)}));
  EXPECT_EQ(store.read(sampleKey()).points.size(), 20u);
  EXPECT_EQ(filesBelow(directory.path()).size(), 2u);
}

TEST_F(TunedStoreTest, FilesOfEarlierWritersBecomeOne) {
  for (int i = 0; i < 5; ++i) {
    TunedStore writer(directory);
    ASSERT_TRUE(writer.record(sampleKey(), std::vector{samplePoint(i)}));
  }
  EXPECT_EQ(filesBelow(directory.path()).size(), 5u);
  TunedStore taking(directory, TunedStore::kDefaultBytes, /*settledSeconds=*/-1);
  ASSERT_TRUE(store.record(sampleKey(), std::vector{samplePoint(5)}));
  ASSERT_TRUE(taking.record(sampleKey(), std::vector{samplePoint(6)}));
  EXPECT_EQ(filesBelow(directory.path()).size(), 1u);
  EXPECT_EQ(taking.read(sampleKey()).points.size(), 7u);
  // A writer whose file was taken is alive, and writes all that it knows again.
  ASSERT_TRUE(store.record(sampleKey(), std::vector{samplePoint(7)}));
  EXPECT_EQ(taking.read(sampleKey()).points.size(), 8u);
}

// A history beyond what a file may have failed the next tuning, with a hint about something else.
TEST_F(TunedStoreTest, HistoryIsTrimmedByAgeAndSize) {
  std::vector<TunePoint> old, many;
  for (int i = 0; i < 10; ++i) {
    old.push_back(samplePoint(i));
    old.back().timeMs -= std::int64_t{400} * 24 * 3600 * 1000;
  }
  ASSERT_TRUE(TunedStore(directory).record(sampleKey(), old));
  for (int i = 0; i < 30000; ++i) {
    many.push_back({.tile = {.block_m = 8 * (i % 128 + 1)},
                    .status = TunePoint::Status::Failed,
                    .reason = std::string(500, 'x'),
                    .timeMs = 1700000000000 + i,
                    .run = std::to_string(i)});
  }
  ASSERT_TRUE(TunedStore(directory).record(sampleKey(), many, TuneWinner{{.block_m = 8}, 1, 0, 1, "r"}));
  TunedStore taking(directory, TunedStore::kDefaultBytes, /*settledSeconds=*/-1);
  ASSERT_TRUE(taking.record(sampleKey(), std::vector{samplePoint(40000)}));
  const TuneRecord kept = taking.read(sampleKey());
  EXPECT_GT(kept.points.size(), 5000u);
  EXPECT_LE(kept.points.size(), 20000u);
  EXPECT_TRUE(kept.winner);
  EXPECT_EQ(std::ranges::max(kept.points, {}, &TunePoint::timeMs).timeMs, samplePoint(40000).timeMs);
  EXPECT_GT(std::ranges::min(kept.points, {}, &TunePoint::timeMs).timeMs, 1700000000000 + 9999) << "the oldest go first";
  for (const fs::path& file : filesBelow(directory.path())) EXPECT_LE(fs::file_size(file), std::uintmax_t{16} << 20);
}

TEST_F(TunedStoreTest, KilledWritersLoseNothingReported) {
  std::vector<int> reported = killAtRandomMoments(10, [&](int first, const std::function<void(int)>& report) {
    TunedStore writer(directory, TunedStore::kDefaultBytes, /*settledSeconds=*/-1);  // takes the files of those killed before
    for (int i = 0;; ++i) {
      TunePoint point = samplePoint(i);
      point.timeMs = first + i;
      point.run = "round" + std::to_string(first);
      if (!writer.record(sampleKey(), std::vector{point})) _exit(1);
      report(first + i);
    }
  });
  EXPECT_GE(reported.size(), 10u);
  std::set<std::int64_t> there;
  for (const TunePoint& point : store.read(sampleKey()).points) there.insert(point.timeMs);
  for (int number : reported) EXPECT_TRUE(there.contains(number)) << number;
  for (const fs::path& file : filesBelow(directory.path())) EXPECT_TRUE(decodeTuned(readFile(file))) << file;
}

TEST_F(TunedStoreTest, EightProcessesTuneTheSameAndDifferentKeys) {
  std::vector<pid_t> children;
  for (int p = 0; p < 8; ++p)
    children.push_back(startProcess([&, p] {
      TunedStore writer(directory, TunedStore::kDefaultBytes, /*settledSeconds=*/p % 2 ? -1 : 3600);  // some also take files meanwhile
      for (int i = 0; i < 30; ++i) {
        EXPECT_TRUE(writer.record(sampleKey(), std::vector{samplePoint(p * 30 + i)}));
        EXPECT_TRUE(writer.record(sampleKey(std::int64_t{4096} << p), std::vector{samplePoint(i)}));
        EXPECT_GE(writer.read(sampleKey()).points.size(), static_cast<std::size_t>(i));
      }
      EXPECT_TRUE(writer.record(sampleKey(std::int64_t{4096} << p), {}, TuneWinner{{.block_m = 8 * (p + 1)}, 1, 0, 1, ""}));
    }));
  for (pid_t child : children) EXPECT_EQ(waitFor(child), 0);
  EXPECT_EQ(store.read(sampleKey()).points.size(), 240u);
  for (int p = 0; p < 8; ++p) {
    TuneRecord own = store.read(sampleKey(std::int64_t{4096} << p));
    EXPECT_EQ(own.points.size(), 30u);
    ASSERT_TRUE(own.winner);
    EXPECT_EQ(own.winner->tile.block_m, 8 * (p + 1));
  }
  EXPECT_EQ(store.all().size(), 9u);
}

TEST_F(TunedStoreTest, PruningKeepsTheBound) {
  for (int i = 0; i < 30; ++i) {
    TunedStore writer(directory, 5000);
    ASSERT_TRUE(writer.record(sampleKey(std::int64_t{1} << i), std::vector{samplePoint(i)}));
    std::uint64_t bytes = 0;
    for (const fs::path& file : filesBelow(directory.path())) bytes += fs::file_size(file);
    ASSERT_LE(bytes, 5000u);
    ASSERT_EQ(store.read(sampleKey(std::int64_t{1} << i)).points.size(), 1u);
  }
}

}  // namespace
}  // namespace fattn::cache
