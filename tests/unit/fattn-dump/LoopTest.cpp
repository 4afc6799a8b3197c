// SPDX-License-Identifier: Apache-2.0
// The loops of a kernel as the compiler scheduled them: what the tool shows is what the compiler took.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tools/fattn-dump/Chart.h"
#include "tools/fattn-dump/Loop.h"
#include "tools/fattn-dump/Stages.h"

namespace fattn::dump {
namespace {

const Stage* stageCalled(const Compilation& compilation, const std::string& name) {
  const auto found = std::ranges::find(compilation.stages, name, &Stage::name);
  return found == compilation.stages.end() ? nullptr : &*found;
}

class LoopTest : public testing::Test {
 protected:
  static Compilation compiled(const std::string& config, const std::string& target = "nvidia:sm_90a") {
    Options options;
    options.headDim = options.headDimV = 64;
    options.target = target;
    options.emit = {Kind::Schedule};
    options.config = TileConfig::parse(config);
    return compileStages(options);
  }

  static const Compilation& forward(const std::string& config = "") {
    static const Compilation searched = compiled("BLOCK_M=64,BLOCK_N=64,WARPS=4");
    static const Compilation forced = compiled("BLOCK_M=64,BLOCK_N=64,WARPS=4,SCHEDULE=A a b B");
    return config.empty() ? searched : forced;
  }
};

TEST_F(LoopTest, TheStageStandsBehindTheScheduledModuleAndNamesItsOrder) {
  const Compilation& compilation = forward();
  ASSERT_FALSE(compilation.loops.empty());
  const Stage *module = stageCalled(compilation, "tilegpu-schedule-loops"), *stage = stageCalled(compilation, kScheduleStage);
  ASSERT_TRUE(module && stage);
  EXPECT_EQ(stage, module + 1);
  EXPECT_EQ(compilation.find(Kind::Schedule), stage);
  for (const gpu::ScheduledLoop& loop : compilation.loops) {
    ASSERT_TRUE(loop.costed && loop.schedule);
    const std::string order = gpu::print(*loop.costed, *loop.schedule);
    EXPECT_NE(module->text.find("tilegpu.schedule = \"" + order + "\""), std::string::npos) << order;
    EXPECT_NE(stage->text.find("schedule " + order + ", of "), std::string::npos) << stage->text;
    EXPECT_EQ(loop.found.best.front().schedule, *loop.schedule);
  }
  EXPECT_NE(stage->text.find(" A = dot 64 x 64 x 64: "), std::string::npos) << stage->text;
  EXPECT_NE(stage->text.find("A -> a"), std::string::npos) << stage->text;
  EXPECT_NE(stage->text.find("(taken)"), std::string::npos) << stage->text;
}

class KeysLoopTest : public testing::Test {
 protected:
  static Compilation compiled(const std::string& width, const std::string& config) {
    Options options;
    options.fromTemplate = "attention_backward_keys";
    options.parameters = {{"dtype", "bf16"}, {"head_dim", width}, {"head_dim_v", width}};
    options.target = "nvidia:sm_90a";
    options.emit = {Kind::Schedule};
    options.config = TileConfig::parse(config);
    return compileStages(options);
  }

