// SPDX-License-Identifier: Apache-2.0
// Attention by code that reads arrays by tensor maps, on a driver made for tests: which launches take it, and which take other code.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <expected>

#include "fattn/Attention.h"
#include "tests/unit/cuda/FakeDriver.h"

namespace fattn {
namespace {

/// The driver that this process takes from now on; it knows attention's kernel.
test::FakeDriver& fakeDriver() {
  setenv("FATTN_CUDA_LIBRARY", FATTN_FAKE_CUDA, 1);
  void* library = dlopen(FATTN_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  test::FakeDriver& driver = *reinterpret_cast<test::FakeDriver* (*)()>(dlsym(library, "fattnFakeDriver"))();
  driver.entries.insert("attention_forward");
  return driver;
}

/// Prints, for each launch, whether it had maps.
[[noreturn]] void launchAll() {
  test::FakeDriver& driver = fakeDriver();
  Kernel kernel = compile({.head_dim = 64, .target = "cuda", .tile = TileConfig{.block_m = 128, .block_n = 64, .stages = 2, .warps = 8}});
  auto* data = reinterpret_cast<unsigned char*>(0x100000);  // nothing reads it
  auto launch = [&](const char* name, std::int64_t rows, std::int64_t row, std::int64_t seqQ = 64) {
    TensorView q(data, DType::F16, {1, 1, seqQ, 64}), k(data, DType::F16, {1, 1, rows, 64}, {0, 0, row, 1}),
        v(data, DType::F16, {1, 1, rows, 64});
    kernel.launch({}, {.q = q, .k = k, .v = v, .o = TensorView(data + 0x10000, DType::F16, {1, 1, seqQ, 64})});
    std::fprintf(stderr, "%s: %s\n", name,
                 driver.launches.empty()                 ? "no launch"
                 : driver.launches.back().bytes > 8 * 32 ? "by maps"
                                                         : "without maps");
    driver.launches.clear();
  };
  launch("rows in a piece", 64, 64);
  launch("one row for all", 64, 0);
  launch("rows of 8 bytes more", 64, 68);
  launch("no keys", 0, 64);
  launch("no queries", 64, 0, 0);
  launch("rows in a piece again", 64, 64);
  _exit(0);
}

/// Prints, for each launch of a thread, where its maps of q, k, v and o point to, and how many maps were encoded for it; or why it is
/// refused.
[[noreturn]] void launchInOtherPlaces() {
  test::FakeDriver& driver = fakeDriver();
  Kernel kernel = compile({.head_dim = 64, .target = "cuda", .tile = TileConfig{.block_m = 128, .block_n = 64, .stages = 2, .warps = 8}});
  constexpr std::size_t kFirst = 192, kMaps = 4, kMapBytes = 128;  // behind 20 arguments of 8 bytes and 6 of 4
  auto at = [](std::uintptr_t place) { return TensorView(reinterpret_cast<void*>(place), DType::F16, {1, 1, 64, 64}); };
  auto launch = [&](const char* name, const AttentionArgs& args) {
    const int before = driver.count("cuTensorMapEncodeTiled");
    driver.launches.clear();
    try {
      kernel.launch({}, args);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s: %s\n", name, error.what());
      return;
    }
    const test::FakeLaunch& last = driver.launches.back();
    std::fprintf(stderr, "%s:", name);
    const std::size_t maps = last.bytes > kFirst ? kMaps : 0;
    for (std::size_t map = 0; map < maps; ++map)  // the driver made for tests fills a map with its number
      std::fprintf(stderr, " %lx", reinterpret_cast<unsigned long>(driver.maps.at(last.arguments[kFirst + map * kMapBytes] - 1u).address));
    std::uint64_t q = 0;
    std::memcpy(&q, last.arguments, sizeof(q));
    std::fprintf(stderr, ", q at %lx, %d encoded\n", q, driver.count("cuTensorMapEncodeTiled") - before);
  };
  AttentionArgs args = {.q = at(0x100000), .k = at(0x200000), .v = at(0x300000), .o = at(0x400000)};
  launch("first", args);
  launch("again", args);
  args.q = at(0x110000), args.o = at(0x410010);
  launch("q and o moved", args);
  args.o = at(0x300100);
  launch("o on v", args);
  args.o = at(0);
  launch("o nowhere", args);
  args.o = at(0x410010), args.k = at(0x210008);
  launch("k less aligned", args);
  args.k = at(0x220000);
  launch("k moved", args);
  driver.results["cuTensorMapReplaceAddress"] = 1;
  args.v = at(0x330000);
  launch("a driver that replaces none", args);
  _exit(0);
}

/// An assembler that makes asynchronous dots wait: what the caller chose is refused, the default is kept.
[[noreturn]] void compileWhereDotsWait() {
  setenv("FATTN_ALWAYS_COMPILE", "1", 1);
  test::FakeDriver& driver = fakeDriver();
  driver.infoLog = "ptxas info    : (C7512) Potential Performance Loss: wgmma.mma_async instructions are serialized due to registers\n";
  const AttentionConfig own{.head_dim = 64, .target = "cuda"};
  AttentionConfig chosen = own;
  chosen.tile = TileConfig{.block_m = 128, .block_n = 64, .stages = 2, .warps = 8};
  const std::expected<Kernel, Error> refused = try_compile(chosen);
  std::fprintf(stderr, "chosen: %s\n", refused ? "taken" : refused.error().what());
  std::fprintf(stderr, "own: %s\n", try_compile(own) ? "taken" : "refused");
  _exit(0);
}

TEST(AttentionMaps, AConfigurationWhoseDotsWaitForEachOtherIsRefusedAndTheDefaultKept) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      compileWhereDotsWait(), testing::ExitedWithCode(0),
      "chosen: the driver's assembler makes asynchronous dots of attention.*BLOCK_M=128.* wait for each other: ptxas info.*C7512.*\n.*"
      "fattn: warning: the driver's assembler makes asynchronous dots of attention.*own: taken\n");
}

TEST(AttentionMaps, ALaunchWhoseArgumentsHaveNoMapTakesOtherCode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(launchAll(), testing::ExitedWithCode(0),
              "rows in a piece: by maps\none row for all: without maps\nrows of 8 bytes more: without maps\n"
              "no keys: without maps\nno queries: no launch\nrows in a piece again: by maps\n");
}

TEST(AttentionMaps, ALaunchLikeTheOneBeforeHasTheAddressesOfItsOwn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(launchInOtherPlaces(), testing::ExitedWithCode(0),
              "first: 100000 200000 300000 400000, q at 100000, 4 encoded\n"
              "again: 100000 200000 300000 400000, q at 100000, 0 encoded\n"
              "q and o moved: 110000 200000 300000 410010, q at 110000, 0 encoded\n"
              "o on v: o: it shares memory with v.*\n.*\n"
              "o nowhere: o: the data pointer is null.*\n"
              "k less aligned:, q at 110000, 0 encoded\n"
              "k moved: 110000 220000 300000 410010, q at 110000, 0 encoded\n"
              "a driver that replaces none: 110000 220000 330000 410010, q at 110000, 4 encoded\n");
}

}  // namespace
}  // namespace fattn
