// SPDX-License-Identifier: Apache-2.0
// Simulated chips behind the runtime's interface.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fattn/Device.h"
#include "fattn/Error.h"
#include "runtime/simulated/Modelled.h"
#include "tests/unit/amd/Compile.h"

namespace fattn {
namespace {

/// out[i] = x[i] + 1 for all i below size and columns, 32 a program.
const char* const kIncrement = R"(
func.func @increment(%x: !tile.ptr<f32> {tile.name = "x"}, %size: i32, %out: !tile.ptr<f32> {tile.name = "out"}, %columns: i64)
    attributes {tile.kernel} {
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %id = tile.program_id x : i32
  %wide = arith.extsi %id : i32 to i64
  %first = arith.muli %wide, %c32 : i64
  %rows = arith.extsi %size : i32 to i64
  %px = tile.make_block_ptr %x, shape [%rows], strides [%c1], offsets [%first] : !tile.ptr<f32> -> !tile.block_ptr<32xf32>
  %po = tile.make_block_ptr %out, shape [%columns], strides [%c1], offsets [%first] : !tile.ptr<f32> -> !tile.block_ptr<32xf32>
  %one = arith.constant dense<1.0> : tensor<32xf32>
  %a = tile.load %px {boundary_check = array<i64: 0>} : !tile.block_ptr<32xf32> -> tensor<32xf32>
  %b = arith.addf %a, %one : tensor<32xf32>
  tile.store %po, %b {boundary_check = array<i64: 0>} : !tile.block_ptr<32xf32>, tensor<32xf32>
  return
}
)";

std::string refusal(const std::function<void()>& call) {
  try {
    call();
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

#define EXPECT_SAYS(text, part) EXPECT_PRED_FORMAT2(testing::IsSubstring, part, text)

class SimulatedDevice : public testing::TestWithParam<const char*> {
 protected:
  Device& device() const { return openDevice("simulated:" + std::string(GetParam())); }
  std::unique_ptr<Module> load() const { return device().load(test::compileText(kIncrement, device().chip())); }
  static std::uint64_t slot(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }
};

INSTANTIATE_TEST_SUITE_P(Chips, SimulatedDevice, testing::Values("gfx942", "gfx950", "gfx1100", "gfx1201"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(SimulatedDevice, SaysWhatItIs) {
  const std::string chip = GetParam();
  EXPECT_EQ(device().name(), "simulated:" + chip);
  EXPECT_EQ(device().chip(), "amd:" + chip);
  EXPECT_EQ(device().description(), chip + ", simulated on the CPU");
  EXPECT_EQ(device().capabilities().sharedBytes, chip == "gfx950" ? 160 << 10 : 64 << 10);
}

TEST_P(SimulatedDevice, RunsKernelsInEveryOrderOfWaves) {
  std::vector<float> x(100), out(100);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const auto module = load();
  ASSERT_EQ(module->slots(), 4U);
  void *there = device().allocate(400), *result = device().allocate(400);
  device().copy(there, x.data(), 400);
  for (int launch = 0; launch < 3; ++launch) {
    device().fill(result, 0, 400);
    const std::array<std::uint64_t, 4> slots = {slot(there), 100, slot(result), 100};
    device().launch(*module, {4, 1, 1}, slots);
    device().copy(out.data(), result, 400);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], x[i] + 1) << i;
  }
  device().free(there), device().free(result);
}

TEST_P(SimulatedDevice, FaultsNameTheArgumentWhoseMemoryAKernelLeaves) {
  const auto module = load();
  void *x = device().allocate(400), *out = device().allocate(384);
  device().fill(x, 0, 400);
  const std::array<std::uint64_t, 4> slots = {slot(x), 100, slot(out), 100};
  const std::string text = refusal([&] { device().launch(*module, {4, 1, 1}, slots); });
  EXPECT_SAYS(text, "kernel 'increment' on " + device().name() + ": kernel+0x");
  EXPECT_SAYS(text, "workgroup (3, 0, 0), wave ");
  EXPECT_SAYS(text, ", that of out (384 bytes)");
  device().free(out);
  EXPECT_SAYS(refusal([&] { device().launch(*module, {4, 1, 1}, slots); }), "where a buffer was that has been freed");
  device().free(x);
}

TEST_P(SimulatedDevice, MemoryBeginsAsNansAndEndsWhereItEnds) {
  std::array<float, 8> here{};
  void *a = device().allocate(32), *b = device().allocate(64);
  device().copy(here.data(), a, 32);
  for (float value : here) EXPECT_NE(value, value);
  here.fill(2);
  device().copy(a, here.data(), 32);
  device().copy(static_cast<std::byte*>(b) + 32, a, 32);
  here.fill(0);
  device().copy(here.data(), static_cast<std::byte*>(b) + 32, 32);
  EXPECT_EQ(here[7], 2);
  EXPECT_SAYS(refusal([&] { device().copy(b, a, 33); }), "which ends 1 bytes past the end of allocation ");
  EXPECT_SAYS(refusal([&] { device().fill(static_cast<std::byte*>(b) - 4, 0, 4); }), "4 bytes before the begin of allocation ");
  EXPECT_SAYS(refusal([&] { device().free(static_cast<std::byte*>(b) + 4); }), "is the begin of no buffer");
  device().free(a), device().free(b);
}

TEST_P(SimulatedDevice, RefusesWrongLaunches) {
  const auto module = load();
  const std::array<std::uint64_t, 4> slots{};
  auto launch = [&](Grid grid, std::size_t count, Stream stream = {}) {
    return refusal([&] { device().launch(*module, grid, std::span(slots).first(count), stream); });
  };
  EXPECT_EQ(launch({1, 1, 1}, 3), "a launch gives 3 arguments to kernel 'increment', which takes 4");
  EXPECT_SAYS(launch({1, 65536, 1}, 4), "the grid is 1 x 65536 x 1; on " + device().name() + " legal extents are 0 to");
  int native = 0;
  EXPECT_SAYS(launch({1, 1, 1}, 4, {&native}), "has no streams, but a launch names one");
  const std::string other = std::string(GetParam()) == "gfx942" ? "gfx950" : "gfx942";
  EXPECT_SAYS(refusal([&] { openDevice("simulated:" + other).launch(*module, {1, 1, 1}, slots); }),
              "load it on simulated:" + other + " too");
  EXPECT_SAYS(refusal([&] { openDevice("simulated:" + other).load(test::compileText(kIncrement, device().chip())); }),
              "simulated:" + other + " cannot load code for target '" + device().chip() + "'");
}

TEST(SimulatedDevices, UnknownChipsAreRefused) {
  for (const char* name : {"simulated", "simulated:", "simulated:gfx90a"})
    EXPECT_EQ(refusal([&] { openDevice(name); }),
              "there is no target '" + std::string(name) +
                  "'\n  hint: chips that are simulated are gfx942, gfx950, gfx1100, gfx1201: 'simulated:gfx942'");
  const std::string misspelled = refusal([] { openDevice("simulatedgfx942"); });
  EXPECT_SAYS(misspelled, "there is no device for target 'simulatedgfx942'");
  EXPECT_SAYS(misspelled, "'simulated:gfx942'");
}

TEST(SimulatedDevices, AllocationsAreLimitedInNumberAndSize) {
  Device& device = openDevice("simulated:gfx942");
  std::vector<void*> all;
  const std::string text = refusal([&] {
    for (int i = 0; i < 1000; ++i) all.push_back(device.allocate(4));
  });
  EXPECT_SAYS(text, "a simulated chip has 511 buffers already");
  device.free(all.front());
  all.front() = device.allocate(4);
  for (void* one : all) device.free(one);
  EXPECT_EQ(refusal([&] { device.allocate(std::size_t{1} << 60); }),
            "simulated:gfx942 cannot allocate 1152921504606846976 bytes; an allocation has at most 7516192768");
}

/// Launches kIncrement on a modelled chip for so many numbers. Returns the modelled milliseconds, and how many results are there.
std::pair<double, std::int64_t> modelledIncrement(Device& device, Module& module, std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
  std::vector<float> numbers(static_cast<std::size_t>(count), 1.0f);
  void *x = device.allocate(bytes), *out = device.allocate(bytes);
  device.copy(x, numbers.data(), bytes);
  device.fill(out, 0, bytes);
  const std::array<std::uint64_t, 4> slots = {reinterpret_cast<std::uint64_t>(x), static_cast<std::uint64_t>(count),
                                              reinterpret_cast<std::uint64_t>(out), static_cast<std::uint64_t>(count)};
  auto begin = device.createEvent(), end = device.createEvent();
  begin->record({});
  device.launch(module, {count / 32, 1, 1}, slots);
  end->record({});
  device.copy(numbers.data(), out, bytes);
  device.free(x);
  device.free(out);
  return {device.elapsedMs(*begin, *end), std::ranges::count(numbers, 2.0f)};
}

TEST(ModelledDevices, RunSamplesAndReadTheModelsClock) {
  Device& device = openDevice("modelled:gfx942");
  EXPECT_EQ(device.name(), "modelled:gfx942");
  EXPECT_EQ(device.chip(), "amd:gfx942");
  EXPECT_TRUE(device.capabilities().modelled);
  EXPECT_FALSE(openDevice("simulated:gfx942").capabilities().modelled);
  const std::unique_ptr<Module> module = device.load(test::compileText(kIncrement, device.chip()));
  EXPECT_GT(module->residentBlocks(), 0);
  const auto [few, allOfFew] = modelledIncrement(device, *module, 4 * 32);
  EXPECT_EQ(allOfFew, 4 * 32) << "where there are few workgroups, all run";
  const auto [many, someOfMany] = modelledIncrement(device, *module, 1 << 20);
  EXPECT_EQ(someOfMany, 5 * 32);
  EXPECT_GT(few, 0.0);
  EXPECT_GT(many, few);
  EXPECT_GE(many, 2.0 * (1 << 22) / 5300e9 * 1e3) << "memory moves what is read and written, at the least";
  EXPECT_DOUBLE_EQ(modelledIncrement(device, *module, 1 << 20).first, many) << "a model has no noise";
  const auto launch = simulated::lastModelled(device);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->kernel, "increment");
  EXPECT_NEAR(launch->us, many * 1e3, 1e-9);
  EXPECT_FALSE(simulated::lastModelled(openDevice("simulated:gfx942")));
}

}  // namespace
}  // namespace fattn
