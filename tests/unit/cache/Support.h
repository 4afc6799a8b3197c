// SPDX-License-Identifier: Apache-2.0
// What the tests of the caches share: folders of their own, sample contents, other processes, damaged files.
#ifndef FATTN_TESTS_UNIT_CACHE_SUPPORT_H
#define FATTN_TESTS_UNIT_CACHE_SUPPORT_H

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "runtime/cache/BinaryStore.h"
#include "runtime/cache/TunedStore.h"

namespace fattn::cache::test {

/// The tests' own files are as those of the cache: only this user's to write.
inline const mode_t kMask = umask(022);

/// A folder that goes with this object, whatever its permissions have become.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = testing::TempDir() + "fattn-cache-XXXXXX";
    path_ = mkdtemp(pattern.data());
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline compiler::Binary sampleBinary(int number, std::size_t size = 3000) {
  compiler::Binary binary{.target = "host",
                          .entry = "kernel" + std::to_string(number),
                          .bytes = "",
                          .args = {{"p", true, DType::F16}, {"n", false, DType::I64}},
                          .scratchBytes = 4096,
                          .sharedBytes = 17,
                          .threads = 128,
                          .registers = 255,
                          .spillBytes = 8,
                          .repeats = number % 2 == 1,
                          .counts = number % 4 == 3,
                          .cluster = number % 6 == 0 ? 2 : 1,
                          .overlaps = number % 3 == 1,
                          .dieOrder = {.dies = static_cast<std::uint8_t>(1 + number % 8), .first = static_cast<std::uint8_t>(number % 3)},
                          .tensorMaps = {{.pointer = 0,
                                          .elementBytes = 2,
                                          .swizzleBytes = 128,
                                          .sizes = {{64, {}}, {1, {1}}},
                                          .strides = {{2, {1}}},
                                          .boxColumns = 64,
                                          .boxRows = 128}},
                          .nonNegative = {1}};
  // Random bytes are slow to draw, so few are drawn and repeated. No page is a multiple of the period, so that exchanged pages differ.
  constexpr std::size_t kPeriod = 251;
  std::minstd_rand random(static_cast<unsigned>(number) + 1);
  std::string bytes;
  for (std::size_t i = 0; i < kPeriod; ++i) bytes += static_cast<char>(random());
  while (binary.bytes.size() < size) binary.bytes += bytes;
  binary.bytes.resize(size);
  return binary;
}

inline bool same(const compiler::Binary& a, const compiler::Binary& b) {
  auto fields = [](const compiler::Binary& x) {
    return std::tie(x.target, x.entry, x.bytes, x.scratchBytes, x.sharedBytes, x.threads, x.registers, x.spillBytes, x.repeats, x.counts,
                    x.cluster, x.overlaps, x.dieOrder, x.tensorMaps, x.nonNegative);
  };
  auto sameArg = [](const compiler::ArgInfo& x, const compiler::ArgInfo& y) {
    return x.name == y.name && x.isPointer == y.isPointer && x.type == y.type;
  };
  return fields(a) == fields(b) && std::ranges::equal(a.args, b.args, sameArg);
}

inline TuneKey sampleKey(std::int64_t rows = 1000) {
  return {.target = "host (some cpu)",
          .device = "Some \"CPU\", 8 threads",
          .driver = "none",
          .compiler = "0.1.0 abc LLVM 22.1.8",
          .kernel = std::string(64, 'a'),
          .shape = {{"heads", 12}, {"seq_k", rows}, {"seq_q", rows}}};
}

inline TunePoint samplePoint(int number) {
  return {.tile = {.block_m = 8 * (number % 128 + 1), .block_n = 8 * (number / 128 % 128 + 1)},
          .medianUs = 100.0 / 3 + number,
          .spreadUs = 0.1,
          .samples = 30,
          .timeMs = 1700000000000 + number};
}

inline TuneRecord sampleRecord() {
  TuneRecord record{
      .key = normalized(sampleKey()), .points = {}, .winner = TuneWinner{{.block_m = 64, .block_n = 32}, 31.5, 0.25, 17, "r1"}};
  for (int i = 0; i < 3; ++i) {
    record.points.push_back(samplePoint(i));
    record.points.back().run = "r1";
  }
  record.points.push_back(
      {.tile = {.block_m = 512}, .status = TunePoint::Status::Failed, .reason = "it \"broke\"", .timeMs = 1, .run = "r2"});
  record.points.push_back({.tile = {.block_m = 512, .stages = 8}, .status = TunePoint::Status::Pruned, .reason = "no room", .run = "r2"});
  TuneRecord sorted{.key = record.key, .points = {}, .winner = {}};
  merge(sorted, record);
  return sorted;
}

inline std::string readFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void writeFile(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The files of a store, without what unfinished writers left behind.
inline std::vector<std::filesystem::path> filesBelow(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, failed))
    if (entry.is_regular_file() && !entry.path().filename().string().starts_with(".")) files.push_back(entry.path());
  return files;
}

/// Runs a function in a process of its own. It ends without running the tests' own ends.
inline pid_t startProcess(const std::function<void()>& body) {
  pid_t child = fork();
  if (child != 0) return child;
  body();
  _exit(testing::Test::HasFailure() ? 1 : 0);
}
inline int waitFor(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/// Random numbers that are the same in every run, so that a failure can be repeated.
inline std::minstd_rand seeded(unsigned seed) { return std::minstd_rand(seed); }

/// One random damage: a changed, inserted or removed byte or range, a cut, a repetition, a foreign number.
std::string damaged(const std::string& file, std::minstd_rand& random);

/// Starts `body` 20 times, and more often until so many numbers are reported; kills it after a random time, and gives back the numbers it
/// had reported by then. `body` gets the number to begin with, and the function to report one with.
std::vector<int> killAtRandomMoments(std::size_t enough, const std::function<void(int, const std::function<void(int)>&)>& body);

}  // namespace fattn::cache::test

#endif
