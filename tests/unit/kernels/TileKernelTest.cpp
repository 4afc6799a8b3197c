// SPDX-License-Identifier: Apache-2.0
// Programs of anybody: compiled, launched with named arguments, and refused with a sentence.
#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <numeric>
#include <thread>
#include <vector>

#include "fattn/Kernel.h"
#include "fattn/dsl/Dsl.h"
#include "tests/support/Allocations.h"

namespace fattn {
namespace {

using namespace dsl;

Program scaleProgram(std::int64_t block = 64) {
  return trace("scale", [=](Params& args) {
    Ptr x = args.ptr("x", DType::F32, 16), out = args.ptr("out", DType::F32, 16);
    Scalar length = args.scalar("length", DType::I32), factor = args.scalar("factor", DType::F32);
    Scalar start = program_id(0) * block;
    Tile t = load(make_block_ptr(x, {length}, {1}, {start}, {block}), {0});
    store(make_block_ptr(out, {length}, {1}, {start}, {block}), t * factor, {0});
  });
}

struct ScaleTest : testing::Test {
  static constexpr std::int64_t kLength = 100;
  TileKernel kernel = compile(scaleProgram(), {.target = "host"});
  alignas(64) float x[kLength + 4], out[kLength + 4];
  ScaleTest() {
    std::iota(std::begin(x), std::end(x), 0.0f);
    std::fill(std::begin(out), std::end(out), -1.0f);
  }
  std::string error(std::initializer_list<Argument> arguments) const try {
    kernel.launch({}, {2}, arguments);
    return "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.what();
  }
};

TEST_F(ScaleTest, RunsWithArgumentsInAnyOrder) {
  kernel.launch({}, {2}, {{"x", x}, {"out", out}, {"length", kLength}, {"factor", 2.0f}});
  for (int i = 0; i < kLength; ++i) ASSERT_EQ(out[i], 2 * x[i]) << i;
  EXPECT_EQ(out[kLength], -1) << "what lies behind the array is not touched";
  kernel.launch({}, {2}, {{"factor", 3}, {"length", 1}, {"out", out}, {"x", static_cast<const void*>(x + 4)}});
  EXPECT_EQ(out[0], 12);
  EXPECT_EQ(out[1], 2);
}

TEST_F(ScaleTest, NothingHappensInAnEmptyGrid) {
  kernel.launch({}, {0}, {{"x", x}, {"out", out}, {"length", kLength}, {"factor", 2.0f}});
  EXPECT_EQ(out[0], -1);
}

TEST_F(ScaleTest, WrongArgumentsAreNamed) {
  EXPECT_EQ(error({{"x", x}, {"out", out}, {"length", kLength}}),
            "a launch has to give every argument that the program declares; missing: factor, a scalar of f32");
  EXPECT_EQ(error({{"x", x}, {"y", out}, {"length", kLength}, {"factor", 2.0f}}),
            "y: the program declares no such argument\n  hint: it declares x, out, length, factor");
  EXPECT_EQ(error({{"x", x}, {"x", out}, {"length", kLength}, {"factor", 2.0f}}), "x: it is given twice");
  EXPECT_EQ(error({{"x", 1}, {"out", out}, {"length", kLength}, {"factor", 2.0f}}),
            "x: it is given a number; the program declares x, a pointer to f32");
  EXPECT_EQ(error({{"x", x}, {"out", out}, {"length", x}, {"factor", 2.0f}}),
            "length: it is given memory; the program declares length, a scalar of i32");
  EXPECT_EQ(error({{"x", x}, {"out", out}, {"length", 2.5}, {"factor", 2.0f}}),
            "length: it is given 2.500000; the program declares length, a scalar of i32");
  EXPECT_EQ(error({{"x", x}, {"out", out}, {"length", std::int64_t{1} << 40}, {"factor", 2.0f}}),
            "length: it is 1099511627776; i32 holds -2147483648 to 2147483647");
  EXPECT_EQ(error({{"x", x}, {"out", out}, {"length", 1}, {"factor", (1 << 24) + 1}}),
            "factor: 16777217 may not be a number of f32\n  hint: write it as a floating-point number");
  const std::int8_t bytes[64] = {};
  EXPECT_EQ(error({{"x", bytes}, {"out", out}, {"length", 1}, {"factor", 2.0f}}),
            "x: it is given a pointer to i8; the program declares x, a pointer to f32");
}

TEST_F(ScaleTest, PromisesAreChecked) {
  EXPECT_EQ(error({{"x", x + 1}, {"out", out}, {"length", 1}, {"factor", 2.0f}}),
            "x: the address is not a multiple of 16 bytes, as the program was promised");
}

TEST_F(ScaleTest, ALaunchAllocatesNothing) {
  const TensorView from(x, DType::F32, {kLength}), to(out, DType::F32, {kLength});
  kernel.launch({}, {2}, {{"x", from}, {"out", to}, {"length", kLength}, {"factor", 2.0f}});  // starts the threads of the host
  const long before = test::allocations();
  kernel.launch({}, {2}, {{"x", from}, {"out", to}, {"length", kLength}, {"factor", 2.0f}});
  EXPECT_EQ(test::allocations(), before);
}

TEST_F(ScaleTest, TheSameTextIsTheSameCode) {
  int compilations = 0;
  setProgressCallback([&](const KernelProgress& progress) {
    EXPECT_EQ(progress.kernel, "scale for host");
    compilations += progress.done ? 1 : 0;
  });
  const TileKernel again = compile(scaleProgram(), {.target = "host"}), other = compile(scaleProgram(96), {.target = "host"});
  setProgressCallback({});
  EXPECT_EQ(&again.info(), &kernel.info());
  EXPECT_NE(&other.info(), &kernel.info());
  EXPECT_EQ(compilations, 1);
}

TEST(TileKernel, ThreadsCompileOneProgramOnceAndLaunchItTogether) {
  std::atomic<int> compilations{0};
  setProgressCallback([&](const KernelProgress& progress) { compilations += progress.done ? 1 : 0; });
  std::latch start(4);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        const Program program = scaleProgram(48);
        start.arrive_and_wait();
        const TileKernel kernel = compile(program, {.target = "host"});
        alignas(64) float x[96], out[96];
        std::fill(std::begin(x), std::end(x), 1.5f);
        for (int round = 0; round < 20; ++round) {
          kernel.launch({}, {2}, {{"x", x}, {"out", out}, {"length", 96}, {"factor", round}});
          EXPECT_EQ(out[95], 1.5f * static_cast<float>(round));
        }
      });
  }
  setProgressCallback({});
  EXPECT_EQ(compilations, 1);
}

