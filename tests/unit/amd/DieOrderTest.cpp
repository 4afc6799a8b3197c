// SPDX-License-Identifier: Apache-2.0
// `dies` in an order: the emitted program ids are those that fattn::DieOrder says.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "simulator/Run.h"
#include "tests/unit/amd/Compile.h"

namespace fattn {
namespace {

using Place = DieOrder::Place;

/// Each program stores at its place of the grid, along x first, how often it goes through a loop: once more than its id along an axis.
std::string kernelText(const char* axisOfLoop) {
  return std::string(R"(
func.func @k(%out: !tile.ptr<i32>) attributes {tile.kernel} {
  %x = tile.program_id x : i32
  %y = tile.program_id y : i32
  %z = tile.program_id z : i32
  %along = tile.program_id )") +
         axisOfLoop + R"( : i32
  %gx = tile.num_programs x : i32
  %gy = tile.num_programs y : i32
  %plane = arith.muli %gy, %z : i32
  %row = arith.addi %plane, %y : i32
  %before = arith.muli %row, %gx : i32
  %place = arith.addi %before, %x : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %end = arith.addi %along, %c1 : i32
  %none = arith.constant dense<0> : tensor<1xi32>
  %one = arith.constant dense<1> : tensor<1xi32>
  %count = scf.for %i = %c0 to %end step %c1 iter_args(%sum = %none) -> (tensor<1xi32>) : i32 {
    %more = arith.addi %sum, %one : tensor<1xi32>
    scf.yield %more : tensor<1xi32>
  }
  %wide = arith.extsi %place : i32 to i64
  %c1w = arith.constant 1 : i64
  %size = arith.constant 1000000 : i64
  %p = tile.make_block_ptr %out, shape [%size], strides [%c1w], offsets [%wide] : !tile.ptr<i32> -> !tile.block_ptr<1xi32>
  tile.store %p, %count : !tile.block_ptr<1xi32>, tensor<1xi32>
  return
}
)";
}

/// What the launch of one block of a grid writes.
std::vector<std::int32_t> writtenBy(const compiler::Binary& binary, const Place& block, const Place& grid) {
  const auto object = simulator::CodeObject::load(std::as_bytes(std::span(binary.bytes)));
  std::vector<std::int32_t> out(std::size_t{grid[0]} * grid[1] * grid[2], 0);
  simulator::Memory memory;
  const std::array<std::uint64_t, 1> arguments = {memory.add("out", std::as_writable_bytes(std::span(out)))};
  const std::array<Place, 1> only = {block};
  const simulator::LaunchResult result = simulator::launch(*object, binary.entry, std::as_bytes(std::span(arguments)), grid,
                                                           {static_cast<std::uint32_t>(binary.threads), 1, 1}, memory, {.only = only});
  EXPECT_FALSE(result.fault) << result.fault->text();
  return out;
}

void expectDieOrder(const compiler::Binary& binary, std::size_t axisOfLoop) {
  for (const Place& grid : {Place{3, 5, 2}, Place{7, 1, 1}, Place{1, 1, 19}, Place{8, 3, 1}})
    for (std::uint32_t number = 0; number < grid[0] * grid[1] * grid[2]; number += 3) {
      const Place block = {number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]};
      const Place program = binary.dieOrder.programOf(block, grid);
      std::vector<std::int32_t> expected(std::size_t{grid[0]} * grid[1] * grid[2], 0);
      expected[program[0] + grid[0] * (program[1] + std::size_t{grid[1]} * program[2])] =
          static_cast<std::int32_t>(program[axisOfLoop]) + 1;
      ASSERT_EQ(writtenBy(binary, block, grid), expected)
          << "block " << number << " of " << grid[0] << " x " << grid[1] << " x " << grid[2];
    }
}

TEST(EmittedDieOrder, IsTheOneThatTheBinaryNames) {
  for (const char* target : {"amd:gfx942", "amd:gfx950"})
    for (const auto& [axis, first] : {std::pair("x", 0), std::pair("y", 1), std::pair("z", 2)}) {
      SCOPED_TRACE(testing::Message() << target << ", a loop along " << axis);
      const compiler::Binary binary = test::compileText(kernelText(axis), target, TileConfig::parse("SCHEDULE=dies"));
      EXPECT_EQ(binary.dieOrder, (DieOrder{.dies = 8, .first = static_cast<std::uint8_t>(first)}));
      expectDieOrder(binary, static_cast<std::size_t>(first));
    }
}

TEST(EmittedDieOrder, IsTheGridsWithoutTheWord) {
  const compiler::Binary binary = test::compileText(kernelText("y"), "amd:gfx942");
  EXPECT_EQ(binary.dieOrder, DieOrder{});
  expectDieOrder(binary, 1);
}

}  // namespace
}  // namespace fattn
