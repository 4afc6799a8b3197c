// SPDX-License-Identifier: Apache-2.0
// Arrays on a device: where they lie, that they come back, and that what is written beside them is seen. Campaigns on the host.
#include <gtest/gtest.h>

#include <bit>

#include "compiler/dialect/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "tests/random/Arena.h"
#include "tests/random/Campaign.h"
#include "tests/random/Poison.h"
#include "tests/random/Report.h"
#include "tests/support/Context.h"

using namespace mlir;

namespace fattn::random {
namespace {

struct ArenaTest : testing::TestWithParam<Placing> {
  ArenaTest() {
    for (auto [bytes, misalignment] : {std::pair<int64_t, int64_t>{40, 0}, {1000, 12}, {4, 252}}) {
      generator::Array array;
      array.bytes.assign(static_cast<size_t>(bytes), static_cast<char>(bytes));
      array.misalignment = misalignment;
      program.arguments.emplace_back(std::move(array));
    }
    program.arguments.emplace_back(int64_t{-5});
    slots = arena.upload(program);
  }
  char* at(size_t argument) { return std::bit_cast<char*>(slots[argument]); }

  generator::Program program;
  Arena arena{openDevice("host"), GetParam()};
  std::vector<uint64_t> slots;
};

TEST_P(ArenaTest, ArraysLieWhereTheyShould) {
  ASSERT_EQ(slots.size(), 4U);
  EXPECT_EQ(slots[0] % 64, 0U);
  EXPECT_EQ(slots[1] % 64, 12U);
  EXPECT_EQ(slots[2] % 64, 252U % 64);
  EXPECT_EQ(static_cast<int64_t>(slots[3]), -5);
}

TEST_P(ArenaTest, WhatIsWrittenComesBack) {
  at(0)[39] = 'x', at(1)[0] = 'y';
  EXPECT_EQ(arena.download(program), "");
  EXPECT_EQ(std::get<generator::Array>(program.arguments[0]).bytes[39], 'x');
  EXPECT_EQ(std::get<generator::Array>(program.arguments[1]).bytes[0], 'y');
  EXPECT_EQ(std::get<generator::Array>(program.arguments[2]).bytes[3], 4);
}

INSTANTIATE_TEST_SUITE_P(Placings, ArenaTest, testing::Values(Placing::Together, Placing::Apart));

using ArenaTogether = ArenaTest;

TEST_P(ArenaTogether, WhatIsWrittenBesideAnArrayIsSeen) {
  at(0)[40] ^= 1;
  EXPECT_EQ(arena.download(program), "argument 0: a byte 0 behind its array was written");
  at(0)[40] ^= 1;
  at(1)[-3] ^= 1;
  EXPECT_EQ(arena.download(program), "argument 1: a byte 3 before its array was written");
  at(1)[-3] ^= 1;
  at(2)[4 + 255] ^= 1;
  EXPECT_EQ(arena.download(program), "argument 2: a byte 255 behind its array was written");
}

INSTANTIATE_TEST_SUITE_P(Placings, ArenaTogether, testing::Values(Placing::Together));

TEST(Poison, FillsWhatIsOnlyStoredTo) {
  auto context = test::makeContext();
  generator::Program program;
  program.module = parseSourceString<ModuleOp>(R"(
    func.func @f(%stored: !tile.ptr<f32>, %both: !tile.ptr<f32>, %read: !tile.ptr<f32>) {
      %i = tile.arange 0 : tensor<4xi32>
      %s0 = tile.splat %stored : !tile.ptr<f32> -> tensor<4x!tile.ptr<f32>>
      %b0 = tile.splat %both : !tile.ptr<f32> -> tensor<4x!tile.ptr<f32>>
      %r0 = tile.splat %read : !tile.ptr<f32> -> tensor<4x!tile.ptr<f32>>
      %s = tile.addptr %s0, %i : tensor<4x!tile.ptr<f32>>, tensor<4xi32>
      %b = tile.addptr %b0, %i : tensor<4x!tile.ptr<f32>>, tensor<4xi32>
      %r = tile.addptr %r0, %i : tensor<4x!tile.ptr<f32>>, tensor<4xi32>
      %x = tile.gather %b : tensor<4x!tile.ptr<f32>> -> tensor<4xf32>
      %y = tile.gather %r : tensor<4x!tile.ptr<f32>> -> tensor<4xf32>
      tile.scatter %s, %x : tensor<4x!tile.ptr<f32>>, tensor<4xf32>
      tile.scatter %b, %y : tensor<4x!tile.ptr<f32>>, tensor<4xf32>
      return
    })",
                                               context.get());
  ASSERT_TRUE(program.module);
  program.entry = "f";
  for (int i = 0; i < 3; ++i) {
    generator::Array array;
    array.type = Float32Type::get(context.get());
    array.bytes.assign(16, 0);
    program.arguments.emplace_back(std::move(array));
  }
  poisonOutputs(program);
  auto first = [&](int i) { return std::get<generator::Array>(program.arguments[static_cast<size_t>(i)]).bytes[0]; };
  EXPECT_NE(first(0), 0);
  EXPECT_EQ(first(1), 0) << "its elements are read";
  EXPECT_EQ(first(2), 0);
}

TEST(Campaign, RunsItsDrawsInThisProcess) {
  Report report;
  CampaignOptions options = completed({.device = "host", .draws = 10, .inProcess = true});
  std::vector<Result> results = runDraws(options, [&](const Result& result) { report.add(result); });
  EXPECT_EQ(results.size(), 10U);
  EXPECT_TRUE(report.good(false)) << report.table();
  EXPECT_EQ(results[3].draw.program, 3U);
}

TEST(Campaign, AReplyThatIsNoneTellsHowTheWorkerEnded) {
  generator::Draw draw{.program = 5};
  Result lost = resultOf(draw, {Reply::Kind::Died, "signal 11 (Segmentation fault): run"});
  EXPECT_EQ(describe(lost), draw.toString() + ": crashed: signal 11 (Segmentation fault): run");
  EXPECT_EQ(resultOf(draw, {Reply::Kind::TimedOut, ""}).outcome.verdict, Verdict::TimedOut);
  Result wrong{draw, {Verdict::Wrong, "argument 1: \"a\"\nargument 2"}};
  EXPECT_EQ(describe(resultOf(draw, {Reply::Kind::Answered, toLine(wrong)})), describe(wrong));
}

TEST(Campaign, ARequestKeepsItsChoices) {
  Request request{.draw = {.program = 9, .stages = 3}, .choices = std::vector<uint64_t>{1, UINT64_MAX}};
  Request again = requestOf(toLine(request));
  EXPECT_EQ(again.draw, request.draw);
  EXPECT_EQ(again.choices, request.choices);
  EXPECT_FALSE(requestOf(toLine(Request{.draw = request.draw})).choices);
}

}  // namespace
}  // namespace fattn::random