TEST(TileKernel, InfoAndExplainDescribeIt) {
  const Program program = scaleProgram(32);
  EXPECT_TRUE(
      explain(program, {.target = "host"}).starts_with("scale for host, not compiled\n  x, a pointer to f32, a multiple of 16 bytes\n"))
      << explain(program, {.target = "host"});
  const Program* programs[] = {&program};
  warmup(programs, {.target = "host"});
  EXPECT_TRUE(explain(program, {.target = "host"}).starts_with("scale for host, compiled\n"));
  const TileKernel kernel = compile(program, {.target = "host"});
  EXPECT_EQ(kernel.info().entry, "scale");
  EXPECT_EQ(kernel.info().target, "host");
  EXPECT_EQ(kernel.info().device, openDevice("host").description());
  EXPECT_GT(kernel.info().binary_bytes, 0);
  ASSERT_EQ(kernel.args().size(), 4u);
  EXPECT_EQ(kernel.args()[3].name, "factor");
  EXPECT_EQ(explain(program, {.target = "tpu"}).substr(0, 33), "there is no device for target 'tp");
}

TEST(TileKernel, AChipIsCompiledForWithoutADevice) {
  const TileKernel kernel = compile(scaleProgram(), {.target = "nvidia:sm_90", .tile = {.warps = 4}});
  EXPECT_EQ(kernel.info().threads, 128);
  EXPECT_EQ(kernel.info().device, "none");
  EXPECT_THROW(kernel.launch({}, {1}, {}), Error);
}

TEST(TileKernel, AnEmptyHandleSaysSo) {
  try {
    TileKernel().launch({}, {1}, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.constraint(), "this TileKernel is empty");
  }
  EXPECT_FALSE(try_compile(scaleProgram(), {.target = "nvidia:sm_10"}).has_value());
}

Program transposeProgram() {
  return trace("transpose", [](Params& args) {
    TensorArg x = args.tensor("x", DType::F32, 2), out = args.tensor("out", DType::F32, 2, {.rows = false});
    Scalar row = program_id(0) * 16, column = program_id(1) * 16;
    store(out.block({column, row}, {16, 16}), trans(load(x.block({row, column}, {16, 16}), {0, 1})), {0, 1});
  });
}

TEST(TileKernel, ATensorFillsItsExtentsAndStrides) {
  const TileKernel kernel = compile(transposeProgram(), {.target = "host"});
  std::vector<float> x(20 * 40), out(33 * 20 * 2, -1.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  const TensorView from = TensorView(x.data(), DType::F32, {20, 40}).narrowed(1, 3, 33);
  const TensorView to(out.data(), DType::F32, {33, 20}, {40, 2});
  kernel.launch({}, {2, 3}, {{"x", from}, {"out", to}});
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < 33; ++j) {
      ASSERT_EQ(out[static_cast<std::size_t>(j * 40 + i * 2)], x[static_cast<std::size_t>(i * 40 + j + 3)]) << i << " " << j;
      ASSERT_EQ(out[static_cast<std::size_t>(j * 40 + i * 2 + 1)], -1) << "a gap";
    }
}

