// SPDX-License-Identifier: Apache-2.0
// Random programs on AMD's chips, simulated, against the interpreter; the chips take turns. `gpu-tests random --device simulated:gfx942`
// runs any number. FATTN_RANDOM_SEED=N draws others than the usual ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "tests/random/Execution.h"
#include "tests/random/Request.h"
#include "tests/support/Environment.h"

namespace fattn::random {
namespace {

constexpr uint64_t kSimulatedShards = 5, kSimulatedPrograms = 40;
constexpr std::array kSimulatedChips = {"gfx942", "gfx950", "gfx1100", "gfx1201"};

Outcome runSimulated(generator::Draw& draw) {
  Device& device = openDevice("simulated:" + draw.target.substr(draw.target.find(':') + 1));
  return Execution(device, Placing::Apart, [](std::string_view) {}).run(draw, programOf({.draw = draw}));
}

/// A product of a type that the chip's matrix instructions do not take.
bool isOfUnknownProduct(const Outcome& outcome) {
  return outcome.verdict == Verdict::Refused &&
         outcome.message.find("has matrix instructions that take registers for") != std::string::npos;
}

class SimulatedPrograms : public testing::TestWithParam<uint64_t> {};

TEST_P(SimulatedPrograms, AgreeWithTheInterpreter) {
  const uint64_t first = test::fromEnvironment("FATTN_RANDOM_SEED", 1000);
  uint64_t agreed = 0;
  for (uint64_t i = GetParam(); i < kSimulatedPrograms; i += kSimulatedShards) {
    const std::string target = fmt::format("amd:{}", kSimulatedChips[i % kSimulatedChips.size()]);
    generator::Draw draw = generator::draw(first + i, {&target, 1});
    const Outcome outcome = runSimulated(draw);
    EXPECT_TRUE(outcome.verdict == Verdict::Agreed || isOfUnknownProduct(outcome)) << draw.toString() << ": " << outcome.message;
    agreed += outcome.verdict == Verdict::Agreed ? 1 : 0;
  }
  EXPECT_GT(agreed, 0U);
}

INSTANTIATE_TEST_SUITE_P(Shards, SimulatedPrograms, testing::Range<uint64_t>(0, kSimulatedShards));

void agree(std::initializer_list<const char*> draws) {
  for (const char* text : draws) {
    generator::Draw draw = generator::Draw::parse(text);
    const Outcome outcome = runSimulated(draw);
    EXPECT_EQ(outcome.verdict, Verdict::Agreed) << text << ": " << outcome.message;
  }
}

/// LLVM 22 moves WMMA into the branch around what stores its result, where not all lanes are on.
TEST(SimulatedDraws, ProductsOfRdnaStayOutsideOfBranches) {
  agree({"program=67 target=amd:gfx1100 stages=4 warps=1 schedule=7 alignment=unaligned",
         "program=25 target=amd:gfx1100 stages=3 warps=2 schedule=57 alignment=unaligned"});
}

/// LLVM 22 leaves out the wait of a fence in a loop where nothing is on its way when the loop begins, though there is in the next trip.
TEST(SimulatedDraws, BarriersInLoopsWaitForTheTripBefore) {
  agree({"program=110 target=amd:gfx950 stages=1 warps=2 schedule=7 alignment=unaligned",
         "program=56 target=amd:gfx1100 stages=2 warps=2 schedule=0 alignment=mixed"});
}

/// LLVM 22 moves loads from global memory past barriers, behind which other waves store there.
TEST(SimulatedDraws, LoadsStayInFrontOfBarriers) {
  agree({"program=1187 target=amd:gfx950 stages=4 warps=4 schedule=0 alignment=aligned",
         "program=1331 target=amd:gfx942 stages=1 warps=4 schedule=4 alignment=mixed"});
}

/// LLVM 22 counts loads directly to LDS as accesses of LDS, so that its waits for those are too weak.
TEST(SimulatedDraws, AccessesOfLdsAreOverBeforeLoadsDirectlyToIt) {
  agree({"program=192 target=amd:gfx942 stages=4 warps=8 schedule=0 alignment=unaligned",
         "program=4076 target=amd:gfx942 stages=4 warps=1 schedule=0 alignment=mixed",
         "program=4076 target=amd:gfx950 stages=4 warps=1 schedule=0 alignment=mixed"});
}

/// Instructions that the simulator took for others: halves of a moved pair of which one is undefined, packed halves with a sign of their
/// own, v_nop.
TEST(SimulatedDraws, InstructionsThatFewProgramsHave) {
  agree({"program=2493 target=amd:gfx950 stages=4 warps=1 schedule=3 alignment=unaligned",
         "program=1152 target=amd:gfx1201 stages=2 warps=1 schedule=0 alignment=mixed",
         "program=1318 target=amd:gfx1100 stages=3 warps=8 schedule=5 alignment=unaligned"});
}

}  // namespace
}  // namespace fattn::random
