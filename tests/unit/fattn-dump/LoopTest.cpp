// SPDX-License-Identifier: Apache-2.0
// Loops of tile programs as the schedule search sees them.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/driver/Compile.h"
#include "compiler/gpu/schedule/Schedule.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "tools/fattn-dump/Chart.h"
#include "tools/fattn-dump/Loop.h"

namespace fattn::dump {
namespace {

class LoopTest : public testing::Test {
 protected:
  LoopTest() {
    mlir::DialectRegistry registry;
    compiler::registerCompilerDialects(registry);
    context.appendDialectRegistry(registry);
  }
  std::optional<TileLoop> read(const std::string& body, int stages = 2) {
    const std::string text = R"(
      func.func @f(%a: !tile.block_ptr<64x64xbf16>, %b: !tile.block_ptr<64x64xbf16>, %n: index, %q: tensor<128x64xbf16>, %o: tensor<128x64xf32>,
                   %zero: tensor<128x64xf32>) -> tensor<128x64xf32> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %o) -> tensor<128x64xf32> {
)" + body + R"(
        }
        return %r : tensor<128x64xf32>
      })";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "test.mlir");
    if (!module) ADD_FAILURE() << "the test's module is wrong";
    return module ? findLoop(*module, 128, stages) : std::nullopt;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

constexpr const char* kTwoDots = R"(
  %k = tile.load %a : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16>
  %kt = tile.trans %k, [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
  %s = tile.dot %q, %kt, %zero : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
  %e = math.exp2 %s : tensor<128x64xf32>
  %p = arith.truncf %e : tensor<128x64xf32> to tensor<128x64xbf16>
  %v = tile.load %b : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16>
  %next = tile.dot %p, %v, %acc : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
  scf.yield %next : tensor<128x64xf32>)";

std::string edgesOf(const gpu::LoopModel& model) {
  std::vector<std::string> edges;
  for (const gpu::Edge& e : model.edges)
    edges.push_back(model.nodes[e.from].name + ">" + model.nodes[e.to].name + (e.distance ? "'" : "") + (e.chained ? "+" : ""));
  std::ranges::sort(edges);
  std::string text;
  for (const std::string& edge : edges) text += edge + " ";
  return text;
}

TEST_F(LoopTest, DotsLoadsAndTheArithmeticBetweenThemAreNodes) {
  const auto loop = read(kTwoDots);
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->order, "loadA loadB dotA1 math1 dotB1");
  EXPECT_EQ(edgesOf(loop->model), "dotA>math dotB>dotB'+ loadA>dotA loadB>dotB math>dotB ") << "' is a trip later, + only an accumulator";
  const auto& math = loop->model.nodes[*loop->model.find("math")];
  EXPECT_EQ(math.work.exp2, 128 * 64);
  EXPECT_EQ(math.work.convert, 128 * 64);
  EXPECT_EQ(math.registers, 32) << "the bf16 tile; the exponentials stay inside";
  const auto& second = loop->model.nodes[*loop->model.find("dotB")];
  EXPECT_EQ(second.dot.m, 128);
  EXPECT_EQ(second.dot.n, 64);
  EXPECT_EQ(second.dot.k, 64);
  EXPECT_FALSE(second.dot.aInShared);
  EXPECT_EQ(loop->model.nodes[*loop->model.find("loadA")].shared, 64 * 64 * 2);
  EXPECT_EQ(loop->model.fixedRegisters, 64);
}

TEST_F(LoopTest, NodesKnowTheLinesTheyComeFrom) {
  const auto loop = read(kTwoDots);
  ASSERT_TRUE(loop);
  const auto& lines = loop->sources[*loop->model.find("math")];
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].line, lines[0].line + 1);
  EXPECT_TRUE(lines[0].file.ends_with("test.mlir"));
}

TEST_F(LoopTest, TheOrderIsLegalAndCanBeDrawn) {
  const auto loop = read(kTwoDots, 3);
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->order, "loadA loadB dotA2 math2 dotB2");
  const auto chart = chartOf(*loop, "nvidia:sm_90", 2);
  ASSERT_TRUE(chart);
  EXPECT_EQ(chart->schedule, loop->order);
  EXPECT_NE(std::ranges::find(chart->rows, "group 1"), chart->rows.end());
  EXPECT_NE(std::ranges::find(chart->rows, "tensor"), chart->rows.end());
  EXPECT_NE(std::ranges::find(chart->rows, "exp2"), chart->rows.end());
  EXPECT_NE(chart->note.find("legal orders the best takes"), std::string::npos) << chart->note;
  EXPECT_FALSE(chartOf(*loop, "nvidia:sm_100", 2)) << "there is no figure for its dots";
}

TEST_F(LoopTest, ARareSideIsANodeOfItsOwnThatWaitsForTheRunningValue) {
  const auto loop = read(R"(
    %k = tile.load %a : !tile.block_ptr<64x64xbf16> -> tensor<64x64xbf16>
    %s = tile.dot %q, %k, %zero : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    %e = math.exp2 %s : tensor<128x64xf32>
    %t = arith.constant true
    %l = tile.select_lazy %t usual(%acc) : i1, tensor<128x64xf32> -> tensor<128x64xf32> {
      %x = arith.mulf %acc, %acc : tensor<128x64xf32>
      tile.yield %x : tensor<128x64xf32>
    }
    %p = arith.truncf %e : tensor<128x64xf32> to tensor<128x64xbf16>
    %next = tile.dot %p, %k, %l : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    scf.yield %next : tensor<128x64xf32>)");
  ASSERT_TRUE(loop);
  const auto lazy = loop->model.find("lazy");
  ASSERT_TRUE(lazy);
  EXPECT_EQ(loop->model.nodes[*lazy].work.fma, 0) << "what almost never runs costs nothing";
  EXPECT_NE(edgesOf(loop->model).find("dotB>lazy'"), std::string::npos) << edgesOf(loop->model);
  EXPECT_NE(edgesOf(loop->model).find("lazy>dotB"), std::string::npos) << edgesOf(loop->model);
}

TEST_F(LoopTest, ALoopWithoutDotsIsNone) {
  EXPECT_FALSE(read(R"(
    %x = arith.addf %acc, %acc : tensor<128x64xf32>
    scf.yield %x : tensor<128x64xf32>)"));
}

}  // namespace
}  // namespace fattn::dump