// A launch compares names by their first and last eight letters, and only where these agree by all.
TEST(TileKernel, NamesWithTheSameEndsAreTold) {
  const std::vector<std::string> names = {"a",
                                          "ab",
                                          "abc",
                                          "axc",
                                          "abxc",
                                          "abyyc",
                                          "abcdefgh",
                                          "abcdefghij",
                                          "abcdefgh1hijklmn",
                                          "weights1_the_first_layers1",
                                          "weights1_the_other_layers1"};
  const TileKernel kernel = compile(trace("named",
                                          [&](Params& args) {
                                            TensorArg out = args.tensor("out", DType::I64, 1);
                                            for (std::size_t i = 0; i < names.size(); ++i) {
                                              Tile one = full({1}, 0, DType::I64) + args.scalar(names[i], DType::I64);
                                              store(out.block({static_cast<std::int64_t>(i)}, {1}), one, {0});
                                            }
                                          }),
                                    {.target = "host"});
  std::vector<std::int64_t> values(names.size(), -1);
  const TensorView out(values.data(), DType::I64, {static_cast<std::int64_t>(names.size())});
  std::vector<Argument> arguments = {{"out", out}};
  for (std::size_t i = 0; i < names.size(); ++i) arguments.emplace_back(names[i], 100 + static_cast<std::int64_t>(i));
  for (int order = 0; order < 2; ++order) {
    kernel.launch({}, {1}, arguments);
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(values[i], 100 + static_cast<std::int64_t>(i)) << names[i];
    std::ranges::fill(values, -1);
    std::ranges::reverse(arguments);
  }
  EXPECT_THROW(kernel.launch({}, {1}, {{"out", out}, {"weights1_the_third_layers1", 1}}), Error);
}

TEST(TileKernel, ATensorOfAnotherFormIsRefused) {
  const TileKernel kernel = compile(transposeProgram(), {.target = "host"});
  std::vector<float> memory(1000);
  const TensorView good(memory.data(), DType::F32, {10, 10});
  auto error = [&](const TensorView& x) -> std::string {
    try {
      kernel.launch({}, {1, 1}, {{"x", x}, {"out", good}});
      return "no error";
    } catch (const Error& error) {
      return error.constraint();
    }
  };
  EXPECT_EQ(error(good), "no error");
  EXPECT_EQ(error(good.transposed(0, 1)), "x: the stride of dimension 1 is 10; it must be 1");
  EXPECT_EQ(error({memory.data(), DType::F16, {10, 10}}), "x: dtype is f16; it must be f32");
  EXPECT_EQ(error({memory.data(), DType::F32, {10}}), "x: rank is 1; it must be 2");
  EXPECT_EQ(error({nullptr, DType::F32, {10, 10}}), "x: the data pointer is null, but the view is f32 [10, 10] strides [10, 1]");
}

TEST(TileKernel, ATextOfTileIrIsAProgramToo) {
  const Program original = scaleProgram();
  const Program program = dsl::parse(original.mlir());
  EXPECT_EQ(program.name(), "scale");
  ASSERT_EQ(program.args().size(), 4u);
  EXPECT_EQ(program.args()[0].name, "x");
  EXPECT_EQ(program.args()[0].divisibility, 16);
  EXPECT_EQ(program.mlir(), original.mlir());
  EXPECT_EQ(&compile(program, {.target = "host"}).info(), &compile(original, {.target = "host"}).info());
}

TEST(TileKernel, ATextThatIsNoProgramIsRefusedWithItsLine) {
  auto error = [](std::string_view text) -> std::string {
    try {
      dsl::parse(text);
      return "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::CompileError);
      return error.constraint();
    }
  };
  EXPECT_TRUE(error("func.func @f(%x: nothing) {").starts_with("the text is not valid tile IR: tile:1: "))
      << error("func.func @f(%x: nothing) {");
  EXPECT_EQ(error("func.func @f() { return }"), "the text is not valid tile IR: 0 functions have the attribute tile.kernel; one has to");
  EXPECT_EQ(error("func.func @f(%a: i32 {tile.name = \"n\"}, %b: i32 {tile.name = \"n\"}) attributes {tile.kernel} { return }"),
            "the text is not valid tile IR: two arguments are called n");
  EXPECT_NE(error(""), "no error");
}

}  // namespace
}  // namespace fattn
