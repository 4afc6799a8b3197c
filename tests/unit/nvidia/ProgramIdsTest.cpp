// SPDX-License-Identifier: Apache-2.0
// The programs that blocks take one after another: all of them once, in the order that the dialect specifies.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/gpu/lower/ProgramIds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tests/unit/nvidia/Fold.h"

namespace fattn {
namespace {

struct Launch {
  std::array<int32_t, 3> programs;
  int32_t blocks;
};

/// The programs of one block, each as x, y and z, until it has no more; one place more than it may have.
std::vector<std::array<std::uint32_t, 4>> programs(mlir::MLIRContext& context, const Launch& launch, tile::Axis axis, int32_t block,
                                                   std::size_t most) {
  std::vector<std::uint32_t> numbers = folded(context, [&](mlir::ImplicitLocOpBuilder& b) {
    auto constant = [&](int32_t value) { return mlir::arith::ConstantOp::create(b, b.getI32IntegerAttr(value)).getResult(); };
    gpu::ProgramIds ids(b, {constant(launch.programs[0]), constant(launch.programs[1]), constant(launch.programs[2])}, axis,
                        constant(block), constant(launch.blocks));
    std::vector<mlir::Value> values;
    gpu::ProgramIds::State state = ids.first();
    for (std::size_t turn = 0; turn < most; ++turn) {
      values.push_back(ids.exists(state));
      const gpu::ProgramIds::Program program = ids.program(state);
      llvm::append_range(values, program.ids);
      state = program.next;
    }
    return values;
  });
  std::vector<std::array<std::uint32_t, 4>> turns;
  for (std::size_t i = 0; i < numbers.size(); i += 4) turns.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]});
  return turns;
}

class ProgramIds : public testing::TestWithParam<tile::Axis> {};
INSTANTIATE_TEST_SUITE_P(Axes, ProgramIds, testing::Values(tile::Axis::x, tile::Axis::y, tile::Axis::z),
                         [](const auto& info) { return tile::stringifyAxis(info.param).str(); });

TEST_P(ProgramIds, EveryProgramIsTakenOnceAndInOrder) {
  const tile::Axis axis = GetParam();
  mlir::MLIRContext context;
  context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect>();
  for (const Launch& launch :
       {Launch{{1, 1, 1}, 1}, {{7, 1, 1}, 7}, {{7, 1, 1}, 3}, {{5, 3, 2}, 4}, {{2, 3, 5}, 11}, {{1, 13, 2}, 3}, {{3, 2, 4}, 1}}) {
    const auto [x, y, z] = launch.programs;
    std::vector<int> taken(static_cast<std::size_t>(x * y * z));
    for (int32_t block = 0; block < launch.blocks; ++block) {
      const auto expected = tilegpu::programsOf({x, y, z}, axis, block, launch.blocks);
      const auto turns = programs(context, launch, axis, block, expected.size() + 1);
      EXPECT_FALSE(turns.back()[0]) << "block " << block << " of " << launch.blocks;
      for (auto [number, turn] : llvm::zip_first(expected, turns)) {
        const auto& [exists, atX, atY, atZ] = turn;
        ASSERT_TRUE(exists);
        EXPECT_EQ(atX + x * (atY + int64_t{y} * atZ), number);
        EXPECT_TRUE(atX < static_cast<std::uint32_t>(x) && atY < static_cast<std::uint32_t>(y));
        ++taken[static_cast<std::size_t>(number)];
      }
    }
    EXPECT_EQ(taken, std::vector<int>(taken.size(), 1)) << x << " x " << y << " x " << z << " by " << launch.blocks;
  }
}

/// Work that falls or rises along the axis is the same in all pairs, but for the middle of an odd number, which blocks take in turns.
TEST_P(ProgramIds, WorkThatFallsAlongTheAxisIsEvenedOut) {
  for (const auto& [x, y, blocks] :
       {std::array<int64_t, 3>{128, 16, 132}, {8, 256, 132}, {64, 32, 132}, {9, 40, 50}, {5, 400, 132}, {3, 440, 132}}) {
    int64_t least = std::numeric_limits<int64_t>::max(), most = 0;
    std::array<int64_t, 3> extents = {y, y, y};
    const auto along = static_cast<std::size_t>(GetParam());
    extents[along] = x, extents[(along + 1) % 3] = 1;
    for (int64_t block = 0; block < blocks; ++block) {
      int64_t work = 0;
      for (int64_t number : tilegpu::programsOf(extents, GetParam(), block, blocks)) {
        const std::array<int64_t, 3> ids = {number % extents[0], number / extents[0] % extents[1], number / extents[0] / extents[1]};
        work += x - ids[along];
      }
      least = std::min(least, work), most = std::max(most, work);
    }
    EXPECT_LE(most - least, (x + 1) * (x % 2 == 0 ? 1 : 2)) << x << " x " << y << " by " << blocks;
  }
}

/// Numbers are divided by their extents' reciprocals, which are rounded: at both sides of each multiple of an extent, and far out.
TEST(ProgramNumbers, FarOnesAreDividedExactly) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect>();
  constexpr int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const auto& [x, y] : {std::array<int64_t, 2>{1, 1}, {1, 3}, {3, 1}, {7, 5}, {127, 641}, {65536, 3}, {3, 65535}, {46341, 46340}}) {
    const int64_t z = kMost / (x * y);
    for (int64_t row : {int64_t{0}, int64_t{1}, y - 1, y, y * (z - 1), y * z - 1})
      for (int64_t at : {int64_t{0}, x - 1}) {
        if (row >= y * z) continue;
        const int64_t number = row * x + at;
        const std::vector<std::uint32_t> ids = folded(context, [&](mlir::ImplicitLocOpBuilder& b) {
          auto constant = [&](int64_t value) {
            return mlir::arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(value))).getResult();
          };
          // As many blocks as programs: each takes one, and they are no pairs.
          gpu::ProgramIds all(b, {constant(x), constant(y), constant(z)}, tile::Axis::x, constant(number), constant(x * y * z));
          const auto ids = all.program(all.first()).ids;
          return std::vector<mlir::Value>(ids.begin(), ids.end());
        });
        const std::array<int64_t, 3> expected = {at, row % y, row / y};
        EXPECT_TRUE(std::ranges::equal(ids, expected)) << number << " in " << x << " x " << y << " x " << z;
      }
  }
}

TEST(ProgramNumbers, TheLargestLaunch) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect>();
  constexpr std::uint32_t kMost = std::numeric_limits<std::int32_t>::max();
  constexpr auto kBlocks = static_cast<int32_t>(kMost / 2 + 1);
  std::vector<std::uint32_t> values = folded(context, [&](mlir::ImplicitLocOpBuilder& b) {
    auto constant = [&](int32_t value) { return mlir::arith::ConstantOp::create(b, b.getI32IntegerAttr(value)).getResult(); };
    gpu::ProgramIds ids(b, {constant(static_cast<int32_t>(kMost)), constant(1), constant(1)}, tile::Axis::x, constant(1),
                        constant(kBlocks));
    const gpu::ProgramIds::State second = ids.program(ids.first()).next;
    const gpu::ProgramIds::Program program = ids.program(second);
    return std::vector<mlir::Value>{ids.exists(second), program.ids[0], ids.exists(program.next)};
  });
  EXPECT_EQ(values, (std::vector<std::uint32_t>{1, kMost - 2, 0}));
}

}  // namespace
}  // namespace fattn
