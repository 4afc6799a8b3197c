// SPDX-License-Identifier: Apache-2.0
// fattn::compile and the caches on disk, in processes of their own.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "tests/support/Command.h"
#include "tests/unit/cache/Support.h"
#include "tools/fattn-tune/AttentionProblem.h"

namespace fattn::cache {
namespace {

using namespace test;
namespace fs = std::filesystem;

struct Outcome {
  std::string verdict, origin, tile, explanation, warnings;
  double ms = 0;
  int status = -1;
};

// Runs the probe in a shell whose environment holds `environment` and nothing of fattn's else.
Outcome probe(const std::string& environment, const std::string& arguments = "") {
  TemporaryFolder folder;
  std::string errors = (folder.path() / "errors").string();
  std::string command = "FATTN_TUNED_DIR= env -u FATTN_ALWAYS_COMPILE -u FATTN_CACHE_DIR -u FATTN_TUNE " + environment +
                        " " FATTN_CACHE_PROBE " " + arguments + " 2>" + errors;
  Outcome run;
  auto [status, output] = fattn::test::runCommand(command);
  run.status = status;
  std::istringstream in(output);
  in >> run.verdict >> run.origin >> run.tile >> run.ms;
  in.ignore();
  run.explanation = {std::istreambuf_iterator<char>(in), {}};
  if (run.explanation.ends_with('\n')) run.explanation.pop_back();
  run.warnings = readFile(errors);
  EXPECT_EQ(run.status, 0) << command << "\n" << output << run.warnings;
  return run;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlack = 20;
#else
constexpr double kSlack = 1;
#endif

struct CompileCacheTest : testing::Test {
  TemporaryFolder folder;
  std::string here = "FATTN_CACHE_DIR=" + folder.path().string();

  fs::path onlyBinary() const {
    std::vector<fs::path> files = filesBelow(folder.path() / "v1/binaries");
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? fs::path() : files[0];
  }
};

TEST_F(CompileCacheTest, AFreshProcessFindsTheCodeInLessThanTenMilliseconds) {
  Outcome first = probe(here);
  EXPECT_EQ(first.origin, "compiled");
  EXPECT_EQ(first.explanation,
            "supported on host with BLOCK_M=64,BLOCK_N=64: the default, as nothing is tuned for this kernel on this device");
  double best = 1e9;  // other processes share the machine
  for (int i = 0; i < 10; ++i) {
    Outcome again = probe(here);
    EXPECT_EQ(again.origin, "found");
    EXPECT_EQ(again.verdict, "right");
    EXPECT_EQ(again.warnings, "");
    best = std::min(best, again.ms);
  }
  std::printf("compiled: %.1f ms, found by a fresh process: %.2f ms\n", first.ms, best);
  EXPECT_LT(best, 10 * kSlack);
  EXPECT_EQ(probe(here, "24").origin, "compiled");
  EXPECT_EQ(probe(here + " FATTN_ALWAYS_COMPILE=1").origin, "compiled");
  EXPECT_EQ(probe(here + " FATTN_ALWAYS_COMPILE=0").origin, "found");
  EXPECT_EQ(probe(here + " FATTN_DUMP_DIR=" + (folder.path() / "dump").string()).origin, "compiled") << "the stages are asked for";
}

TEST_F(CompileCacheTest, DamagedCodeIsCompiledAnewAndReplaced) {
  probe(here);
  fs::path file = onlyBinary();
  std::string whole = readFile(file);
  for (const std::string& content : {std::string(), whole.substr(0, 1000), std::string(whole).replace(whole.size() / 2, 1, "?")}) {
    if (content == whole) continue;
    writeFile(file, content);
    Outcome run = probe(here);
    EXPECT_EQ(run.origin, "compiled");
    EXPECT_EQ(run.warnings, "");
    EXPECT_EQ(readFile(file), whole);
  }
  EXPECT_EQ(probe(here).origin, "found");
}

// A file that is whole but holds what does not load, or takes other arguments: what a bug of ours might leave there.
TEST_F(CompileCacheTest, CodeThatDoesNotLoadIsCompiledAnewAndReplaced) {
  probe(here);
  fs::path file = onlyBinary();
  std::string whole = readFile(file);
  Digest key;
  std::copy_n(whole.begin() + 24, key.size(), reinterpret_cast<char*>(key.data()));
  auto good = decodeBinary(whole, key);
  ASSERT_TRUE(good);
  for (auto change : {+[](compiler::Binary& b) { b.bytes = "no object file"; }, +[](compiler::Binary& b) { b.args.pop_back(); },
                      +[](compiler::Binary& b) { b.entry = "another"; }, +[](compiler::Binary& b) { b.target = "cuda:0"; }}) {
    compiler::Binary bad = *good;
    change(bad);
    writeFile(file, encodeBinary(key, bad));
    EXPECT_EQ(probe(here).origin, "compiled");
    EXPECT_EQ(readFile(file), whole);
  }
}

TEST_F(CompileCacheTest, AFolderThatCannotBeWrittenIsOneWarning) {
  const std::string hint = "; every process compiles anew until FATTN_CACHE_DIR names a folder that can be written\n";
  auto checked = [&](const std::string& environment, const std::string& arguments, const std::string& warning) {
    Outcome run = probe(environment, arguments);
    EXPECT_EQ(run.verdict, "right") << environment;
    EXPECT_EQ(run.origin, "compiled") << environment;
    EXPECT_TRUE(run.warnings.starts_with("fattn: warning: " + warning) && run.warnings.ends_with(hint)) << run.warnings;
    EXPECT_EQ(std::ranges::count(run.warnings, '\n'), 1) << run.warnings;
  };
  checked("-u XDG_CACHE_HOME -u HOME", "", "there is no folder for the cache");
  writeFile(folder.path() / "file", "x");
  checked(here + "/file", "", "the cache cannot write " + (folder.path() / "file/v1/binaries/").string());
  checked("FATTN_CACHE_DIR=/dev/full", "", "the cache cannot write /dev/full/v1/binaries/");
  checked("FATTN_CACHE_DIR=/proc/fattn", "", "the cache cannot write /proc/fattn/v1/binaries/");
  fs::create_directories(folder.path() / "read-only");
  chmod((folder.path() / "read-only").c_str(), 0555);
  chmod(folder.path().c_str(), 0755);
  checked(here + "/read-only", geteuid() == 0 ? "nobody" : "",
          "the cache cannot write " + (folder.path() / "read-only/v1/binaries/").string());
  checked(here + "/small sh -c 'ulimit -f 1; exec \"$0\" \"$@\"'", "",
          "the cache cannot write " + (folder.path() / "small/v1/binaries/").string());
}

TEST_F(CompileCacheTest, TheTunedConfigurationIsUsedAndExplained) {
  Directory directory(folder.path());
  TunedStore store(directory);
  TuneKey key = kernels::tuneKey({.dtype = DType::F32, .head_dim = 16, .target = "host"});
  EXPECT_EQ(key.shape, (Shape{{"heads", 32}, {"seq_q", 2048}, {"seq_k", 2048}}));
  std::string where = " in " + (directory.path() / TunedStore::folderOf(key)).string();
  ASSERT_TRUE(store.record(key, std::vector{TunePoint{.tile = {.block_m = 32, .block_n = 16}, .medianUs = 1234.56, .samples = 3}}));
  Outcome unfinished = probe(here);
  EXPECT_EQ(unfinished.tile, "BLOCK_M=64,BLOCK_N=64");
  EXPECT_EQ(unfinished.explanation,
            "supported on host with BLOCK_M=64,BLOCK_N=64: the default, as nothing is tuned for this kernel on this device; the tuning for "
            "heads=32,seq_k=2048,seq_q=2048 is unfinished, and fattn-tune --resume goes on with it");
  // An illegal winner for this kernel is passed over: BLOCK_K is no choice of attention.
  ASSERT_TRUE(store.record(key, {}, TuneWinner{{.block_m = 8, .block_k = 8}, 1, 0, 1, ""}));
  EXPECT_EQ(probe(here).explanation,
            "supported on host with BLOCK_M=64,BLOCK_N=64: the default, as nothing is tuned for this kernel on this device");
  ASSERT_TRUE(store.record(key, {}, TuneWinner{{.block_m = 16}, 987.65, 0, 2, ""}));
  Outcome tuned = probe(here);
  EXPECT_EQ(tuned.tile, "BLOCK_M=16,BLOCK_N=64");
  EXPECT_EQ(tuned.verdict, "right");
  EXPECT_EQ(tuned.explanation,
            "supported on host with BLOCK_M=16,BLOCK_N=64: the winner of the tuning for the nearest shape "
            "(heads=32,seq_k=2048,seq_q=2048, 987.6 us)" +
                where +
                "\na launch takes the kernel of its bucket of shapes, else the nearest at hand within a factor of 4 in each extent and 8 "
                "in all, else "
                "the above; fattn::warmup compiles what is missing:\n  heads=32,seq_k=2048,seq_q=2048: BLOCK_M=16,BLOCK_N=64 (at hand)");
  EXPECT_EQ(probe(here + " FATTN_TUNE=off").tile, "BLOCK_M=64,BLOCK_N=64");
  EXPECT_EQ(probe(here, "24").tile, "BLOCK_M=64,BLOCK_N=64") << "another kernel";
}

TEST_F(CompileCacheTest, TheShapeChoosesAmongTheTuned) {
  Directory directory(folder.path());
  TunedStore store(directory);
  AttentionConfig config{.dtype = DType::F32, .head_dim = 16, .target = "host"};
  for (std::int64_t length : {512, 4096}) {
    config.shape = ShapeHint{.batch = 1, .heads = 8, .seq_q = length, .seq_k = length};
    ASSERT_TRUE(store.record(kernels::tuneKey(config), {}, TuneWinner{{.block_m = length == 512 ? 8 : 128}, 10, 0, 1, ""}));
  }
  auto blockFor = [&](std::int64_t length) {
    const std::vector<TunedBucket> known = store.buckets(kernels::tuneKey(config), [](const TileConfig&) { return true; });
    const std::vector<const TunedBucket*> found = nearest(known, {{"heads", 8}, {"seq_q", length}, {"seq_k", length}});
    return found.empty() ? 0 : found.front()->winner.tile.block_m;
  };
  EXPECT_EQ(blockFor(500), 8);
  EXPECT_EQ(blockFor(4000), 128);
  EXPECT_EQ(blockFor(8192), 128);
  EXPECT_EQ(blockFor(16384), 0);
  EXPECT_EQ(blockFor(1), 0);
  config.tile = TileConfig{.block_m = 24};
  EXPECT_EQ(kernels::tuneKey(config), kernels::tuneKey([&] {
              AttentionConfig other = config;
              other.tile.reset();
              return other;
            }()))
      << "the key does not depend on the tile";
}

}  // namespace
}  // namespace fattn::cache
