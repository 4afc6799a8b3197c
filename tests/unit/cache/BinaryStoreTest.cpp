// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cstdlib>
#include <set>
#include <thread>

#include "tests/unit/cache/Support.h"

namespace fattn::cache {
namespace {

using namespace test;
namespace fs = std::filesystem;

Digest keyOf(int number) { return BinaryStore::keyOf("identity " + std::to_string(number)); }

struct BinaryStoreTest : testing::Test {
  TemporaryFolder folder;
  Directory directory{folder.path()};
  BinaryStore store{directory};
};

TEST_F(BinaryStoreTest, RoundTrip) {
  EXPECT_FALSE(store.load(keyOf(1)));
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(store.save(keyOf(i), sampleBinary(i, static_cast<std::size_t>(i * 100))));
  for (int i = 0; i < 40; ++i) {
    auto found = store.load(keyOf(i));
    ASSERT_TRUE(found) << i;
    EXPECT_TRUE(same(*found, sampleBinary(i, static_cast<std::size_t>(i * 100)))) << i;
  }
  EXPECT_FALSE(store.load(keyOf(40)));
}

// The example of docs/cache-format.md, byte for byte.
TEST_F(BinaryStoreTest, TheFileIsTheSpecifiedOne) {
  Digest key{};
  key[0] = 0xab;
  compiler::Binary binary{.target = "host", .entry = "f", .bytes = "ELF", .args = {{"p", true, DType::F16}}, .scratchBytes = 64};
  std::string expected = std::string("fattnbin") + std::string("\x08\0\0\0\0\0\0\0", 8) + std::string("\xa7\0\0\0\0\0\0\0", 8) +
                         std::string(reinterpret_cast<const char*>(key.data()), 32) + std::string("\4\0\0\0host\1\0\0\0f", 13) +
                         std::string("\x40\0\0\0\0\0\0\0", 8) + std::string(8, '\0') + std::string(12, '\0') + std::string(3, '\0') +
                         std::string("\1\1\0", 3) + std::string("\1\0\0\0", 4) + std::string("\1\0\0\0p\1\3\0\0\0f16", 13) +
                         std::string(8, '\0') + std::string("\3\0\0\0ELF", 7);
  Digest digest = hash(expected);
  expected.append(reinterpret_cast<const char*>(digest.data()), 32);
  EXPECT_EQ(encodeBinary(key, binary), expected);
  EXPECT_EQ(expected.size(), 0xa7u);
  EXPECT_EQ(BinaryStore::fileOf(key), "binaries/a/ab" + std::string(62, '0') + ".bin");
}

// The part of the file about tensor maps, byte for byte.
TEST_F(BinaryStoreTest, TensorMapsAreTheSpecifiedBytes) {
  compiler::Binary binary{.entry = "f", .args = {{"p", true, DType::F16}, {"n", false, DType::I32}}};
  std::string without = encodeBinary({}, binary);
  binary.tensorMaps = {{.pointer = 0,
                        .elementBytes = 4,
                        .swizzleBytes = 64,
                        .sizes = {{32, {}}, {1, {1}}},
                        .strides = {{2, {1, 1}}},
                        .boxColumns = 32,
                        .boxRows = 8,
                        .adds = true}};
  binary.nonNegative = {1};
  std::string with = encodeBinary({}, binary);
  std::string maps = std::string("\1\0\0\0", 4) + std::string("\0\0\0\0\4\0\0\0\x40\0\0\0\x20\0\0\0\x8\0\0\0\1", 21) +
                     std::string("\2\0\0\0", 4) + std::string("\x20\0\0\0\0\0\0\0\0\0\0\0", 12) +
                     std::string("\1\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0", 16) + std::string("\1\0\0\0", 4) +
                     std::string("\2\0\0\0\0\0\0\0\2\0\0\0\1\0\0\0\1\0\0\0", 20) + std::string("\1\0\0\0\1\0\0\0", 8);
  constexpr std::size_t none = 8, code = 4, digest = 32;  // bytes: of two empty lists, of empty code, of the checksum
  std::size_t at = without.size() - digest - code - none;
  EXPECT_EQ(with.substr(24, at - 24), without.substr(24, at - 24));
  EXPECT_EQ(with.substr(at, with.size() - at - code - digest), maps);
  auto found = decodeBinary(with, {});
  ASSERT_TRUE(found);
  EXPECT_TRUE(same(*found, binary));
}

// What a map or a condition names has to be an argument of the right kind; a launch reads it without a look.
TEST_F(BinaryStoreTest, MapsOfWhatIsNoArgumentAreNoBinaries) {
  auto decoded = [](const auto& change) {
    compiler::Binary binary = sampleBinary(1, 40);
    change(binary);
    return decodeBinary(encodeBinary({}, binary), {}).has_value();
  };
  EXPECT_TRUE(decoded([](compiler::Binary&) {}));
  for (int argument : {-1, 0, 2}) {
    EXPECT_FALSE(decoded([&](compiler::Binary& b) { b.nonNegative = {argument}; })) << argument;
    EXPECT_FALSE(decoded([&](compiler::Binary& b) { b.tensorMaps[0].sizes[1].arguments = {argument}; })) << argument;
    EXPECT_FALSE(decoded([&](compiler::Binary& b) { b.tensorMaps[0].strides[0].arguments = {1, argument}; })) << argument;
  }
  for (int argument : {-1, 1, 2}) EXPECT_FALSE(decoded([&](compiler::Binary& b) { b.tensorMaps[0].pointer = argument; })) << argument;
  EXPECT_FALSE(decoded([](compiler::Binary& b) { b.tensorMaps[0].strides.clear(); }));
  EXPECT_FALSE(decoded([](compiler::Binary& b) { b.tensorMaps[0].sizes.resize(1), b.tensorMaps[0].strides.clear(); }));
  EXPECT_FALSE(decoded([](compiler::Binary& b) { b.tensorMaps[0].sizes.resize(6), b.tensorMaps[0].strides.resize(5); }));
  EXPECT_FALSE(decoded([](compiler::Binary& b) { b.tensorMaps[0].boxRows = -1; }));
  EXPECT_FALSE(decoded([](compiler::Binary& b) { b.tensorMaps[0].elementBytes = 2, b.tensorMaps[0].adds = true; }));
  EXPECT_FALSE(decoded([](compiler::Binary& b) { b.tensorMaps.resize(65, b.tensorMaps[0]); }));
}

TEST_F(BinaryStoreTest, TenThousandDamagedFilesAreNoBinaries) {
  std::string file = encodeBinary(keyOf(1), sampleBinary(1));
  std::minstd_rand random = seeded(1);
  for (int i = 0; i < 10000; ++i) EXPECT_FALSE(decodeBinary(damaged(file, random), keyOf(1))) << i;
  EXPECT_FALSE(decodeBinary(file, keyOf(2)));
  EXPECT_FALSE(decodeBinary("", keyOf(1)));
}

// A checksum can be made by anybody: what it covers has to be read with care as well.
TEST_F(BinaryStoreTest, TenThousandSealedDamagesAreReadSafely) {
  compiler::Binary binary = sampleBinary(1, 40);
  std::string file = encodeBinary(keyOf(1), binary);
  std::minstd_rand random = seeded(2);
  int read = 0;
  for (int i = 0; i < 10000; ++i) {
    std::string changed = damaged(file.substr(56, file.size() - 56 - 32), random);
    std::uint64_t size = 56 + changed.size() + 32;
    changed.insert(0, file.substr(0, 16) + std::string(reinterpret_cast<const char*>(&size), 8) + file.substr(24, 32));
    Digest digest = hash(changed);
    changed.append(reinterpret_cast<const char*>(digest.data()), 32);
    if (auto found = decodeBinary(changed, keyOf(1))) {
      ++read;
      EXPECT_EQ(encodeBinary(keyOf(1), *found), changed);
    }
  }
  EXPECT_GT(read, 100);
}

TEST_F(BinaryStoreTest, DamagedFilesAreReplaced) {
  fs::path path = directory.path() / BinaryStore::fileOf(keyOf(1));
  for (const std::string& content : {std::string(), std::string("short"), std::string(5000, 'x')}) {
    writeFile(path, content);
    EXPECT_FALSE(store.load(keyOf(1)));
    EXPECT_TRUE(store.save(keyOf(1), sampleBinary(1)));
    EXPECT_TRUE(store.load(keyOf(1)));
  }
}

TEST_F(BinaryStoreTest, WhatIsNoOrdinaryFileIsReplaced) {
  fs::path path = directory.path() / BinaryStore::fileOf(keyOf(1));
  ASSERT_TRUE(store.save(keyOf(1), sampleBinary(1)));
  writeFile(folder.path() / "elsewhere", readFile(path));
  auto replaced = [&] { return !store.load(keyOf(1)) && store.save(keyOf(1), sampleBinary(1)) && store.load(keyOf(1)).has_value(); };
  fs::remove(path);
  fs::create_symlink(folder.path() / "elsewhere", path);
  EXPECT_TRUE(replaced());
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(replaced());
  fs::remove(path);
  writeFile(path, "");
  fs::resize_file(path, std::uint64_t{1} << 40);  // sparse: a file of a terabyte
  EXPECT_TRUE(replaced());
}

TEST_F(BinaryStoreTest, CodeThatOthersMayHaveWrittenIsNotRead) {
  fs::path path = directory.path() / BinaryStore::fileOf(keyOf(1));
  ASSERT_TRUE(store.save(keyOf(1), sampleBinary(1)));
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  EXPECT_FALSE(store.load(keyOf(1)));
  ASSERT_TRUE(store.save(keyOf(1), sampleBinary(1)));
  EXPECT_TRUE(store.load(keyOf(1)));
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user; the rest of this test has passed";
  ASSERT_EQ(chmod(path.parent_path().c_str(), 0777), 0);
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(store.load(keyOf(1)));
}

TEST_F(BinaryStoreTest, PruningKeepsTheBoundAndTheLatestUsed) {
  constexpr std::uint64_t bound = 16 * 20000;
  BinaryStore small(directory, bound);
  auto total = [&] {
    std::uint64_t bytes = 0;
    for (const fs::path& file : filesBelow(directory.path())) bytes += fs::file_size(file);
    return bytes;
  };
  ASSERT_TRUE(small.save(keyOf(0), sampleBinary(0)));
  auto old = fs::file_time_type::clock::now() - std::chrono::hours(5);
  for (int i = 1; i < 400; ++i) {
    ASSERT_TRUE(small.save(keyOf(i), sampleBinary(i)));
    ASSERT_TRUE(small.load(keyOf(i))) << "the newest stays";
    ASSERT_LE(total(), bound);
    fs::last_write_time(directory.path() / BinaryStore::fileOf(keyOf(i)), old + std::chrono::seconds(i));
    ASSERT_TRUE(small.load(keyOf(0))) << "what is used stays, " << i;
    fs::last_write_time(directory.path() / BinaryStore::fileOf(keyOf(0)), fs::file_time_type::clock::now() - std::chrono::minutes(30));
    ASSERT_TRUE(small.load(keyOf(0)));
  }
  EXPECT_GT(total(), bound / 2);
}

// FATTN_FILES: how many.
TEST_F(BinaryStoreTest, AFolderOfManyFilesIsReadWrittenAndPruned) {
  ASSERT_TRUE(store.save(keyOf(1), sampleBinary(1)));
  const fs::path shard = (directory.path() / BinaryStore::fileOf(keyOf(1))).parent_path();
  const char* text = std::getenv("FATTN_FILES");
  const int count = text != nullptr ? static_cast<int>(std::strtol(text, nullptr, 10)) : 1000;
  for (int i = 0; i < count; ++i) {
    std::string name = std::to_string(i);
    writeFile(shard / (shard.filename().string() + std::string(63 - name.size(), '0') + name + ".bin"), "x");
  }
  EXPECT_TRUE(store.load(keyOf(1)));
  EXPECT_TRUE(store.save(keyOf(1), sampleBinary(1)));
  EXPECT_EQ(directory.prune("binaries", 0), 0u);
  EXPECT_TRUE(fs::is_empty(shard));
}

TEST_F(BinaryStoreTest, WhatKilledWritersLeftIsRemovedInTime) {
  ASSERT_TRUE(store.save(keyOf(1), sampleBinary(1)));
  fs::path shard = (directory.path() / BinaryStore::fileOf(keyOf(1))).parent_path();
  writeFile(shard / ".tmp-1-2-3", "half");
  writeFile(shard / ".tmp-1-2-4", "half");
  fs::last_write_time(shard / ".tmp-1-2-3", fs::file_time_type::clock::now() - std::chrono::hours(2));
  ASSERT_TRUE(store.save(keyOf(1), sampleBinary(1)));
  EXPECT_FALSE(fs::exists(shard / ".tmp-1-2-3"));
  EXPECT_TRUE(fs::exists(shard / ".tmp-1-2-4"));
}

TEST_F(BinaryStoreTest, KilledWritersLoseNothingReported) {
  std::vector<int> reported = killAtRandomMoments(100, [&](int first, const std::function<void(int)>& report) {
    for (int i = first;; ++i) {
      if (!store.save(keyOf(i % 300), sampleBinary(i % 300, 60000))) _exit(1);
      report(i % 300);
    }
  });
  EXPECT_GE(reported.size(), 100u);
  for (int number : std::set<int>(reported.begin(), reported.end())) {
    auto found = store.load(keyOf(number));
    ASSERT_TRUE(found) << number;
    EXPECT_TRUE(same(*found, sampleBinary(number, 60000)));
  }
  for (const fs::path& file : filesBelow(directory.path())) EXPECT_GT(fs::file_size(file), 60000u) << file;
}

TEST_F(BinaryStoreTest, EightProcessesWithTwoThreadsEach) {
  std::vector<pid_t> children;
  for (int p = 0; p < 8; ++p)
    children.push_back(startProcess([&, p] {
      auto work = [&](int t) {
        for (int i = 0; i < 40; ++i)
          for (int number : {i, 1000 + p * 100 + t * 50 + i}) {  // the same for all, and one's own
            EXPECT_TRUE(store.save(keyOf(number), sampleBinary(number)));
            auto found = store.load(keyOf(number));
            EXPECT_TRUE(found && same(*found, sampleBinary(number))) << number;
          }
      };
      std::jthread other(work, 1);
      work(0);
    }));
  for (pid_t child : children) EXPECT_EQ(waitFor(child), 0);
  EXPECT_EQ(filesBelow(directory.path()).size(), 40u + 8 * 2 * 40);
  for (int p = 0; p < 8; ++p)
    for (int t = 0; t < 2; ++t)
      for (int i = 0; i < 40; ++i) EXPECT_TRUE(store.load(keyOf(1000 + p * 100 + t * 50 + i)));
}

}  // namespace
}  // namespace fattn::cache