  static const Compilation& wide() {
    static const Compilation searched = compiled("256", "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8");
    return searched;
  }
};

// At 256 columns two groups share the columns of dK and dV. To share those of the products before would take longer than to exchange what
// each makes of one of them.
TEST_F(KeysLoopTest, TheSearchSaysWhetherEachGroupComputesAProductOfItsOwn) {
  const std::string own = "each warp group with a product of its own (pairs)";
  const Stage* stage = wide().find(Kind::Schedule);
  ASSERT_TRUE(stage);
  EXPECT_NE(stage->text.find(own), std::string::npos) << stage->text;
  const Compilation narrow = compiled("64", "BLOCK_M=64,BLOCK_N=128,STAGES=2,WARPS=8");
  stage = narrow.find(Kind::Schedule);
  ASSERT_TRUE(stage);
  EXPECT_NE(stage->text.find(" legal"), std::string::npos) << stage->text;
  EXPECT_EQ(stage->text.find(own), std::string::npos) << stage->text;
}

// The first group stores P twice: in f32 for the other group's dS (c), and rounded for dV (d). It does so where the second store stands.
// What waits for c in front of that would wait for ever.
TEST_F(KeysLoopTest, WhatReadsATileOfAGroupComesBehindAllThatTheGroupStores) {
  const gpu::ScheduledLoop* loop = gpu::busiest(wide().loops);
  ASSERT_TRUE(loop);
  std::size_t nodes = 0;
  for (const gpu::Node& node : loop->model.nodes) nodes += node.kind == gpu::NodeKind::Arithmetic ? 1 : 0;
  ASSERT_EQ(nodes, 5U) << "a, b, and three stores";
  ASSERT_GE(loop->found.best.size(), 2U);
  for (const gpu::Candidate& found : loop->found.best) {
    const std::string order = gpu::print(loop->model, found.schedule);
    EXPECT_LT(order.find('c'), order.find('b')) << order;
    EXPECT_LT(order.find('d'), order.find('b')) << order;
  }
}

TEST_F(LoopTest, AnOrderOfTheTileConfigurationIsPricedToo) {
  const Compilation& compilation = forward("forced");
  const gpu::ScheduledLoop* loop = gpu::busiest(compilation.loops);
  ASSERT_TRUE(loop && loop->costed && loop->schedule);
  EXPECT_EQ(gpu::print(*loop->costed, *loop->schedule), "A a b B");
  EXPECT_TRUE(loop->found.best.empty());
  const Stage* stage = compilation.find(Kind::Schedule);
  ASSERT_TRUE(stage);
  EXPECT_NE(stage->text.find("schedule A a b B, as the tile configuration says"), std::string::npos) << stage->text;
  EXPECT_NE(stage->text.find("A a b B  (taken)"), std::string::npos) << stage->text;
}

// Each of the groups has the matrix unit do its rows, and none waits for the other one. Where warps copy by themselves they meet in each
// trip.
TEST_F(LoopTest, GroupsThatRunApartCountOneByOne) {
  const Compilation apart = compiled("BLOCK_M=128,BLOCK_N=64,STAGES=2,WARPS=8");
  const gpu::ScheduledLoop* loop = gpu::busiest(apart.loops);
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->model.groups, 2);
  EXPECT_EQ(loop->model.threads, 128);
  EXPECT_EQ(loop->model.nodes.front().dot.m, 64);
  const Stage* stage = apart.find(Kind::Schedule);
  ASSERT_TRUE(stage);
  EXPECT_NE(stage->text.find("128 threads in a group of warps, 2 groups side by side"), std::string::npos) << stage->text;
  const Compilation together = compiled("BLOCK_M=128,BLOCK_N=64,STAGES=2,WARPS=8", "nvidia:sm_80");
  loop = gpu::busiest(together.loops);
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->model.threads, 256);
  EXPECT_EQ(loop->model.nodes.front().dot.m, 128);
}

TEST_F(LoopTest, ANodesLineIsTiedToTheLinesItStandsFor) {
  const Stage* stage = forward().find(Kind::Schedule);
  ASSERT_TRUE(stage);
  std::istringstream text(stage->text);
  std::string line;
  std::size_t number = 0, nodes = 0;
  for (; std::getline(text, line); ++number) {
    ASSERT_LT(number, stage->lines.size());
    if (line.find(" = ") == std::string::npos) continue;
    ++nodes;
    ASSERT_FALSE(stage->lines[number].empty()) << line;
    EXPECT_TRUE(stage->lines[number].front().file.ends_with("AttentionForward.cpp")) << stage->lines[number].front().file;
  }
  EXPECT_EQ(number, stage->lines.size());
  EXPECT_GE(nodes, 3U);
}

