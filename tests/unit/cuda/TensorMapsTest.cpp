// SPDX-License-Identifier: Apache-2.0
// The tensor maps that a launch makes of its arguments, on the fake driver: what the driver is given, which arguments fit, and what is
// kept.
#include <array>
#include <cstring>
#include <limits>
#include <thread>

#include "runtime/cuda/TensorMaps.h"
#include "runtime/gpu/ArgumentLayout.h"
#include "tests/support/Allocations.h"
#include "tests/unit/cuda/Support.h"

namespace fattn {
namespace {

using test::errorOf;

/// Numbers of the arguments of twoMaps().
enum Argument : std::uint8_t { kArray, kRows, kRow, kBatch, kOther, kIndex };

/// A matrix of f16 with batches, and a plain one of f32; in i32: kRows, kRow and kIndex.
compiler::Binary twoMaps() {
  compiler::Binary binary = test::ptxBinary();
  binary.args = {{"p", true, DType::F16},      {"rows", false, DType::I32}, {"row", false, DType::I32},
                 {"batch", false, DType::I64}, {"q", true, DType::F32},     {"i", false, DType::I32}};
  binary.tensorMaps = {{.pointer = kArray,
                        .elementBytes = 2,
                        .swizzleBytes = 128,
                        .sizes = {{64, {}}, {1, {kRows}}, {std::int64_t{1} << 31, {}}},
                        .strides = {{2, {kRow}}, {2, {kBatch, kRow}}},
                        .boxColumns = 64,
                        .boxRows = 32},
                       {.pointer = kOther,
                        .elementBytes = 4,
                        .swizzleBytes = 32,
                        .sizes = {{8, {}}, {3, {kRows}}},
                        .strides = {{4, {kRow}}},
                        .boxColumns = 8,
                        .boxRows = 256}};
  binary.nonNegative = {kIndex};
  return binary;
}

using Slots = std::array<std::uint64_t, 6>;

/// The arguments lie in host memory, as nothing reads there.
constexpr Slots kGood = {0x10000, 100, 64, 7, 0x20010, 5};

Slots with(Argument argument, std::uint64_t value) {
  Slots slots = kGood;
  slots[argument] = value;
  return slots;
}

class TensorMaps : public test::Fake {
 protected:
  void launch(const cuda::CudaModule& module, const Slots& slots) { gpu().launch(module, {1, 2, 3}, slots, {}); }
};

TEST_F(TensorMaps, TheDriverGetsWhatTheArgumentsSay) {
  auto module = load(twoMaps());
  Slots slots = kGood;
  slots[kRows] |= 0xabcd'0000'0000'0000;  // what lies in a slot behind an i32 is nobody's
  launch(*module, slots);
  ASSERT_EQ(driver.maps.size(), 2u);
  const test::FakeMap& first = driver.maps[0];
  EXPECT_EQ(first.type, 1) << "UINT16";
  EXPECT_EQ(first.rank, 3u);
  EXPECT_EQ(first.address, reinterpret_cast<void*>(0x10000));
  EXPECT_EQ(std::vector(first.sizes, first.sizes + 3), (std::vector<unsigned long>{64, 100, 1ul << 31}));
  EXPECT_EQ(std::vector(first.strides, first.strides + 2), (std::vector<unsigned long>{128, 2 * 7 * 64}));
  EXPECT_EQ(std::vector(first.box, first.box + 3), (std::vector<unsigned>{64, 32, 1}));
  EXPECT_EQ(std::vector(first.steps, first.steps + 3), (std::vector<unsigned>{1, 1, 1}));
  EXPECT_EQ(first.interleave, 0);
  EXPECT_EQ(first.swizzle, 3) << "128 bytes";
  EXPECT_EQ(first.promotion, 2) << "of L2 to 128 bytes";
  EXPECT_EQ(first.fill, 0) << "zeros";
  const test::FakeMap& second = driver.maps[1];
  EXPECT_EQ(second.type, 2) << "UINT32";
  EXPECT_EQ(second.rank, 2u);
  EXPECT_EQ(second.address, reinterpret_cast<void*>(0x20010));
  EXPECT_EQ(std::vector(second.sizes, second.sizes + 2), (std::vector<unsigned long>{8, 300}));
  EXPECT_EQ(second.strides[0], 256u);
  EXPECT_EQ(std::vector(second.box, second.box + 2), (std::vector<unsigned>{8, 256}));
  EXPECT_EQ(second.swizzle, 1) << "32 bytes";
}

// The engine adds numbers, of a type that the map says.
TEST_F(TensorMaps, WhatTheEngineAddsToHasATypeOfNumbers) {
  compiler::Binary binary = twoMaps();
  binary.tensorMaps[1].adds = true;
  launch(*load(binary), kGood);
  EXPECT_EQ(driver.maps.at(0).type, 1) << "UINT16";
  EXPECT_EQ(driver.maps.at(1).type, 7) << "FLOAT32";
}

TEST_F(TensorMaps, TheMapsLieBehindTheArguments) {
  auto module = load(twoMaps());
  launch(*module, kGood);
  // ptr 0, i32 8, i32 12, i64 16, ptr 24, i32 32, that is 36 bytes; maps at multiples of 64.
  const test::FakeLaunch& launch = driver.launches.at(0);
  std::uint32_t rows = 0, index = 0;
  std::memcpy(&rows, launch.arguments + 8, 4), std::memcpy(&index, launch.arguments + 32, 4);
  EXPECT_EQ(rows, 100u);
  EXPECT_EQ(index, 5u);
  for (std::size_t i = 0; i < 128; ++i) {
    ASSERT_EQ(launch.arguments[64 + i], 1) << i;
    ASSERT_EQ(launch.arguments[192 + i], 2) << i;
  }
}

TEST_F(TensorMaps, LayoutsOfArguments) {
  ArgumentLayout none({}), bare({}, 2), full(std::vector(8, compiler::ArgInfo{"p", true, DType::F16}), 1),
      more(std::vector(9, compiler::ArgInfo{"p", true, DType::F16}), 3);
  EXPECT_EQ(none.bytes(), 0u);
  EXPECT_EQ(bare.mapOffset(0), 0u);
  EXPECT_EQ(bare.mapOffset(1), 128u);
  EXPECT_EQ(bare.bytes(), 256u);
  EXPECT_EQ(full.mapOffset(0), 64u);
  EXPECT_EQ(full.bytes(), 192u);
  EXPECT_EQ(more.offset(8), 64u);
  EXPECT_EQ(more.mapOffset(2), 128u + 256);
  EXPECT_EQ(more.bytes(), 128u + 384);
  ArgumentLayout repeated({{"i", false, DType::I8}}, 1, true);
  EXPECT_EQ(repeated.programsOffset(), 4u);
  EXPECT_EQ(repeated.mapOffset(0), 64u);
  EXPECT_EQ(repeated.bytes(), 192u);
}

TEST_F(TensorMaps, BlocksThatTakeSeveralProgramsAreAsManyAsFit) {
  compiler::Binary binary = twoMaps();
  binary.repeats = true;
  driver.attributes[16] = 4;  // multiprocessors
  driver.blocksPerMultiprocessor = 2;
  auto module = load(binary);
  for (Grid grid : {Grid{3, 2, 1}, Grid{5, 7, 11}}) gpu().launch(*module, grid, kGood, {});
  ASSERT_EQ(driver.launches.size(), 2u);
  auto gridOf = [](const test::FakeLaunch& launch) { return std::array{launch.grid[0], launch.grid[1], launch.grid[2]}; };
  EXPECT_EQ(gridOf(driver.launches[0]), (std::array{6u, 1u, 1u})) << "no more blocks than programs";
  EXPECT_EQ(gridOf(driver.launches[1]), (std::array{8u, 1u, 1u})) << "no more blocks than fit on the GPU";
  std::array<std::int32_t, 3> programs{};
  std::memcpy(programs.data(), driver.launches[1].arguments + 36, sizeof(programs));
  EXPECT_EQ(programs, (std::array{5, 7, 11})) << "behind the arguments";
  EXPECT_EQ(driver.launches[1].arguments[64], 1) << "the maps follow";
}

TEST_F(TensorMaps, BlocksThatShareCopiesFillTheirLastCluster) {
  compiler::Binary binary = twoMaps();
  binary.cluster = 2;
  auto module = load(binary);
  gpu().launch(*module, {5, 7, 11}, kGood, {});
  gpu().launch(*module, {4, 1, 1}, kGood, {});
  ASSERT_EQ(driver.launches.size(), 2u);
  auto gridOf = [](const test::FakeLaunch& launch) { return std::array{launch.grid[0], launch.grid[1], launch.grid[2]}; };
  EXPECT_EQ(gridOf(driver.launches[0]), (std::array{6u, 7u, 11u}));
  EXPECT_EQ(gridOf(driver.launches[1]), (std::array{4u, 1u, 1u}));
  std::array<std::int32_t, 3> programs{};
  std::memcpy(programs.data(), driver.launches[0].arguments + 36, sizeof(programs));
  EXPECT_EQ(programs, (std::array{5, 7, 11})) << "behind the arguments";
  EXPECT_EQ(driver.launches[0].arguments[64], 1) << "the maps follow";
}

TEST_F(TensorMaps, ABlockThatTakesSeveralProgramsTakesLessThanTwoBillion) {
  compiler::Binary binary = twoMaps();
  binary.repeats = true;
  auto module = load(binary);
  gpu().launch(*module, {std::int64_t{1} << 29, 3, 1}, kGood, {});
  EXPECT_EQ(errorOf([&] { gpu().launch(*module, {std::int64_t{1} << 20, 1 << 10, 2}, kGood, {}); }),
            "unsupported: kernel 'kernel' was compiled so that a block takes one program after another, which are at most 2147483647 a "
            "launch; the grid is 1048576 x 1024 x 2\n  hint: a schedule without 'persistent' and 'dynamic' takes any grid");
  EXPECT_EQ(driver.launches.size(), 1u);
}

TEST_F(TensorMaps, CountingTheBlocksThatFitMayFail) {
  compiler::Binary binary = twoMaps();
  binary.repeats = true;
  driver.once["cuOccupancyMaxActiveBlocksPerMultiprocessor"] = 1;
  EXPECT_TRUE(errorOf([&] {
                load(binary);
              }).starts_with("device-error: could not count the blocks of kernel 'kernel' that fit on a multiprocessor"));
  EXPECT_EQ(driver.modules, 0);
}

TEST_F(TensorMaps, MoreThanALaunchTakesAreRefused) {
  compiler::Binary binary = twoMaps();
  binary.tensorMaps.resize(32, binary.tensorMaps[0]);
  EXPECT_EQ(errorOf([&] { load(binary); }), "unsupported: kernel 'kernel' takes 4160 bytes of arguments; the limit is 4096");
}

TEST_F(TensorMaps, WhatTheEngineCannotReadIsNotAccepted) {
  auto module = load(twoMaps());
  auto minus = [](std::int64_t value) { return static_cast<std::uint64_t>(-value); };
  EXPECT_TRUE(module->accepts(kGood));
  EXPECT_FALSE(module->accepts(std::span(kGood).first(5))) << "an argument less";
  EXPECT_FALSE(module->accepts({}));
  for (Argument pointer : {kArray, kOther}) {
    EXPECT_FALSE(module->accepts(with(pointer, 0x10008))) << "16 bytes";
    EXPECT_TRUE(module->accepts(with(pointer, 0x10030)));
  }
  for (std::uint64_t rows : {std::uint64_t{0}, minus(1), std::uint64_t{0x8000'0000}, std::uint64_t{0xffff'ffff}})
    EXPECT_FALSE(module->accepts(with(kRows, rows))) << rows;
  EXPECT_TRUE(module->accepts(with(kRows, 1)));
  for (std::uint64_t row : {std::uint64_t{0}, minus(64), std::uint64_t{4}, std::uint64_t{63}})
    EXPECT_FALSE(module->accepts(with(kRow, row))) << row;
  EXPECT_TRUE(module->accepts(with(kRow, 8)));
  EXPECT_FALSE(module->accepts(with(kBatch, minus(1))));
  EXPECT_FALSE(module->accepts(with(kBatch, std::uint64_t{1} << 33))) << "2^40 bytes";
  EXPECT_TRUE(module->accepts(with(kBatch, (std::uint64_t{1} << 33) - 1)));
  EXPECT_FALSE(module->accepts(with(kBatch, std::numeric_limits<std::int64_t>::max()))) << "a product beyond 64 bits";
  EXPECT_FALSE(module->accepts(with(kIndex, minus(1))));
  EXPECT_FALSE(module->accepts(with(kIndex, 0x8000'0000))) << "an i32";
  EXPECT_TRUE(module->accepts(with(kIndex, 0)));
}

// The kernel stays at index 0 along such a dimension.
TEST_F(TensorMaps, AStrideOf0BeyondTheWindowBecomes16) {
  auto module = load(twoMaps());
  Slots slots = with(kBatch, 0);
  ASSERT_TRUE(module->accepts(slots));
  launch(*module, slots);
  EXPECT_EQ(driver.maps.at(0).strides[0], 128u);
  EXPECT_EQ(driver.maps.at(0).strides[1], 16u);
}

TEST_F(TensorMaps, ALaunchWhoseArgumentsDoNotFitIsRefused) {
  auto module = load(twoMaps());
  EXPECT_EQ(errorOf([&] { launch(*module, with(kArray, 0x10008)); }),
            "unsupported: kernel 'kernel' on cuda:0 reads arrays by tensor maps, which take sizes of at least 1, strides of positive "
            "multiples of 16 bytes and addresses that are multiples of 16; an argument of this launch gives another one\n"
            "  hint: Module::accepts() says beforehand; code for arguments of a lower alignment takes any");
  EXPECT_EQ(driver.launches.size(), 0u);
  gpu().launch(*module, {0, 1, 1}, with(kArray, 0x10008), {});
  EXPECT_EQ(driver.count("cuTensorMapEncodeTiled"), 0) << "an empty grid reads nothing";
}

TEST_F(TensorMaps, ErrorsOfTheDriver) {
  auto module = load(twoMaps());
  driver.once["cuTensorMapEncodeTiled"] = 1;
  EXPECT_EQ(
      errorOf([&] { launch(*module, kGood); }),
      "device-error: could not make the tensor maps of kernel 'kernel' on cuda:0, Fake H200: CUDA_ERROR_INVALID_VALUE: invalid argument");
  EXPECT_EQ(driver.launches.size(), 0u);
  launch(*module, kGood);
  EXPECT_EQ(driver.launches.size(), 1u) << "what failed was not kept";
}

TEST_F(TensorMaps, TheSameOperandsAreEncodedOnce) {
  auto module = load(twoMaps()), other = load(twoMaps());
  auto calls = [&](const cuda::CudaModule& of, const Slots& slots) {
    int before = driver.count("cuTensorMapEncodeTiled");
    launch(of, slots);
    return driver.count("cuTensorMapEncodeTiled") - before;
  };
  EXPECT_EQ(calls(*module, kGood), 2);
  EXPECT_EQ(calls(*module, kGood), 0);
  EXPECT_EQ(std::memcmp(driver.launches[0].arguments, driver.launches[1].arguments, driver.launches[0].bytes), 0);
  EXPECT_EQ(calls(*other, kGood), 2) << "another kernel";
  for (Argument argument : {kArray, kOther}) EXPECT_EQ(calls(*module, with(argument, 0x3000)), 0) << int{argument};
  for (Argument argument : {kRows, kRow, kBatch}) EXPECT_EQ(calls(*module, with(argument, 16)), 2) << int{argument};
  std::thread([&] { EXPECT_EQ(calls(*module, kGood), 2) << "another thread"; }).join();
}

TEST_F(TensorMaps, OtherAddressesTakeTheMapsOfBefore) {
  auto module = load(twoMaps());
  launch(*module, kGood);
  Slots moved = kGood;
  moved[kArray] = 0x30000, moved[kOther] = 0x40010;
  ASSERT_TRUE(module->accepts(moved));
  EXPECT_FALSE(module->accepts(with(kArray, 0x30008))) << "16 bytes";
  launch(*module, moved);
  EXPECT_EQ(driver.count("cuTensorMapEncodeTiled"), 2);
  EXPECT_EQ(driver.count("cuTensorMapReplaceAddress"), 2);
  const auto numberOf = [&](std::size_t launch, std::size_t map) { return driver.launches.at(launch).arguments[64 + 128 * map]; };
  const test::FakeMap &first = driver.maps.at(numberOf(1, 0) - 1u), &second = driver.maps.at(numberOf(1, 1) - 1u);
  EXPECT_EQ(first.address, reinterpret_cast<void*>(0x30000));
  EXPECT_EQ(first.sizes[1], 100u);
  EXPECT_EQ(second.address, reinterpret_cast<void*>(0x40010));
  EXPECT_EQ(second.strides[0], 256u);
  launch(*module, moved);
  EXPECT_EQ(driver.count("cuTensorMapReplaceAddress"), 2) << "the same again";
  EXPECT_EQ(numberOf(2, 1), numberOf(1, 1));
}

TEST_F(TensorMaps, ADriverThatReplacesNoAddressEncodesEachMap) {
  auto module = load(twoMaps());
  launch(*module, kGood);
  driver.results["cuTensorMapReplaceAddress"] = 1;
  launch(*module, with(kOther, 0x30010));
  EXPECT_EQ(driver.count("cuTensorMapEncodeTiled"), 4);
  EXPECT_EQ(driver.maps.at(3).address, reinterpret_cast<void*>(0x30010));
  EXPECT_EQ(driver.launches.at(1).arguments[64 + 128], 4);
}

// What was found to fit is not looked at again, so all that decides it has to be the same.
TEST_F(TensorMaps, ANegativeIndexAfterAGoodLaunchIsNotAccepted) {
  auto module = load(twoMaps());
  launch(*module, kGood);
  ASSERT_TRUE(module->accepts(kGood));
  EXPECT_FALSE(module->accepts(with(kIndex, 0xffff'ffff)));
  EXPECT_TRUE(errorOf([&] { launch(*module, with(kIndex, 0xffff'ffff)); }).starts_with("unsupported: "));
}

// More maps than are kept, and more arguments.
TEST_F(TensorMaps, ManyMapsAreEncodedEachTime) {
  compiler::Binary binary = twoMaps();
  binary.tensorMaps.resize(5, binary.tensorMaps[0]);
  auto module = load(binary);
  for (int i = 0; i < 3; ++i) launch(*module, kGood);
  EXPECT_EQ(driver.count("cuTensorMapEncodeTiled"), 15);
  EXPECT_EQ(driver.maps.at(4).address, driver.maps.at(0).address);
}

TEST_F(TensorMaps, ALaunchWithMapsAllocatesNothing) {
  auto module = load(twoMaps());
  launch(*module, kGood);
  Slots others = with(kRows, 3);
  launch(*module, others);
  long before = test::allocations();
  for (int i = 0; i < 20; ++i) {
    launch(*module, kGood);
    launch(*module, others);
    ++others[kRows];
  }
  EXPECT_EQ(test::allocations() - before, 0);
}

TEST_F(TensorMaps, ADriverWithoutTheFunction) {
  cuda::DriverApi old = start().driver().api();
  old.TensorMapEncodeTiled = nullptr;
  EXPECT_EQ(errorOf([&] { cuda::TensorMaps(twoMaps(), old); }),
            "unsupported: kernel 'kernel' reads arrays by tensor maps, which this driver cannot make\n"
            "  hint: they take a driver for CUDA 12.0 or newer; code for nvidia:sm_90 does without");
  EXPECT_TRUE(cuda::TensorMaps(test::ptxBinary(), old).empty());
}

TEST_F(TensorMaps, MapsThatNoEngineHas) {
  auto error = [&](auto change) {
    compiler::Binary binary = twoMaps();
    change(binary.tensorMaps[0]);
    return errorOf([&] { load(binary); });
  };
  EXPECT_EQ(error([](compiler::TensorMap& map) { map.elementBytes = 3; }),
            "invalid-argument: a tensor map has elements of 3 bytes; legal are 1, 2, 4 and 8");
  EXPECT_EQ(error([](compiler::TensorMap& map) { map.adds = true; }),
            "invalid-argument: a tensor map adds elements of 2 bytes; legal are those of f32, 4");
  EXPECT_EQ(error([](compiler::TensorMap& map) { map.swizzleBytes = 16; }),
            "invalid-argument: a tensor map swizzles rows of 16 bytes; legal are 0, 32, 64 and 128");
  EXPECT_EQ(error([](compiler::TensorMap& map) { map.strides.pop_back(); }),
            "invalid-argument: a tensor map has 3 sizes and 1 strides; legal are 2 to 5, and one less");
  EXPECT_EQ(error([](compiler::TensorMap& map) { map.sizes.resize(1), map.strides.clear(); }),
            "invalid-argument: a tensor map has 1 sizes and 0 strides; legal are 2 to 5, and one less");
  EXPECT_EQ(error([](compiler::TensorMap& map) { map.sizes.resize(6), map.strides.resize(5); }),
            "invalid-argument: a tensor map has 6 sizes and 5 strides; legal are 2 to 5, and one less");
}

}  // namespace
}  // namespace fattn
