// SPDX-License-Identifier: Apache-2.0
// Attention by code that reads arrays by tensor maps, on a driver made for tests: which launches take it, and which take other code.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
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

}  // namespace
}  // namespace fattn