TEST_F(LoopTest, TheChartDrawsTheOrderThatTheCompilerTook) {
  const gpu::ScheduledLoop* loop = gpu::busiest(forward().loops);
  ASSERT_TRUE(loop && loop->costed && loop->schedule);
  const auto chart = chartOf(*loop);
  ASSERT_TRUE(chart);
  EXPECT_EQ(chart->schedule, gpu::print(*loop->costed, *loop->schedule));
  EXPECT_NE(std::ranges::find(chart->rows, "group 0"), chart->rows.end());
  EXPECT_NE(chart->note.find("the search's choice of "), std::string::npos) << chart->note;
  ASSERT_EQ(chart->nodes.size(), loop->origins.size());
  EXPECT_TRUE(chart->nodes.front().what.starts_with(loop->origins.front().what + ", ")) << chart->nodes.front().what;
}

TEST_F(LoopTest, ALoopThatTheTableCannotPriceSaysWhy) {
  gpu::ScheduledLoop loop;
  loop.model.nodes = {{.name = "A", .kind = gpu::NodeKind::Dot}};
  loop.origins = {{.what = "dot 64 x 64 x 64", .operations = 1, .sources = {{"k.cpp", 7}}}};
  loop.why = "the table has no cycles for it";
  const Stage stage = scheduleStage({loop});
  EXPECT_TRUE(stage.text.starts_with("loop 1 keeps the order of its text: the table has no cycles for it\n")) << stage.text;
  EXPECT_NE(stage.text.find("A = dot 64 x 64 x 64, 0 registers"), std::string::npos) << stage.text;
  EXPECT_FALSE(chartOf(loop));
}

/// The table of sm_100 has no cycles of its dots; an order that is named is taken all the same.
TEST_F(LoopTest, AnOrderThatIsNamedIsShownWithoutFigures) {
  Options options;
  options.headDim = options.headDimV = 64;
  options.target = "nvidia:sm_100";
  options.emit = {Kind::Schedule};
  options.config = TileConfig::parse("BLOCK_M=64,BLOCK_N=64,WARPS=4,SCHEDULE=A B1 a b");
  const Compilation compilation = compileStages(options);
  const Stage* stage = stageCalled(compilation, kScheduleStage);
  ASSERT_NE(stage, nullptr);
  EXPECT_TRUE(stage->text.starts_with("loop 1: schedule A B1 a b, as the tile configuration says\n")) << stage->text;
  EXPECT_NE(stage->text.find("the table has no cycles of its dots: nothing is simulated\n"), std::string::npos) << stage->text;
  EXPECT_FALSE(chartOf(compilation.loops.front()));
}

TEST_F(LoopTest, TheBusiestLoopHasTheMostDotsAndOfTheseTheFewestOperations) {
  const auto loop = [](int dots, int operations) {
    gpu::ScheduledLoop made;
    made.model.nodes.assign(dots, {.name = "A", .kind = gpu::NodeKind::Dot});
    made.origins = {{.what = "", .operations = operations, .sources = {}}};
    return made;
  };
  const std::vector<gpu::ScheduledLoop> loops = {loop(1, 3), loop(2, 9), loop(2, 5), loop(0, 1)};
  EXPECT_EQ(gpu::busiest(loops), &loops[2]);
  EXPECT_EQ(gpu::busiest({}), nullptr);
  const std::vector<gpu::ScheduledLoop> dotless = {loop(0, 1)};
  EXPECT_EQ(gpu::busiest(dotless), nullptr);
}

TEST_F(LoopTest, TheExampleInTheDocumentationIsWhatIsPrinted) {
  std::ifstream page(std::string(FATTN_SOURCE) + "/docs/schedule.md");
  std::string line;
  while (std::getline(page, line) && !line.starts_with("$ fattn-dump ")) continue;
  std::vector<std::string> arguments;
  std::istringstream words(line);
  for (std::string word; words >> word;) arguments.push_back(word);
  ASSERT_GT(arguments.size(), 2U) << "docs/schedule.md shows no call of fattn-dump";
  arguments.erase(arguments.begin(), arguments.begin() + 2);
  std::string shown;
  while (std::getline(page, line) && line != "```") shown += line + "\n";
  const auto options = parseCommandLine(arguments);
  ASSERT_TRUE(options);
  const Compilation compilation = compileStages(*options);
  const Stage* stage = compilation.find(Kind::Schedule);
  ASSERT_TRUE(stage);
  EXPECT_EQ(stage->text, shown);
}

}  // namespace
}  // namespace fattn::dump
