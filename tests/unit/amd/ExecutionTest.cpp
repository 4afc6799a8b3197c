// SPDX-License-Identifier: Apache-2.0
// Code objects executed instruction by instruction (simulator/), in three orders of waves, and compared with the interpreter.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compiler/driver/Compile.h"
#include "compiler/interpreter/Interpreter.h"
#include "mlir/Parser/Parser.h"
#include "simulator/Run.h"
#include "tests/unit/amd/Compile.h"

namespace fattn {
namespace {

constexpr int kRows = 64, kColumns = 64;

/// out = row by row exp2(x y) / sum, for x [64, 64] and y [64, 64] of f16 and out of f32: both kinds of operands, a reduction, a broadcast.
const char* const kKernel = R"(
func.func @k(%x: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %y: !tile.ptr<f16> {tile.divisibility = 16 : i64},
             %out: !tile.ptr<f32> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %size = arith.constant 64 : i64
  %px = tile.make_block_ptr %x, shape [%size, %size], strides [%size, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<64x64xf16>
  %py = tile.make_block_ptr %y, shape [%size, %size], strides [%size, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<64x64xf16>
  %po = tile.make_block_ptr %out, shape [%size, %size], strides [%size, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x64xf32>
  %a = tile.load %px : !tile.block_ptr<64x64xf16> -> tensor<64x64xf16>
  %b = tile.load %py : !tile.block_ptr<64x64xf16> -> tensor<64x64xf16>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %d = tile.dot %a, %b, %zero : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  %e = math.exp2 %d : tensor<64x64xf32>
  %s = tile.reduce %e axis 1 : tensor<64x64xf32> -> tensor<64xf32> {
  ^bb0(%l: f32, %r: f32):
    %sum = arith.addf %l, %r : f32
    tile.yield %sum : f32
  }
  %row = tile.expand_dims %s, 1 : tensor<64xf32> -> tensor<64x1xf32>
  %all = tile.broadcast %row : tensor<64x1xf32> -> tensor<64x64xf32>
  %q = arith.divf %e, %all : tensor<64x64xf32>
  tile.store %po, %q : !tile.block_ptr<64x64xf32>, tensor<64x64xf32>
  return
}
)";

/// Small multiples of 1/8 as f16, the same in every run.
std::vector<std::uint16_t> numbers(std::uint32_t seed) {
  constexpr std::array<std::uint16_t, 7> kEighths = {0xb000, 0xac00, 0x8000, 0x0000, 0x2c00, 0x3000, 0x3200};
  std::vector<std::uint16_t> result(std::size_t{kRows} * kColumns);
  for (std::uint16_t& one : result) {
    seed = seed * 1664525 + 1013904223;
    one = kEighths[(seed >> 16) % kEighths.size()];
  }
  return result;
}

std::vector<float> interpreted(std::vector<std::uint16_t> x, std::vector<std::uint16_t> y) {
  mlir::DialectRegistry registry;
  compiler::registerCompilerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kKernel, &context);
  std::vector<float> out(x.size());
  const auto buffer = [](auto& data) {
    return interpreter::Buffer{data.data(), static_cast<std::int64_t>(std::as_bytes(std::span(data)).size())};
  };
  interpreter::run(*module->getOps<mlir::func::FuncOp>().begin(), {buffer(x), buffer(y), buffer(out)}, {1, 1, 1});
  return out;
}

class Execution : public testing::TestWithParam<const char*> {};

TEST_P(Execution, GivesWhatTheInterpreterGives) {
  const compiler::Binary binary = test::compileText(kKernel, GetParam());
  const auto object = simulator::CodeObject::load(std::as_bytes(std::span(binary.bytes)));
  ASSERT_EQ(object->unknownMnemonics(), std::vector<std::string>());
  std::vector<std::uint16_t> x = numbers(1), y = numbers(2);
  const std::vector<float> expected = interpreted(x, y);
  using Order = simulator::LaunchOptions::Order;
  for (Order order : {Order::Forward, Order::Reversed, Order::Random}) {
    std::vector<float> out(expected.size(), NAN);
    simulator::Memory memory;
    std::vector<std::uint64_t> arguments;
    arguments.push_back(memory.add("x", std::as_writable_bytes(std::span(x)), simulator::Memory::Use::ReadOnly));
    arguments.push_back(memory.add("y", std::as_writable_bytes(std::span(y)), simulator::Memory::Use::ReadOnly));
    arguments.push_back(memory.add("out", std::as_writable_bytes(std::span(out))));
    const simulator::LaunchResult result =
        simulator::launch(*object, binary.entry, std::as_bytes(std::span(arguments)), {1, 1, 1},
                          {static_cast<std::uint32_t>(binary.threads), 1, 1}, memory, {.order = order, .seed = 3});
    ASSERT_FALSE(result.fault) << result.fault->text();
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], expected[i], 1e-5F * expected[i]) << "element " << i;
  }
}

/// out = x for the first `columns` columns of 32 rows, in rows that begin at multiples of 16 bytes.
const char* const kCopyKernel = R"(
func.func @k(%x: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %out: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %columns: i64)
    attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %stride = arith.constant 24 : i64
  %rows = arith.constant 32 : i64
  %px = tile.make_block_ptr %x, shape [%rows, %columns], strides [%stride, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<32x32xf16>
  %po = tile.make_block_ptr %out, shape [%rows, %columns], strides [%stride, %c1], offsets [%c0, %c0] : !tile.ptr<f16> -> !tile.block_ptr<32x32xf16>
  %a = tile.load %px {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<32x32xf16> -> tensor<32x32xf16>
  tile.store %po, %a {boundary_check = array<i64: 0, 1>} : !tile.block_ptr<32x32xf16>, tensor<32x32xf16>
  return
}
)";

TEST_P(Execution, NothingIsTouchedBehindAnArrayThatEndsWithinAVector) {
  constexpr std::int64_t kStride = 24, kTileRows = 32;
  constexpr std::uint16_t kUntouched = 0x7bff;
  const compiler::Binary binary = test::compileText(kCopyKernel, GetParam());
  const auto object = simulator::CodeObject::load(std::as_bytes(std::span(binary.bytes)));
  for (std::int64_t columns : {24, 16, 19, 5}) {
    const auto count = static_cast<std::size_t>(kStride * (kTileRows - 1) + columns);  // the last row ends the memory
    std::vector<std::uint16_t> x = numbers(7), out(count, kUntouched);
    x.resize(count);
    simulator::Memory memory;
    const std::array<std::uint64_t, 3> arguments = {memory.add("x", std::as_writable_bytes(std::span(x)), simulator::Memory::Use::ReadOnly),
                                                    memory.add("out", std::as_writable_bytes(std::span(out))),
                                                    static_cast<std::uint64_t>(columns)};
    const simulator::LaunchResult result = simulator::launch(*object, binary.entry, std::as_bytes(std::span(arguments)), {1, 1, 1},
                                                             {static_cast<std::uint32_t>(binary.threads), 1, 1}, memory, {});
    ASSERT_FALSE(result.fault) << result.fault->text();
    for (std::size_t i = 0; i < count; ++i) {
      const bool inside = static_cast<std::int64_t>(i) % kStride < columns;
      ASSERT_EQ(out[i], inside ? x[i] : kUntouched) << columns << " columns, element " << i;
    }
  }
}

/// out = x as bf16.
const char* const kRoundingKernel = R"(
func.func @k(%x: !tile.ptr<f32> {tile.divisibility = 16 : i64}, %out: !tile.ptr<bf16> {tile.divisibility = 16 : i64}) attributes {tile.kernel} {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %size = arith.constant 64 : i64
  %px = tile.make_block_ptr %x, shape [%size, %size], strides [%size, %c1], offsets [%c0, %c0] : !tile.ptr<f32> -> !tile.block_ptr<64x64xf32>
  %po = tile.make_block_ptr %out, shape [%size, %size], strides [%size, %c1], offsets [%c0, %c0] : !tile.ptr<bf16> -> !tile.block_ptr<64x64xbf16>
  %a = tile.load %px : !tile.block_ptr<64x64xf32> -> tensor<64x64xf32>
  %t = arith.truncf %a : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %po, %t : !tile.block_ptr<64x64xbf16>, tensor<64x64xbf16>
  return
}
)";

