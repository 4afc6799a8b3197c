// SPDX-License-Identifier: Apache-2.0
// The time to compile a program is proportional to its length: no pass looks at the whole program again for each operation. For the host
// this measures our passes only: LLVM's own take a time that grows with the square of the number of loops in a function, whose dominator
// tree is as deep as they are many.
#include <gtest/gtest.h>

#include <ctime>

#include "compiler/cpu/Passes.h"
#include "compiler/driver/Compile.h"
#include "compiler/emit/HostCode.h"
#include "dsl/Internal.h"
#include "fattn/dsl/Dsl.h"
#include "mlir/Pass/PassManager.h"

namespace fattn::compiler {
namespace {

using namespace dsl;

constexpr int kShort = 200, kLong = 2000;
/// 10 is proportional, 100 is quadratic. What is between is for caches and sorting.
constexpr double kMostRatio = 40;

struct Shape {
  const char* name;
  /// One more step of the program: what the next one begins with.
  Tile (*step)(int i, Tile x, BlockPtr in, BlockPtr out);
  int operations;  ///< in a step
};

constexpr Shape kShapes[] = {
    {"Chain", [](int i, Tile x, BlockPtr, BlockPtr) { return i % 2 == 0 ? x * 0.5f + 1.0f : exp2(x * 0.25f); }, 3},
    {"LoadsAndStores",
     [](int, Tile x, BlockPtr in, BlockPtr out) {
       Tile sum = x * 0.5f + load(in);
       store(out, sum);
       return sum;
     },
     4},
    {"Reductions", [](int, Tile x, BlockPtr, BlockPtr) { return x - expand(reduce_sum(x, 1), 1); }, 4},
    {"Dots", [](int, Tile x, BlockPtr in, BlockPtr) { return dot(load(in), x, x * 0.125f); }, 4},
};

Program programOf(const Shape& shape, int operations) {
  return trace("long_program", [&](Params& params) {
    Ptr a = params.ptr("a", DType::F32), b = params.ptr("b", DType::F32);
    BlockPtr in = make_block_ptr(a, {16, 16}, {16, 1}, {0, 0}, {16, 16}), out = make_block_ptr(b, {16, 16}, {16, 1}, {0, 0}, {16, 16});
    Tile x = load(in);
    for (int i = 0; i < operations / shape.operations; ++i) x = shape.step(i, x, in, out);
    store(out, x);
  });
}

/// Seconds of this process's own work, so that other processes of the machine do not count.
double secondsFor(const Shape& shape, int operations, const std::string& target) {
  Program program = programOf(shape, operations);
  mlir::ModuleOp module = internal::module(program);
  CompileOptions options;
  options.target = target;
  mlir::DialectRegistry registry;
  registerCompilerDialects(registry);
  module.getContext()->appendDialectRegistry(registry);
  mlir::PassManager passes(module.getContext());
  cpu::buildPipeline(passes, emit::hostTarget("host:sse2"));
  std::clock_t begin = std::clock();
  if (target.starts_with("host"))
    EXPECT_TRUE(mlir::succeeded(passes.run(module)));
  else
    compile(module, options);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

class CompileTime : public testing::TestWithParam<std::tuple<Shape, const char*>> {};

TEST_P(CompileTime, GrowsWithTheLengthOfTheProgram) {
  const auto& [shape, target] = GetParam();
  double brief = secondsFor(shape, kShort, target), full = secondsFor(shape, kLong, target);
  std::cout << shape.name << " for " << target << ": " << brief << " s, " << full << " s, ratio " << full / brief << "\n";
  EXPECT_LT(full, kMostRatio * brief + 0.2) << shape.name << " for " << target;
}

INSTANTIATE_TEST_SUITE_P(Programs, CompileTime, testing::Combine(testing::ValuesIn(kShapes), testing::Values("host:sse2", "nvidia:sm_90")),
                         [](const auto& info) {
                           std::string target = std::get<1>(info.param);
                           return std::string(std::get<0>(info.param).name) + (target.starts_with("host") ? "Host" : "Nvidia");
                         });

}  // namespace
}  // namespace fattn::compiler
