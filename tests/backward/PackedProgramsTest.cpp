// SPDX-License-Identifier: Apache-2.0
// The programs of the backward pass on packed sequences themselves: through the interpreter, which sees every access outside of an array;
// compiled for GPUs and executed with the worst orders of warps and copies; and for every chip.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/gpu/Target.h"
#include "dsl/Internal.h"
#include "kernels/attention/AttentionBackward.h"
#include "tests/adversary/CheckProgram.h"
#include "tests/backward/BackwardPrograms.h"
#include "tests/backward/PackedData.h"

namespace fattn::backward {
namespace {

/// [rows, heads, width] as [1, heads, rows, width].
TensorView oneEntry(const TensorView& view) {
  const std::int64_t H = view.shape[1], T = view.shape[0];
  if (view.rank == 2) return {view.data, view.dtype, {1, H, T}, {T * H, 1, H}};
  const std::int64_t D = view.shape[2];
  return {view.data, view.dtype, {1, H, T, D}, {T * H * D, D, H * D, 1}};
}

/// A launch of the kernels of one mode, each by `run`; `boxes` as the templates' parameter.
void packedBy(const test::RunProgram& run, PackedData& data, bool fast, bool boxes, const BackwardTiles& tiles) {
  const PackedShape& shape = data.shape();
  const PackedBackwardArgs args = data.at(data.memory().data());
  const auto sequences = static_cast<std::int64_t>(shape.queries.size());
  const std::int64_t H = shape.headsQ, R = kernels::packedStatisticsRows(args.q.shape[0], sequences);
  const std::int32_t mostQ = std::ranges::max(shape.queries), mostK = std::ranges::max(shape.keys);
  auto* memory = static_cast<float*>(args.workspace);
  const TensorView logs(memory, DType::F32, {1, H, R}), deltas(memory + H * R, DType::F32, {1, H, R}),
      sums(memory + 2 * H * R, DType::F32, {1, H, R, shape.dim});
  const TensorView q = oneEntry(args.q), k = oneEntry(args.k), v = oneEntry(args.v), o = oneEntry(args.o), dout = oneEntry(args.dout),
                   lse = oneEntry(args.lse), dlse = args.dlse ? oneEntry(*args.dlse) : TensorView(nullptr, DType::F32, {0, 0, 0}),
                   dq = oneEntry(args.dq), dk = oneEntry(args.dk), dv = oneEntry(args.dv);
  const Argument scale("scale", 1 / std::sqrt(static_cast<double>(shape.dim)));
  const auto launch = [&](const KernelTemplate& from, const TileConfig& tile, std::vector<Argument> arguments, std::int64_t heads,
                          bool hasKeys, bool hasSums) {
    Parameters parameters = {{"dtype", std::string(name(shape.dtype))},
                             {"head_dim", shape.dim},
                             {"head_dim_v", shape.dimV},
                             {"order", tiles.order},
                             {"boxes", boxes}};
    if (hasKeys) parameters.set("causal", shape.causal);
    if (hasSums) parameters.set("sums", fast);
    if (hasSums && fast) arguments.emplace_back("sums", sums);
    arguments.emplace_back("cu_q", args.cu_q), arguments.emplace_back("most_q", mostQ);
    if (hasKeys) arguments.emplace_back("cu_k", args.cu_k), arguments.emplace_back("most_k", mostK);
    const std::array<std::int64_t, 4> extents = {sequences, heads, mostQ, mostK};
    const Grid grid = from.grid(parameters, tile, extents);
    run(test::traced(from, parameters, tile), arguments,
        {static_cast<std::int32_t>(grid.x), static_cast<std::int32_t>(grid.y), static_cast<std::int32_t>(grid.z)});
  };
  launch(kernels::packedBackwardRowsTemplate(), tiles.rows,
         {{"o", o}, {"dout", dout}, {"lse", lse}, {"dlse", dlse}, {"logs", logs}, {"deltas", deltas}, {"has_dlse", args.dlse ? 1 : 0}}, H,
         false, true);
  launch(kernels::packedBackwardKeysTemplate(), tiles.keys,
         {{"q", q}, {"k", k}, {"v", v}, {"dout", dout}, {"logs", logs}, {"deltas", deltas}, {"dk", dk}, {"dv", dv}, scale}, shape.headsKv,
         true, true);
  if (fast)
    launch(kernels::packedBackwardRoundTemplate(), tiles.rows, {{"sums", sums}, {"dq", dq}, scale}, H, false, false);
  else
    launch(kernels::packedBackwardQueriesTemplate(), tiles.queries,
           {{"q", q}, {"k", k}, {"v", v}, {"dout", dout}, {"logs", logs}, {"deltas", deltas}, {"dq", dq}, scale}, H, true, false);
  EXPECT_EQ(data.verdict(), "");
}

TEST(PackedPrograms, MeanWhatFloat64SaysAndStayInsideTheirArrays) {
  for (const bool causal : {false, true})
    for (const bool fast : {false, true})
      for (const bool boxes : {false, true})
        for (const char* order : {"rows", "vectors", "lanes"}) {
          PackedData data({.headsQ = 2,
                           .headsKv = 1,
                           .queries = {20, 0, 33, 130},
                           .keys = {25, 3, 33, 0},
                           .causal = causal,
                           .hasDlse = causal,
                           .spare = boxes ? 2 : 1,
                           .unowned = boxes ? 7.0f : std::numeric_limits<float>::quiet_NaN()});
          packedBy(
              [](const dsl::Program& program, const std::vector<Argument>& arguments, interpreter::Grid grid) {
                interpreter::run(test::functionOf(program), test::bySlot(program, arguments), grid);
              },
              data, fast, boxes,
              {.keys = {.block_m = 16, .block_n = 16}, .queries = {.block_m = 16, .block_n = 8}, .rows = {.block_m = 16}, .order = order});
        }
}

struct PackedCase {
  std::string target, keys, queries;
  bool fast = false, boxes = false;
  std::int64_t dim = 32;
};

void PrintTo(const PackedCase& one, std::ostream* stream) {
  *stream << one.target << " D=" << one.dim << (one.fast ? " fast " : " deterministic ") << one.keys << ' ' << one.queries;
}

class PackedBlocks : public testing::TestWithParam<PackedCase> {};

TEST_P(PackedBlocks, HaveNoFaultsUnderTheAdversary) {
  const PackedCase& one = GetParam();
  PackedData data({.dtype = DType::BF16,
                   .headsQ = 1,
                   .headsKv = 1,
                   .dim = one.dim,
                   .dimV = one.dim,
                   .queries = {20, 0, 133},
                   .keys = {25, 3, 140},
                   .causal = true,
                   .unowned = one.boxes ? 7.0f : std::numeric_limits<float>::quiet_NaN()});
  const BackwardTiles tiles{TileConfig::parse(one.keys),
                            TileConfig::parse(one.queries),
                            {.block_m = 16, .stages = 1, .warps = 2},
                            one.boxes  ? "vectors"
                            : one.fast ? "lanes"
                                       : "rows"};
  packedBy(
      [&](const dsl::Program& program, const std::vector<Argument>& arguments, interpreter::Grid grid) {
        const TileConfig& used = program.name().ends_with("_keys")      ? tiles.keys
                                 : program.name().ends_with("_queries") ? tiles.queries
                                                                        : tiles.rows;
        adversary::BlockProgram block = adversary::compileForBlock(
            dsl::internal::module(program),
            {.target = one.target, .warps = used.warps, .stages = used.stages, .schedule = 0, .forced = used.schedule});
        ASSERT_TRUE(block.module) << program.name() << ": " << block.refused;
        EXPECT_EQ(adversary::textOf(adversary::check(*block.module, test::bySlot(program, arguments), grid)), "") << program.name();
      },
      data, one.fast, one.boxes, tiles);
}

INSTANTIATE_TEST_SUITE_P(
    Small, PackedBlocks,
    testing::Values(PackedCase{"nvidia:sm_80", "BLOCK_M=32,BLOCK_N=32,STAGES=2,WARPS=2", "BLOCK_M=32,BLOCK_N=32,STAGES=2,WARPS=2"},
                    PackedCase{"nvidia:sm_80", "BLOCK_M=32,BLOCK_N=128,STAGES=2,WARPS=4", "BLOCK_M=32,BLOCK_N=32,STAGES=2,WARPS=2", true},
                    PackedCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=A B a C b c d D E1 e1 owners",
                               "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", true, true, 64},
                    PackedCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=D1 A B a C b c",
                               "BLOCK_M=128,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=A B C1 a b c", false, true, 64}),
    [](const auto& info) { return std::to_string(info.index); });

TEST(PackedPrograms, CompileForEveryChip) {
  for (const std::string_view name : gpu::targetNames()) {
    if (!name.starts_with("nvidia:")) continue;
    Parameters parameters = {{"dtype", std::string("bf16")}, {"head_dim", std::int64_t{64}}, {"head_dim_v", std::int64_t{64}}};
    const std::string chip(name);
    const auto compiles = [&](const KernelTemplate& from) {
      EXPECT_NO_THROW(EXPECT_NE(test::ptxOf(from, parameters, chip).find(".entry"), std::string::npos)) << from.name << " for " << chip;
    };
    parameters.set("boxes", chip.ends_with("_90a"));
    compiles(kernels::packedBackwardRoundTemplate());
    parameters.set("causal", true);
    compiles(kernels::packedBackwardQueriesTemplate());
    parameters.set("sums", true);
    compiles(kernels::packedBackwardKeysTemplate());
  }
}

}  // namespace
}  // namespace fattn::backward
