// SPDX-License-Identifier: Apache-2.0
// Launches that are made again: on a driver made for tests, which sees what they give it, and on the host, which repeats none.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "fattn/Attention.h"
#include "fattn/Decode.h"
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

/// The driver that this process takes from now on; it knows one kernel.
test::FakeDriver& fakeDriver(const char* kernel) {
  setenv("FATTN_CUDA_LIBRARY", FATTN_FAKE_CUDA, 1);
  void* library = dlopen(FATTN_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
  test::FakeDriver& driver = *reinterpret_cast<test::FakeDriver* (*)()>(dlsym(library, "fattnFakeDriver"))();
  driver.entries.insert(kernel);
  return driver;
}

/// Prints, for each launch, where its x and y are and how many blocks it has.
[[noreturn]] void launchOnAGpu() {
  test::FakeDriver& driver = fakeDriver("scaled");
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
  const TileKernel other = compile(scaled(), {.target = "cuda", .tile = {.warps = 2}});
  std::fprintf(stderr, "another kernel: %s\n", last.again(other, {}, {}) ? "repeated" : "nothing to repeat");
  for (const std::size_t slot : {slotOf(kernel, "factor"), std::size_t{99}}) {
    const NewAddress wrong[] = {{slot, 0}};
    try {
      last.again(kernel, wrong, {});
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
  }
  last.launch(kernel, {}, {0, 1, 1}, slotsOf(kernel, memory, memory, 2));
  std::fprintf(stderr, "empty: %zu launches, %s\n", driver.launches.size(), last.again(kernel, {}, {}) ? "repeated" : "nothing to repeat");
  _exit(0);
}

TEST(Relaunch, AGpuIsGivenWhatWasKept) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(launchOnAGpu(), testing::ExitedWithCode(0),
              "first: x at 10000, y at 10100, 3 blocks\nagain: x at 10000, y at 10100, 3 blocks\n"
              "y moved: x at 10000, y at 10200, 3 blocks\nit stays there: x at 10000, y at 10200, 3 blocks\n"
              "another kernel: nothing to repeat\n"
              "a launch that is repeated gives argument [0-9]+ of kernel 'scaled' another address; of its [0-9]+ arguments that one is no "
              "pointer\na launch that is repeated gives argument 99 of kernel .*\n"
              "empty: 0 launches, nothing to repeat\n");
}

/// What the driver was told in the launches since then, or why there was none. Maps stand for what was encoded in them.
std::string launchesOf(test::FakeDriver& driver, const std::function<void()>& launch) {
  driver.launches.clear();
  std::string text;
  try {
    launch();
  } catch (const Error& error) {
    text = error.what();
  }
  constexpr std::size_t kMapBytes = 128, kStep = 64;
  for (const test::FakeLaunch& one : driver.launches) {
    text += "blocks " + std::to_string(one.grid[0]) + ' ' + std::to_string(one.grid[1]) + ' ' + std::to_string(one.grid[2]);
    // All bytes of a map are its number.
    for (std::size_t at = 0; at < one.bytes;) {
      const std::size_t number = one.arguments[at];
      const bool isMap = at % kStep == 0 && at + kMapBytes <= one.bytes && number > 0 && number <= driver.maps.size() &&
                         std::all_of(one.arguments + at, one.arguments + at + kMapBytes, [&](unsigned char c) { return c == number; });
      if (isMap) {
        const test::FakeMap& map = driver.maps[number - 1];
        text += " map " + std::to_string(reinterpret_cast<std::uintptr_t>(map.address)) + ' ' + std::to_string(map.sizes[1]) + ' ' +
                std::to_string(map.strides[0]);
        at += kMapBytes;
        continue;
      }
      if (at < 256) text += ' ' + std::to_string(number);  // behind the arguments of a kernel with maps lies what nobody wrote
      ++at;
    }
    text += '\n';
  }
  return text;
}

/// Makes random launches in this thread, which keeps what it has launched, and each in one of its own, which has kept nothing.
template <typename Kernel, typename Draw>
void compareWithFreshThreads(test::FakeDriver& driver, const Kernel& kernel, const Draw& draw, int count) {
  int refused = 0, repeated = 0;
  driver.maps.reserve(256);
  for (int i = 0; i < count; ++i) {
    const auto args = draw();
    const int encoded = driver.count("cuTensorMapEncodeTiled");
    const std::string kept = launchesOf(driver, [&] { kernel.launch({}, args); });
    repeated += driver.count("cuTensorMapEncodeTiled") == encoded;
    const std::size_t maps = driver.maps.size();
    std::string fresh;
    std::thread([&] { fresh = launchesOf(driver, [&] { kernel.launch({}, args); }); }).join();
    driver.maps.resize(maps);  // nobody has the others any more, and their numbers have to fit a byte
    refused += kept.find("shares memory") != std::string::npos;
    if (kept != fresh) std::fprintf(stderr, "launch %d: %s\nin a fresh thread: %s\n", i, kept.c_str(), fresh.c_str());
    if (kept != fresh) _exit(1);
  }
  std::fprintf(stderr, "%d launches, %s refused, %s repeated\n", count, refused > 0 ? "some" : "none",
               repeated > count / 2 ? "most" : "few");
}

/// An operand among few places, of which some overlap and some are less aligned.
TensorView drawView(std::mt19937& random, std::uintptr_t base, DType type, std::initializer_list<std::int64_t> shape) {
  constexpr std::array<std::uintptr_t, 6> kPlaces = {0, 0x1000000, 0x2000000, 0x3000010, 0x1000000, 0x2000008};
  const std::uintptr_t place = random() % 6 == 0 ? 0x10000000 : base + kPlaces[random() % (random() % 8 == 0 ? 6 : 5)];
  return TensorView(reinterpret_cast<void*>(place), type, shape);
}

[[noreturn]] void launchForwardAtRandom(unsigned seed) {
  test::FakeDriver& driver = fakeDriver("attention_forward");
  const Kernel kernel = compile(AttentionConfig{.dtype = DType::BF16, .head_dim = 64, .causal = true, .target = "cuda"});
  std::mt19937 random(seed);
  compareWithFreshThreads(
      driver, kernel,
      [&] {
        const std::int64_t rows = random() % 8 == 0 ? 128 : 64;
        const auto view = [&](std::uintptr_t base) { return drawView(random, base, DType::BF16, {1, 2, rows, 64}); };
        AttentionArgs args = {.q = view(0x10000000), .k = view(0x20000000), .v = view(0x30000000), .o = view(0x40000000)};
        if (random() % 4 == 0) args.lse = drawView(random, 0x50000000, DType::F32, {1, 2, rows});
        if (random() % 8 == 0) args.scale = 0.5f;
        return args;
      },
      50);
  _exit(0);
}

[[noreturn]] void launchDecodeAtRandom(const DecodeConfig& config, unsigned seed) {
  test::FakeDriver& driver = fakeDriver("attention_decode");
  driver.entries.insert("attention_merge");
  const DecodeKernel kernel = compile(config);
  std::mt19937 random(seed);
  compareWithFreshThreads(
      driver, kernel,
      [&] {
        const auto view = [&](std::uintptr_t base, std::int64_t heads, std::int64_t rows) {
          return drawView(random, base, DType::BF16, {2, heads, rows, 64});
        };
        DecodeArgs args{
            .q = view(0x10000000, 4, 1), .k = view(0x20000000, 2, 2048), .v = view(0x30000000, 2, 2048), .o = view(0x40000000, 4, 1)};
        if (random() % 4 == 0) args.lse = drawView(random, 0x50000000, DType::F32, {2, 4, 1});
        if (random() % 2 == 0) args.lengths = drawView(random, 0x60000000, DType::I32, {2});
        if (config.append) args.new_k = view(0x70000000, 2, 1), args.new_v = view(0x80000000, 2, 1);
        if (config.window) args.window = random() % 4 == 0 ? 100 : 200;
        args.splits = random() % 4 == 0 ? 1 : 3;
        args.workspace = drawView(random, 0x90000000, DType::F32, {1}).data, args.workspace_bytes = 1 << 20;
        return args;
      },
      500);
  _exit(0);
}

TEST(Relaunch, TheForwardGivesTheDriverWhatAFreshThreadGivesIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (unsigned seed = 1; seed <= 4; ++seed)
    EXPECT_EXIT(launchForwardAtRandom(seed), testing::ExitedWithCode(0), "50 launches, some refused, most repeated");
}

TEST(Relaunch, DecodeGivesTheDriverWhatAFreshThreadGivesIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const DecodeConfig plain{.dtype = DType::BF16, .head_dim = 64, .rows = 2, .target = "cuda"};
  EXPECT_EXIT(launchDecodeAtRandom(plain, 1), testing::ExitedWithCode(0), "500 launches, some refused");
  DecodeConfig more = plain;
  more.append = true, more.window = true;
  EXPECT_EXIT(launchDecodeAtRandom(more, 2), testing::ExitedWithCode(0), "500 launches, some refused");
}

}  // namespace
}  // namespace fattn
