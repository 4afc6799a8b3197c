// SPDX-License-Identifier: Apache-2.0
// Launches that are made again: on a driver made for tests, which sees what they give it, and on the host, which repeats none.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fattn/Relaunch.h"
#include "fattn/dsl/Dsl.h"
#include "tests/unit/cuda/FakeDriver.h"

namespace fattn {
namespace {

/// y = factor x, of 32 elements.
dsl::Program scaled() {
  return dsl::trace("scaled", [](dsl::Params& params) {
    const auto row = [](const dsl::TensorArg& of) { return of.block({0}, {32}); };
    const dsl::TensorArg x = params.tensor("x", DType::F32, 1), y = params.tensor("y", DType::F32, 1);
    dsl::store(row(y), dsl::load(row(x)) * params.scalar("factor", DType::F32));
  });
}

std::uint64_t bits(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

/// The slots of a launch, by the names that the program has.
std::vector<std::uint64_t> slotsOf(const TileKernel& kernel, const void* x, const void* y, float factor) {
  std::vector<std::uint64_t> slots;
  for (const dsl::Param& param : kernel.args()) {
    std::uint32_t number = 0;
    std::memcpy(&number, &factor, sizeof(number));
    slots.push_back(param.name == "x"                                    ? bits(x)
                    : param.name == "y"                                  ? bits(y)
                    : param.name == "factor"                             ? number
                    : param.name == "x_size0" || param.name == "y_size0" ? 32
                                                                         : 1);
  }
  return slots;
}

std::size_t slotOf(const TileKernel& kernel, std::string_view name) {
  std::size_t slot = 0;
  while (kernel.args()[slot].name != name) ++slot;
  return slot;
}

TEST(Relaunch, TheHostPreparesEachLaunchAnew) {
  const TileKernel kernel = compile(scaled(), {.target = "host"});
  std::array<float, 32> x{}, y{};
  x.fill(3);
  TileRelaunch last;
  EXPECT_FALSE(last.again(kernel, {}, {})) << "there was none";
  last.launch(kernel, {}, {1, 1, 1}, slotsOf(kernel, x.data(), y.data(), 2));
  EXPECT_EQ(y[31], 6);
  y.fill(0);
  EXPECT_FALSE(last.again(kernel, {}, {}));
  EXPECT_EQ(y[31], 0);
}

/// Prints, for each launch, where its x and y are and how many blocks it has.
[[noreturn]] void launchOnAGpu() {
  setenv("FATTN_CUDA_LIBRARY", FATTN_FAKE_CUDA, 1);
  void* library = dlopen(FATTN_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  test::FakeDriver& driver = *reinterpret_cast<test::FakeDriver* (*)()>(dlsym(library, "fattnFakeDriver"))();
  driver.entries.insert("scaled");
  const TileKernel kernel = compile(scaled(), {.target = "cuda"});
  const std::size_t x = slotOf(kernel, "x"), y = slotOf(kernel, "y");
  const auto print = [&](const char* name) {
    const test::FakeLaunch& launch = driver.launches.back();
    std::uint64_t at[2];
    std::memcpy(&at[0], launch.arguments + 8 * x, 8), std::memcpy(&at[1], launch.arguments + 8 * y, 8);  // nothing narrower lies in front
    std::fprintf(stderr, "%s: x at %lx, y at %lx, %u blocks\n", name, at[0], at[1], launch.grid[0]);
    driver.launches.clear();
  };
  std::byte* memory = reinterpret_cast<std::byte*>(0x10000);
  TileRelaunch last;
  last.launch(kernel, {}, {3, 1, 1}, slotsOf(kernel, memory, memory + 0x100, 2));
  print("first");
  if (!last.again(kernel, {}, {})) std::abort();
  print("again");
  const NewAddress moved[] = {{y, bits(memory + 0x200)}};
  if (!last.again(kernel, moved, {})) std::abort();
  print("y moved");
  if (!last.again(kernel, {}, {})) std::abort();
  print("it stays there");
  last.launch(kernel, {}, {0, 1, 1}, slotsOf(kernel, memory, memory, 2));
  std::fprintf(stderr, "empty: %zu launches, %s\n", driver.launches.size(), last.again(kernel, {}, {}) ? "repeated" : "nothing to repeat");
  _exit(0);
}

TEST(Relaunch, AGpuIsGivenWhatWasKept) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(launchOnAGpu(), testing::ExitedWithCode(0),
              "first: x at 10000, y at 10100, 3 blocks\nagain: x at 10000, y at 10100, 3 blocks\n"
              "y moved: x at 10000, y at 10200, 3 blocks\nit stays there: x at 10000, y at 10200, 3 blocks\n"
              "empty: 0 launches, nothing to repeat\n");
}

}  // namespace
}  // namespace fattn