TEST_P(Execution, RoundsToTheNearestEvenBF16AndKeepsNaN) {
  const compiler::Binary binary = test::compileText(kRoundingKernel, GetParam());
  const auto object = simulator::CodeObject::load(std::as_bytes(std::span(binary.bytes)));
  // Each upper half of a few exponents and fractions, with lower halves around a tie, and of both signs.
  std::vector<std::uint32_t> x;
  for (std::uint32_t upper : {0x0000U, 0x0001U, 0x007fU, 0x0080U, 0x3f80U, 0x3f81U, 0x3fffU, 0x4000U, 0x7f7fU, 0x7f7eU, 0x7f80U, 0x7f81U,
                              0x7fbfU, 0x7fc0U, 0x7fffU, 0x7ffeU})
    for (std::uint32_t lower : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      for (std::uint32_t sign : {0U, 0x80000000U}) x.push_back(sign | upper << 16 | lower);
  for (std::uint32_t seed = 1; x.size() < std::size_t{kRows} * kColumns; x.push_back(seed)) seed = seed * 1664525 + 1013904223;
  std::vector<std::uint16_t> out(x.size());
  simulator::Memory memory;
  const std::array<std::uint64_t, 2> arguments = {memory.add("x", std::as_writable_bytes(std::span(x)), simulator::Memory::Use::ReadOnly),
                                                  memory.add("out", std::as_writable_bytes(std::span(out)))};
  const simulator::LaunchResult result = simulator::launch(*object, binary.entry, std::as_bytes(std::span(arguments)), {1, 1, 1},
                                                           {static_cast<std::uint32_t>(binary.threads), 1, 1}, memory, {});
  ASSERT_FALSE(result.fault) << result.fault->text();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool isNaN = (x[i] & 0x7fffffffU) > 0x7f800000U;
    const std::uint64_t rounded = (std::uint64_t{x[i]} + 0x7fff + (x[i] >> 16 & 1)) >> 16;
    if (isNaN)
      EXPECT_GT(out[i] & 0x7fffU, 0x7f80U) << std::hex << x[i];
    else
      EXPECT_EQ(out[i], rounded) << std::hex << x[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Amd, Execution, testing::Values("amd:gfx942", "amd:gfx950", "amd:gfx1100", "amd:gfx1201"),
                         [](const auto& info) { return std::string(info.param).substr(4); });

}  // namespace
}  // namespace fattn
