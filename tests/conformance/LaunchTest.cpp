// SPDX-License-Identifier: Apache-2.0
// Grids and arguments of launches.
#include <array>
#include <bit>
#include <limits>
#include <span>

#include "tests/conformance/Programs.h"

namespace fattn::conformance {
namespace {

using Numbers = std::vector<std::int32_t>;

std::string text(Grid grid) { return std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " + std::to_string(grid.z); }

TEST_P(Conformance, EveryProgramOfAGridRunsOnceWithItsIds) {
  const TileKernel kernel = compile(gridIds(), {.target = target()});
  for (const Grid grid : {Grid{1, 1, 1}, Grid{7, 1, 1}, Grid{1, 5, 1}, Grid{1, 1, 6}, Grid{3, 4, 5}}) {
    SCOPED_TRACE(text(grid));
    const auto count = static_cast<std::size_t>(grid.x * grid.y * grid.z);
    const Array<std::int32_t> counts(device(), Numbers(count)), ids(device(), Numbers(6 * count, -1));
    kernel.launch({}, grid, {{"counts", counts.data()}, {"ids", ids.data()}});
    Numbers want;
    for (std::int64_t z = 0; z < grid.z; ++z)
      for (std::int64_t y = 0; y < grid.y; ++y)
        for (std::int64_t x = 0; x < grid.x; ++x)
          for (const std::int64_t id : {x, y, z, grid.x, grid.y, grid.z}) want.push_back(static_cast<std::int32_t>(id));
    EXPECT_EQ(counts.read(), Numbers(count, 1));
    EXPECT_EQ(ids.read(), want);
  }
}

TEST_P(Conformance, AnEmptyGridRunsNothing) {
  const TileKernel kernel = compile(gridIds(), {.target = target()});
  const Array<std::int32_t> counts(device(), Numbers(1)), ids(device(), Numbers(6, -1));
  for (const Grid grid : {Grid{0, 1, 1}, Grid{1, 0, 1}, Grid{1, 1, 0}, Grid{0, 0, 0}})
    kernel.launch({}, grid, {{"counts", counts.data()}, {"ids", ids.data()}});
  device().synchronize();
  EXPECT_EQ(counts.read(), Numbers(1));
  EXPECT_EQ(ids.read(), Numbers(6, -1));
}

TEST_P(Conformance, AGridBeyondTheLargestIsRefused) {
  const TileKernel kernel = compile(gridIds(), {.target = target()});
  const Array<std::int32_t> counts(device(), Numbers(1)), ids(device(), Numbers(6, -1));
  const auto launch = [&](Grid grid) { kernel.launch({}, grid, {{"counts", counts.data()}, {"ids", ids.data()}}); };
  const auto [x, y, z] = device().capabilities().maxGrid;
  for (const Grid grid : {Grid{x + 1, 1, 1}, Grid{1, y + 1, 1}, Grid{1, 1, z + 1}, Grid{-1, 1, 1}, Grid{1, -1, 1}, Grid{1, 1, -1}}) {
    const std::string said = refusalOf(ErrorCode::InvalidArgument, [&] { launch(grid); });
    EXPECT_SAYS(said, "the grid is " + text(grid));
    EXPECT_SAYS(said, "legal extents are 0 to");
  }
  EXPECT_EQ(counts.read(), Numbers(1)) << "what is refused runs nothing";
  launch({});
  EXPECT_EQ(counts.read(), Numbers(1, 1));
}

TEST_P(Conformance, AnotherNumberOfArgumentsIsRefused) {
  const auto module = device().load(binaryOf(gridIds(), device().chip()));
  const Array<std::int32_t> counts(device(), Numbers(1)), ids(device(), Numbers(6, -1));
  const std::array<std::uint64_t, 3> slots = {counts.slot(), ids.slot(), 0};
  for (const std::size_t given : {0, 1, 3})
    EXPECT_SAYS(refusalOf(ErrorCode::InvalidArgument, [&] { device().launch(*module, {}, std::span(slots).first(given)); }),
                "a launch gives " + std::to_string(given) + " arguments to ");
  EXPECT_EQ(counts.read(), Numbers(1)) << "what is refused runs nothing";
  device().launch(*module, {}, std::span(slots).first(2));
  EXPECT_EQ(counts.read(), Numbers(1, 1));
}

TEST_P(Conformance, AProgramMayHaveNoArguments) {
  const auto module = device().load(binaryOf(nothing(), device().chip()));
  EXPECT_EQ(module->slots(), 0U);
  EXPECT_TRUE(module->accepts({}));
  EXPECT_NO_THROW(device().launch(*module, {3, 2, 1}, {}));
  EXPECT_NO_THROW(device().synchronize());
  EXPECT_SAYS(refusalOf(ErrorCode::InvalidArgument, [&] { device().launch(*module, {}, std::array{std::uint64_t{1}}); }),
              "a launch gives 1 arguments to ");
}

TEST_P(Conformance, ScalarsOfEveryTypeArrive) {
  struct Case {
    std::int8_t byte;
    bool truth;
    std::int64_t wide;
    std::int32_t narrow;
    float number;
  };
  const TileKernel kernel = compile(scalars(), {.target = target()});
  const Case cases[] = {{0, false, 0, 0, 0},
                        {-128, true, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int32_t>::min(), -1.5F},
                        {127, false, 0x0123456789abcdef, 0x01234567, 0x1.fffffep127F},
                        {-1, true, -1, -1, 0x1p-126F}};
  for (const Case& c : cases) {
    const Array<std::int64_t> out(device(), std::vector<std::int64_t>(4, 99));
    const Array<float> real(device(), std::vector<float>{99});
    kernel.launch({}, {},
                  {{"byte", c.byte},
                   {"out", out.data()},
                   {"number", c.number},
                   {"truth", c.truth},
                   {"real", real.data()},
                   {"wide", c.wide},
                   {"narrow", c.narrow}});
    EXPECT_EQ(out.read(), (std::vector<std::int64_t>{c.byte, c.truth ? 1 : 0, c.wide, c.narrow}));
    EXPECT_EQ(real.read(), std::vector<float>{c.number});
  }
}

// The value stands at the slot's start; what is behind it is nobody's.
TEST_P(Conformance, BytesOfASlotBehindItsValueDoNotCount) {
  const auto module = device().load(binaryOf(scalars(), device().chip()));
  const Array<std::int64_t> out(device(), std::vector<std::int64_t>(4, 99));
  const Array<float> real(device(), std::vector<float>{99});
  constexpr std::uint64_t kNoise = 0xa5a5a5a5a5a5a5a5;
  const auto slot = [](std::uint64_t value, int bytes) { return bytes == 8 ? value : (kNoise << (8 * bytes)) | value; };
  const std::array<std::uint64_t, 7> slots = {
      slot(0x81, 1), out.slot(), slot(std::bit_cast<std::uint32_t>(2.5F), 4), slot(1, 1), real.slot(), slot(77, 8), slot(0x80000001, 4)};
  device().launch(*module, {}, slots);
  EXPECT_EQ(out.read(), (std::vector<std::int64_t>{-127, 1, 77, std::numeric_limits<std::int32_t>::min() + 1}));
  EXPECT_EQ(real.read(), std::vector<float>{2.5F});
}

}  // namespace
}  // namespace fattn::conformance
