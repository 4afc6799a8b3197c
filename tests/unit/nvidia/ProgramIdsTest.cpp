// SPDX-License-Identifier: Apache-2.0
// The programs that blocks take one after another: all of them once, in the order that the dialect specifies.
#include <gtest/gtest.h>

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

/// Rounds until a block has surely ended.
int32_t roundsOf(const Launch& launch) { return launch.programs[0] * launch.programs[1] * launch.programs[2] / launch.blocks + 2; }

/// Of one block: in each round whether there is a program, and its ids.
std::vector<std::array<std::uint32_t, 4>> programs(mlir::MLIRContext& context, const Launch& launch, int32_t block) {
  std::vector<std::uint32_t> numbers = folded(context, [&](mlir::ImplicitLocOpBuilder& b) {
    auto constant = [&](int32_t value) { return mlir::arith::ConstantOp::create(b, b.getI32IntegerAttr(value)).getResult(); };
    gpu::ProgramIds ids(b, {constant(launch.programs[0]), constant(launch.programs[1]), constant(launch.programs[2])}, constant(block),
                        constant(launch.blocks));
    std::vector<mlir::Value> values;
    gpu::ProgramIds::State state = ids.first();
    for (int32_t round = 0; round < roundsOf(launch); ++round, state = ids.next(state)) {
      values.push_back(ids.exists(state));
      values.insert(values.end(), state.begin(), state.begin() + 3);
    }
    return values;
  });
  std::vector<std::array<std::uint32_t, 4>> rounds;
  for (std::size_t i = 0; i < numbers.size(); i += 4) rounds.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]});
  return rounds;
}

TEST(ProgramIds, EveryProgramIsTakenOnceAndInOrder) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect>();
  for (const Launch& launch : {Launch{{1, 1, 1}, 1}, {{7, 1, 1}, 7}, {{5, 3, 2}, 4}, {{2, 3, 5}, 11}, {{1, 13, 2}, 3}, {{3, 2, 4}, 1}}) {
    const auto [x, y, z] = launch.programs;
    std::vector<int> taken(static_cast<std::size_t>(x * y * z));
    for (int32_t block = 0; block < launch.blocks; ++block) {
      int64_t round = 0;
      for (const auto& [exists, atX, atY, atZ] : programs(context, launch, block)) {
        const int64_t number = tilegpu::programOf(round++, block, launch.blocks);
        ASSERT_EQ(exists != 0, number < x * y * z) << "block " << block << " of " << launch.blocks << ", round " << round;
        if (!exists) continue;
        EXPECT_EQ(atX + x * (atY + int64_t{y} * atZ), number);
        EXPECT_TRUE(atX < static_cast<std::uint32_t>(x) && atY < static_cast<std::uint32_t>(y));
        ++taken[static_cast<std::size_t>(number)];
      }
    }
    EXPECT_EQ(taken, std::vector<int>(taken.size(), 1)) << x << " x " << y << " x " << z << " by " << launch.blocks;
  }
}

TEST(ProgramIds, TheLargestLaunch) {
  mlir::MLIRContext context;
  context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect>();
  constexpr std::uint32_t kMost = std::numeric_limits<std::int32_t>::max();
  // Two rounds take all programs. The second one of block 1 is the last program.
  constexpr auto kBlocks = static_cast<int32_t>(kMost / 2 + 1);
  std::vector<std::uint32_t> values = folded(context, [&](mlir::ImplicitLocOpBuilder& b) {
    auto constant = [&](int32_t value) { return mlir::arith::ConstantOp::create(b, b.getI32IntegerAttr(value)).getResult(); };
    gpu::ProgramIds ids(b, {constant(static_cast<int32_t>(kMost)), constant(1), constant(1)}, constant(1), constant(kBlocks));
    gpu::ProgramIds::State second = ids.next(ids.first()), third = ids.next(second);
    return std::vector<mlir::Value>{ids.exists(second), second[0], ids.exists(third)};
  });
  EXPECT_EQ(values, (std::vector<std::uint32_t>{1, kMost - 1, 0}));
}

}  // namespace
}  // namespace fattn
