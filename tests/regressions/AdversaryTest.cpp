// SPDX-License-Identifier: Apache-2.0
// Every program of this folder, compiled for numbers of warps, stages and orders of its loop, has no faults under the adversary.
#include <gtest/gtest.h>

#include "compiler/gpu/interpreter/Adversary.h"
#include "tests/adversary/CheckProgram.h"
#include "tests/regressions/Regression.h"
#include "tests/support/Context.h"

using namespace mlir;

namespace fattn::regressions {
namespace {

class Regressions : public testing::TestWithParam<std::string> {};

/// Stages and which of the best schedules.
constexpr std::pair<int64_t, int64_t> kOverlaps[] = {{1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}, {3, 2}};

TEST_P(Regressions, HaveNoFaults) {
  auto context = test::makeContext();
  Regression program(GetParam(), *context);
  std::vector<generator::Array> expected = program.expected();
  int compiled = 0;
  for (int64_t warps : {1, 4})
    for (auto [stages, schedule] : kOverlaps) {
      adversary::BlockProgram block = adversary::compileForBlock(
          program.module(), {.target = "nvidia:sm_90", .warps = warps, .stages = stages, .schedule = schedule, .forced = {}});
      if (!block.module) {  // this loop has fewer schedules
        EXPECT_NE(block.refused.find("there is no schedule"), std::string::npos) << block.refused;
        continue;
      }
      ++compiled;
      std::vector<generator::Array> memory = program.arrays();
      adversary::Options options;
      options.compare = [&](const adversary::Order&) { return Regression::compare(expected, memory); };
      std::string faults = adversary::textOf(adversary::check(*block.module, program.bind(memory), program.grid(), options));
      EXPECT_EQ(faults, "") << warps << " warps, " << stages << " stages, schedule " << schedule;
    }
  EXPECT_GE(compiled, 4);
}

INSTANTIATE_TEST_SUITE_P(All, Regressions, testing::ValuesIn(names()), [](const auto& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace fattn::regressions
