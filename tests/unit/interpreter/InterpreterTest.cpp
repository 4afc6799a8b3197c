// SPDX-License-Identifier: Apache-2.0
// The interpreter's interface: arguments, buffers and their bounds, grids, modes, limits. What each operation means is tested by
// tests/lit/interpreter.
#include <gtest/gtest.h>

#include <numeric>

#include "compiler/dialect/Tile.h"
#include "compiler/interpreter/Interpreter.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace fattn::interpreter {
namespace {

struct InterpreterTest : testing::Test {
  DialectRegistry registry;
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;

  /// Parses the function whose signature and body are given; it must be correct.
  func::FuncOp parse(const std::string& text) {
    if (!context) {
      tile::registerTileDialects(registry);
      context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    }
    module = parseSourceString<ModuleOp>(text, context.get(), "test.mlir");
    EXPECT_TRUE(module) << text;
    return *module->getOps<func::FuncOp>().begin();
  }

  static std::string errorOf(const std::function<void()>& what, ErrorCode code) {
    try {
      what();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
  }
};

template <typename T, size_t N>
Buffer bufferOf(T (&array)[N]) {
  return {array, sizeof array};
}

/// y = a * x + y over n elements, 4 at a time.
const char* const kAxpy = R"(
func.func @axpy(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %n: i64, %a: f32) attributes {tile.kernel} {
  %c4 = arith.constant 4 : i64
  %c1 = arith.constant 1 : i64
  %id = tile.program_id x : i32
  %id64 = arith.extsi %id : i32 to i64
  %at = arith.muli %id64, %c4 : i64
  %px = tile.make_block_ptr %x, shape [%n], strides [%c1], offsets [%at] : !tile.ptr<f32> -> !tile.block_ptr<4xf32>
  %py = tile.make_block_ptr %y, shape [%n], strides [%c1], offsets [%at] : !tile.ptr<f32> -> !tile.block_ptr<4xf32>
  %vx = tile.load %px {boundary_check = array<i64: 0>} : !tile.block_ptr<4xf32> -> tensor<4xf32>
  %vy = tile.load %py {boundary_check = array<i64: 0>} : !tile.block_ptr<4xf32> -> tensor<4xf32>
  %as = tile.splat %a : f32 -> tensor<4xf32>
  %r = math.fma %as, %vx, %vy : tensor<4xf32>
  tile.store %py, %r {boundary_check = array<i64: 0>} : !tile.block_ptr<4xf32>, tensor<4xf32>
  return
})";

TEST_F(InterpreterTest, RunsEveryProgramOfTheGrid) {
  func::FuncOp axpy = parse(kAxpy);
  float x[10], y[10];
  std::iota(x, x + 10, 0.0f);
  std::fill(y, y + 10, 100.0f);
  run(axpy, {bufferOf(x), bufferOf(y), int64_t{9}, 0.5}, {3, 1, 1});
  for (int i = 0; i < 9; ++i) EXPECT_EQ(y[i], 100 + 0.5f * i);
  EXPECT_EQ(y[9], 100) << "the element beyond the array's extent was written";
}

TEST_F(InterpreterTest, RunsOneProgram) {
  func::FuncOp axpy = parse(kAxpy);
  float x[12], y[12] = {};
  std::fill(x, x + 12, 1.0f);
  runProgram(axpy, {bufferOf(x), bufferOf(y), int64_t{12}, 2.0}, {1, 0, 0}, {3, 1, 1});
  for (int i = 0; i < 12; ++i) EXPECT_EQ(y[i], i / 4 == 1 ? 2 : 0);
}

TEST_F(InterpreterTest, NeverTouchesWhatIsOutsideABuffer) {
  func::FuncOp axpy = parse(kAxpy);
  float x[8] = {}, y[8] = {};
  std::string error =
      errorOf([&] { run(axpy, {bufferOf(x), Buffer{y, 6 * sizeof(float)}, int64_t{8}, 1.0}, {2, 1, 1}); }, ErrorCode::InvalidArgument);
  EXPECT_EQ(error, "test.mlir:11:9: 'tile.load' accesses 4 bytes at byte 24 of a buffer of 24 bytes (pointer argument 1)");
}

TEST_F(InterpreterTest, ScalarArgumentsAreRoundedToTheirTypes) {
  func::FuncOp function = parse(R"(
func.func @f(%h: f16, %i: i8, %t: i1, %n: index) {
  tile.device_print "args", %h, %i, %t, %n : f16, i8, i1, index
  return
})");
  std::string printed;
  Options options;
  options.print = [&](const std::string& line) { printed = line; };
  run(function, {2049.0, int64_t{200}, int64_t{1}, int64_t{-7}}, {1, 1, 1}, options);
  EXPECT_EQ(printed, "[0,0,0] args 2048 -56 true -7");
}

TEST_F(InterpreterTest, RefusesArgumentsThatDoNotFit) {
  func::FuncOp axpy = parse(kAxpy);
  float x[4] = {};
  auto code = ErrorCode::InvalidArgument;
  EXPECT_EQ(errorOf([&] { run(axpy, {bufferOf(x)}, {1, 1, 1}); }, code), "@axpy takes 4 arguments, but got 1");
  EXPECT_EQ(errorOf([&] { run(axpy, {int64_t{0}, bufferOf(x), int64_t{4}, 1.0}, {1, 1, 1}); }, code),
            "argument 0 of @axpy has type !tile.ptr<f32>: it takes a buffer");
  EXPECT_EQ(errorOf([&] { run(axpy, {bufferOf(x), bufferOf(x), 4.0, 1.0}, {1, 1, 1}); }, code),
            "argument 2 of @axpy has type i64: it takes an integer");
  EXPECT_EQ(errorOf([&] { run(axpy, {bufferOf(x), bufferOf(x), int64_t{4}, int64_t{1}}, {1, 1, 1}); }, code),
            "argument 3 of @axpy has type f32: it takes a floating-point number");
  EXPECT_EQ(errorOf([&] { run(axpy, {bufferOf(x), bufferOf(x), int64_t{4}, 1.0}, {1, 0, 1}); }, code),
            "extents of the grid must be at least 1, but got 0");
  EXPECT_EQ(errorOf([&] { run(parse("func.func @f(%x: tensor<4xf32>) { return }"), {1.0}, {1, 1, 1}); }, code),
            "argument 0 of @f has type tensor<4xf32>: it takes nothing: arguments are pointers and scalars");
  EXPECT_EQ(errorOf([&] { run(parse("func.func private @f()"), {}, {1, 1, 1}); }, code), "@f must have a body of one block");
}

TEST_F(InterpreterTest, TakesTheExactSideOnDemand) {
  func::FuncOp function = parse(R"(
func.func @f(%p: !tile.ptr<f32>) {
  %rows = arith.constant dense<[true, false]> : tensor<2xi1>
  %usual = arith.constant dense<1.0> : tensor<2xf32>
  %exact = arith.constant dense<2.0> : tensor<2xf32>
  %0 = tile.select_lazy %rows usual(%usual) : tensor<2xi1>, tensor<2xf32> -> tensor<2xf32> {
    tile.yield %exact : tensor<2xf32>
  }
  %1 = tile.splat %p : !tile.ptr<f32> -> tensor<2x!tile.ptr<f32>>
  %2 = tile.arange 0 : tensor<2xi32>
  %3 = tile.addptr %1, %2 : tensor<2x!tile.ptr<f32>>, tensor<2xi32>
  tile.scatter %3, %0 : tensor<2x!tile.ptr<f32>>, tensor<2xf32>
  return
})");
  float out[2];
  run(function, {bufferOf(out)}, {1, 1, 1});
  EXPECT_EQ(out[0], 2);
  EXPECT_EQ(out[1], 1);
  Options options;
  options.takeExactEverywhere = true;
  run(function, {bufferOf(out)}, {1, 1, 1}, options);
  EXPECT_EQ(out[0], 2);
  EXPECT_EQ(out[1], 2);
}

TEST_F(InterpreterTest, TheStepLimitCountsElements) {
  func::FuncOp function = parse(R"(
func.func @f() {
  %0 = arith.constant dense<1.0> : tensor<1000000xf32>
  return
})");
  Options options;
  options.maxSteps = 999999;
  EXPECT_EQ(errorOf([&] { run(function, {}, {1, 1, 1}, options); }, ErrorCode::Unsupported),
            "test.mlir:3:8: 'arith.constant' exceeds the limit of 999999 computed elements");
  options.maxSteps = 1000001;
  EXPECT_NO_THROW(run(function, {}, {1, 1, 1}, options));
}

TEST_F(InterpreterTest, AssumeDivisibleChecksAddresses) {
  func::FuncOp function = parse(R"(
func.func @f(%p: !tile.ptr<i8>) {
  %0 = tile.assume_divisible %p, 16 : !tile.ptr<i8>
  return
})");
  alignas(16) char bytes[32];
  EXPECT_NO_THROW(run(function, {Buffer{bytes, 32}}, {1, 1, 1}));
  EXPECT_NE(errorOf([&] { run(function, {Buffer{bytes + 1, 31}}, {1, 1, 1}); }, ErrorCode::InvalidArgument)
                .find("'tile.assume_divisible' promises a multiple of 16, but got "),
            std::string::npos);
}

}  // namespace
}  // namespace fattn::interpreter
