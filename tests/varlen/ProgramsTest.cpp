// SPDX-License-Identifier: Apache-2.0
// The program of packed sequences itself: through the interpreter, which sees every access outside of an array; compiled for GPUs and
// executed with the worst orders of warps and copies; and for every chip.
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <regex>

#include "compiler/gpu/Target.h"
#include "dsl/Internal.h"
#include "kernels/attention/AttentionVarlen.h"
#include "tests/adversary/CheckProgram.h"
#include "tests/support/TemplatePrograms.h"
#include "tests/varlen/VarlenData.h"

namespace fattn::varlen {
namespace {

VarlenShape small(bool causal) {
  return {.dtype = DType::BF16, .dim = 32, .dimV = 32, .queries = {20, 0, 33}, .keys = {25, 3, 33}, .causal = causal};
}

void runBy(const test::RunProgram& run, VarlenData& data, const TileConfig& tile, std::int64_t longest) {
  const VarlenArgs args = data.at(data.memory().data());
  const Parameters parameters = {{"dtype", std::string(name(args.q.dtype))},
                                 {"head_dim", args.q.shape[2]},
                                 {"head_dim_v", args.v.shape[2]},
                                 {"causal", data.config("host").causal}};
  const std::vector<Argument> arguments = {
      {"q", args.q},      {"k", args.k},       {"v", args.v},       {"o", args.o},
      {"lse", *args.lse}, {"cu_q", args.cu_q}, {"cu_k", args.cu_k}, {"scale", 1 / std::sqrt(static_cast<double>(args.q.shape[2]))},
      {"write_lse", 1}};
  const std::int64_t extents[] = {args.cu_q.shape[0] - 1, args.q.shape[1], longest};
  const Grid grid = kernels::varlenTemplate().grid(parameters, tile, extents);
  run(test::traced(kernels::varlenTemplate(), parameters, tile), arguments,
      {static_cast<std::int32_t>(grid.x), static_cast<std::int32_t>(grid.y), static_cast<std::int32_t>(grid.z)});
  EXPECT_LE(data.errors().o, data.tolerance().o);
  EXPECT_LE(data.errors().lse, data.tolerance().lse);
}

TEST(VarlenProgram, MeansWhatFloat64SaysAndStaysInsideItsArrays) {
  for (const bool causal : {false, true}) {
    VarlenData data(small(causal));
    runBy([](const dsl::Program& program, const std::vector<Argument>& arguments,
             interpreter::Grid grid) { interpreter::run(test::functionOf(program), test::bySlot(program, arguments), grid); },
          data, {.block_m = 16, .block_n = 16}, 33);
  }
}

TEST(VarlenProgram, HasNoFaultsUnderTheAdversary) {
  for (const char* target : {"nvidia:sm_80", "nvidia:sm_90a"}) {
    const TileConfig tile{.block_m = 32, .block_n = 16, .stages = 2, .warps = 2};
    VarlenData data(small(true));
    runBy(
        [&](const dsl::Program& program, const std::vector<Argument>& arguments, interpreter::Grid grid) {
          adversary::BlockProgram block = adversary::compileForBlock(
              dsl::internal::module(program), {.target = target, .warps = tile.warps, .stages = tile.stages, .schedule = 0, .forced = {}});
          ASSERT_TRUE(block.module) << block.refused;
          EXPECT_EQ(adversary::textOf(adversary::check(*block.module, test::bySlot(program, arguments), grid)), "");
        },
        data, tile, 33);
  }
}

// Results of packed sequences leave by threads, which exchange them within a warp: the next program's operands have the shared memory.
TEST(VarlenProgram, BlocksThatTakeSeveralMeetOnce) {
  for (const std::int64_t columns : {128, 192, 256}) {
    const Parameters parameters = {{"dtype", std::string("bf16")}, {"head_dim", columns}, {"head_dim_v", columns}, {"causal", true}};
    const std::string ptx = test::ptxOf(kernels::varlenTemplate(), parameters, "nvidia:sm_90a");
    const std::regex barrier(R"(bar\.sync\s+\d)");  // turns have their numbers in registers
    EXPECT_EQ(std::distance(std::sregex_iterator(ptx.begin(), ptx.end(), barrier), std::sregex_iterator()), 1) << columns;
  }
}

TEST(VarlenProgram, CompilesForEveryChip) {
  for (const std::string_view chip : gpu::targetNames()) {
    if (!chip.starts_with("nvidia:")) continue;
    const Parameters parameters = {
        {"dtype", std::string("bf16")}, {"head_dim", std::int64_t{64}}, {"head_dim_v", std::int64_t{64}}, {"causal", true}};
    EXPECT_NO_THROW(EXPECT_NE(test::ptxOf(kernels::varlenTemplate(), parameters, std::string(chip)).find(".entry"), std::string::npos))
        << chip;
  }
}

}  // namespace
}  // namespace fattn::varlen
