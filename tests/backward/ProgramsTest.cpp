// SPDX-License-Identifier: Apache-2.0
// The programs of the backward pass themselves: through the interpreter, which sees every access outside of an array; compiled for GPUs and
// executed with the worst orders of warps and copies; and for every chip, by the assembler too.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compiler/gpu/Target.h"
#include "dsl/Internal.h"
#include "kernels/attention/AttentionBackward.h"
#include "tests/adversary/CheckProgram.h"
#include "tests/backward/BackwardPrograms.h"
#include "tests/support/Command.h"

namespace fattn::backward {
namespace {

void interpret(const dsl::Program& program, const std::vector<Argument>& arguments, interpreter::Grid grid) {
  interpreter::run(test::functionOf(program), test::bySlot(program, arguments), grid);
}

TEST(BackwardPrograms, MeanWhatFloat64SaysAndStayInsideTheirArrays) {
  const BackwardTiles small{.keys = {.block_m = 8, .block_n = 16}, .queries = {.block_m = 16, .block_n = 8}, .rows = {.block_m = 16}};
  for (const bool causal : {false, true})
    for (const bool fast : {false, true})
      for (const std::int64_t queries : {1, 20, 37}) {
        BackwardData data({.dtype = queries == 20 ? DType::BF16 : DType::F32,
                           .headsQ = 4,
                           .headsKv = queries == 37 ? 2 : 4,
                           .queries = queries,
                           .keys = 29,
                           .dim = 16,
                           .dimV = 24,
                           .causal = causal,
                           .hasDlse = queries == 37,
                           .rowsFirst = queries != 20});
        backwardBy(interpret, data, fast, small);
        EXPECT_EQ(data.verdict(), "");
      }
}

TEST(BackwardPrograms, MeanTheSameWhereTheWorkspaceLiesInFragments) {
  for (const auto& [dim, order] : {std::pair<std::int64_t, std::string>{16, "vectors"}, {24, "vectors"}, {32, "vectors"}, {32, "lanes"}})
    for (const bool fast : {false, true}) {  // sums of 24 columns lie in rows
      BackwardData data({.headsQ = 2, .queries = 37, .keys = 29, .dim = dim, .dimV = 16, .causal = true, .hasDlse = true});
      backwardBy(interpret, data, fast,
                 {.keys = {.block_m = 32, .block_n = 16},
                  .queries = {.block_m = 16, .block_n = 8},
                  .rows = {.block_m = dim == 32 ? 16 : 32},
                  .order = order});
      EXPECT_EQ(data.verdict(), "") << dim << " " << order << (fast ? " sums" : "");
    }
}

struct BlockCase {
  std::string target, keys, queries;
  DType dtype = DType::BF16;
  bool fast = false, causal = false;
  std::int64_t schedule = 0;
  std::int64_t dim = 32;
  std::int64_t rows = 70, columns = 50;

  /// As compile has it.
  std::string order() const {
    if (dtype == DType::F32) return "rows";
    return target == "nvidia:sm_90a" ? "vectors" : fast ? "lanes" : "rows";
  }
};

void PrintTo(const BlockCase& one, std::ostream* stream) {
  *stream << one.target << ' ' << name(one.dtype) << " D=" << one.dim << ' ' << one.rows << 'x' << one.columns
          << (one.causal ? " causal " : " ") << (one.fast ? "fast " : "deterministic ") << one.keys << ' ' << one.queries;
  if (one.schedule != 0) *stream << " schedule " << one.schedule;
}

class BackwardBlocks : public testing::TestWithParam<BlockCase> {};

TEST_P(BackwardBlocks, HaveNoFaultsUnderTheAdversary) {
  const BlockCase& one = GetParam();
  BackwardData data(
      {.dtype = one.dtype, .headsKv = 1, .queries = one.rows, .keys = one.columns, .dim = one.dim, .dimV = one.dim, .causal = one.causal});
  const BackwardTiles tiles{
      TileConfig::parse(one.keys), TileConfig::parse(one.queries), {.block_m = 16, .stages = 1, .warps = 2}, one.order()};
  const test::RunProgram run = [&](const dsl::Program& program, const std::vector<Argument>& arguments, interpreter::Grid grid) {
    const TileConfig& used = program.name() == "attention_backward_keys"      ? tiles.keys
                             : program.name() == "attention_backward_queries" ? tiles.queries
                                                                              : tiles.rows;
    nvidia::PipelineOptions options{.target = one.target,
                                    .warps = used.warps,
                                    .stages = used.stages,
                                    .schedule = &used == &tiles.rows ? 0 : one.schedule,
                                    .forced = used.schedule};
    adversary::BlockProgram block = adversary::compileForBlock(dsl::internal::module(program), options);
    ASSERT_TRUE(block.module) << program.name() << ": " << block.refused;
    adversary::Options orders;
    for (std::uint64_t seed = 1; (used.schedule.contains("owners") || used.schedule.contains("pairs")) && seed <= 4; ++seed)
      orders.orders.push_back({adversary::Turn::Held, adversary::Completion::AtOnce, adversary::Lazy::Needed, seed});
    EXPECT_EQ(adversary::textOf(adversary::check(*block.module, test::bySlot(program, arguments), grid, orders)), "") << program.name();
  };
  backwardBy(run, data, one.fast, tiles);
  EXPECT_EQ(data.verdict(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Small, BackwardBlocks,
    testing::Values(BlockCase{"nvidia:sm_80", "BLOCK_M=32,BLOCK_N=32,STAGES=2,WARPS=2", "BLOCK_M=32,BLOCK_N=32,STAGES=2,WARPS=2"},
                    BlockCase{"nvidia:sm_80", "BLOCK_M=32,BLOCK_N=128,STAGES=2,WARPS=4", "BLOCK_M=32,BLOCK_N=32,STAGES=2,WARPS=2",
                              DType::BF16, true, true, 0, 64},
                    // What the defaults without Hopper's instructions are at 128 columns, also with little shared memory, and at 256.
                    BlockCase{"nvidia:sm_80", "BLOCK_M=64,BLOCK_N=128,STAGES=2,WARPS=8", "BLOCK_M=32,BLOCK_N=32,STAGES=2,WARPS=2",
                              DType::BF16, true, true, 0, 128, 130, 150},
                    BlockCase{"nvidia:sm_86", "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=4", "BLOCK_M=32,BLOCK_N=32,STAGES=2,WARPS=2",
                              DType::BF16, true, true, 0, 128, 200, 130},
                    BlockCase{"nvidia:sm_80", "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", "BLOCK_M=32,BLOCK_N=32,STAGES=2,WARPS=2",
                              DType::F16, true, false, 0, 256, 130, 100},
                    BlockCase{"nvidia:sm_80", "BLOCK_M=64,BLOCK_N=32,STAGES=1,WARPS=4", "BLOCK_M=64,BLOCK_N=32,STAGES=2,WARPS=8",
                              DType::BF16, false, true, 0, 256, 130, 100},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=32,BLOCK_N=64,STAGES=2,WARPS=4", "BLOCK_M=64,BLOCK_N=32,STAGES=2,WARPS=4",
                              DType::BF16, false, true},
                    BlockCase{"nvidia:sm_86", "BLOCK_M=32,BLOCK_N=32,STAGES=1,WARPS=4", "BLOCK_M=32,BLOCK_N=16,STAGES=3,WARPS=1",
                              DType::F16, true, true, 1},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=4", "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8",
                              DType::BF16, true, false},
                    // Boxes of rows, what dQ takes of dS exchanged between two groups below each other, as the defaults have it.
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=A B a C b c d E e D",
                              "BLOCK_M=128,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=A c1 C1 B a b", DType::BF16, true, true, 0, 64},
                    // dK in the next trip, and sums that the copying warps send; the same where a block takes several programs.
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=D1 A B a C b c d E e",
                              "BLOCK_M=128,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=A B C1 a b c", DType::BF16, true, false, 0, 64},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=D1 A B a C b c d E e persistent",
                              "BLOCK_M=128,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=A B C1 a b c persistent", DType::BF16, true, true, 0, 64},
                    // One group owns dQ of a trip, the other one that of the next: in its own trip, and in the one behind it. Enough trips
                    // for both to lay several tiles.
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=A B a C b c d D E e owners",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", DType::BF16, true, false, 0, 64, 330, 330},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=D1 A B a C b c d E1 e1 owners",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", DType::BF16, true, true, 0, 64, 330, 330},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=A B a C b c d D E1 e1 owners persistent",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", DType::F16, true, true, 0, 64, 330, 330},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=A B a C b c d D E1 e1 owners dynamic",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8,SCHEDULE=dynamic", DType::BF16, true, true, 0, 64, 330, 330},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=128,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=A B a C b c d D E1 e1 owners",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", DType::BF16, true, true, 0, 64, 330, 330},
                    // dK begins before dV is waited for, as the default has it at 128 columns.
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=128,STAGES=3,WARPS=8,SCHEDULE=A B a C b c D d E1 e1 owners",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", DType::BF16, true, true, 0, 128, 330, 130},
                    // Copies that do not run equally far ahead.
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=128,STAGES=3,WARPS=8,SCHEDULE=A B a C b c D d E1 e1 y1 x0 owners",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", DType::BF16, true, true, 0, 64, 330, 130},
                    // dK runs on when its trip ends; an owner that has no registers for its operand beside dQ waits for it alone.
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=A B a C b c d D_ E1 e1 owners",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", DType::BF16, true, true, 0, 64, 330, 330},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=128,STAGES=2,WARPS=8,SCHEDULE=A B a C b c d D_ E1 e1 owners dynamic",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", DType::BF16, true, false, 0, 64, 200, 330},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=128,STAGES=3,WARPS=8,SCHEDULE=A B a C b c d D_ E1 e1 owners",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", DType::BF16, true, false, 0, 128, 330, 130},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=128,STAGES=3,WARPS=8,SCHEDULE=A B a C b c D_",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", DType::BF16, false, true, 0, 64, 330, 330},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=192,STAGES=2,WARPS=12,SCHEDULE=A B a C b c d D E1 e1 owners",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", DType::BF16, true, false, 0, 32, 330},
                    // Groups beside each other, which exchange P and dS.
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8,SCHEDULE=A B a d C b c e f E g D",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8", DType::F16, true, false, 0, 128},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8,SCHEDULE=A B a d C b c e D",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8", DType::BF16, false, true, 0, 128},
                    // One group makes P, the other one dS: as the default at 256 columns has it, where a block takes several programs (and
                    // dQ has P in f32), and with dK or dV in the next trip.
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8,SCHEDULE=A B a c b d C D_ pairs",
                              "BLOCK_M=128,BLOCK_N=32,STAGES=2,WARPS=8", DType::BF16, false, true, 0, 256, 330, 70},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8,SCHEDULE=A B a c C b d D pairs",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8", DType::F16, false, false, 0, 128, 70, 330},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8,SCHEDULE=A B a c b d C D_ pairs dynamic",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8,SCHEDULE=A B a b c d C pairs", DType::BF16, false, true, 0, 128, 330,
                              130},
                    // Columns that the groups share in parts of 32: as the defaults have it, with pairs that the search chooses for dQ, and
                    // without any.
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8,SCHEDULE=A B a c b d C D_ pairs",
                              "BLOCK_M=128,BLOCK_N=64,STAGES=2,WARPS=8", DType::BF16, false, true, 0, 192, 200, 70},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8,SCHEDULE=A B a d C b c e D",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8", DType::F16, false, false, 0, 136, 130, 70},
                    // The search's own order of them.
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8,SCHEDULE=pairs",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8,SCHEDULE=pairs", DType::BF16, false, true, 0, 128, 200, 130},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8,SCHEDULE=A B D1 a c C b d pairs",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", DType::BF16, false, true, 0, 128, 330, 130},
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=64,STAGES=2,WARPS=8,SCHEDULE=A B D1 a c b d C_ pairs",
                              "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", DType::BF16, false, false, 0, 256, 330, 70},
                    // Pairs that the search chooses, whose first group stores P in f32 and rounded.
                    BlockCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8", "BLOCK_M=64,BLOCK_N=64,STAGES=1,WARPS=8",
                              DType::BF16, false, true, 0, 256, 200, 70},
                    BlockCase{"nvidia:sm_120", "BLOCK_M=16,BLOCK_N=32,STAGES=2,WARPS=2", "BLOCK_M=32,BLOCK_N=16,STAGES=2,WARPS=2",
                              DType::F32, true, true}),
    [](const auto& info) { return std::to_string(info.index); });

void expectPtx(const KernelTemplate& from, const Parameters& parameters, const std::string& chip) {
  EXPECT_NO_THROW(EXPECT_NE(test::ptxOf(from, parameters, chip).find(".entry"), std::string::npos))
      << from.name << " " << parameters.toString() << " for " << chip;
}

TEST(BackwardPrograms, CompileForEveryChip) {
  Parameters common = parametersOf({.dtype = DType::BF16, .dim = 128, .dimV = 128}), causal = common, sums = common;
  causal.set("causal", true);
  sums.set("sums", true);
  Parameters both = causal;
  both.set("sums", true);
  for (const std::string_view name : gpu::targetNames()) {
    if (!name.starts_with("nvidia:")) continue;
    const std::string chip(name);
    expectPtx(kernels::backwardRowsTemplate(), sums, chip);
    expectPtx(kernels::backwardKeysTemplate(), both, chip);
    expectPtx(kernels::backwardQueriesTemplate(), causal, chip);
    expectPtx(kernels::backwardRoundTemplate(), common, chip);
    for (const char* order : {"vectors", "lanes"}) {
      Parameters fragments = common;
      fragments.set("order", std::string(order));
      expectPtx(kernels::backwardRoundTemplate(), fragments, chip);
    }
  }
}

// For the least shared memory blocks are smallest.
TEST(BackwardPrograms, CompileForTheWidestRowsAndForOddOnes) {
  for (const auto& [dtype, width] : {std::pair<DType, std::int64_t>{DType::F32, 256}, {DType::F16, 256}, {DType::F16, 40}}) {
    Parameters keys = parametersOf({.dtype = dtype, .dim = width, .dimV = width}), queries = keys;
    keys.set("sums", true);
    expectPtx(kernels::backwardKeysTemplate(), keys, "nvidia:sm_86");
    expectPtx(kernels::backwardQueriesTemplate(), queries, "nvidia:sm_86");
  }
}

// Their loops have other nodes than those that default orders name.
TEST(BackwardPrograms, DefaultTilesCompileForUnalignedRowsAndWithoutBoxes) {
  for (const auto& [width, widthV] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {64, 64}, {96, 96}, {128, 128}, {256, 256}, {136, 136}, {192, 192}, {192, 128}, {256, 8}})
    for (const bool hasSums : {false, true}) {
      Parameters keys = parametersOf({.dtype = DType::BF16, .dim = width, .dimV = widthV});
      keys.set("sums", hasSums), keys.set("order", std::string("vectors"));
      Parameters unaligned = keys;
      unaligned.set("alignment", std::int64_t{2});
      expectPtx(kernels::backwardKeysTemplate(), unaligned, "nvidia:sm_90a");
      EXPECT_NO_THROW(test::ptxOf(kernels::backwardKeysTemplate(), keys, "nvidia:sm_90a", /*boxes=*/false)) << keys.toString();
    }
  for (const std::int64_t width : {64, 128, 256}) {
    Parameters queries = parametersOf({.dtype = DType::BF16, .dim = width, .dimV = width});
    queries.set("order", std::string("vectors"));
    EXPECT_NO_THROW(test::ptxOf(kernels::backwardQueriesTemplate(), queries, "nvidia:sm_90a", /*boxes=*/false)) << queries.toString();
    queries.set("alignment", std::int64_t{2});
    expectPtx(kernels::backwardQueriesTemplate(), queries, "nvidia:sm_90a");
  }
}

/// What ptxas says to a kernel's PTX.
std::string assemblerLog(const KernelTemplate& from, const Parameters& parameters, const std::string& chip) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("fattn-backward-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "k.ptx") << test::ptxOf(from, parameters, "nvidia:" + chip);
  const auto [status, log] =
      test::runCommand("ptxas -v -arch=" + chip + " -o " + (folder / "k.cubin").string() + " " + (folder / "k.ptx").string() + " 2>&1");
  std::filesystem::remove_all(folder);
  EXPECT_EQ(status, 0) << log;
  EXPECT_EQ(log.find("are serialized"), std::string::npos) << from.name << " " << parameters.toString() << " for " << chip << ": " << log;
  return log;
}

void expectRegistersOnly(const KernelTemplate& from, const Parameters& parameters, const std::string& chip) {
  const std::string log = assemblerLog(from, parameters, chip);
  EXPECT_NE(log.find(" 0 bytes spill stores, 0 bytes spill loads"), std::string::npos)
      << from.name << " " << parameters.toString() << " for " << chip << ": " << log;
}

/// Of dK's and dV's kernel, also with sums where those are the default, and of dQ's.
TEST(BackwardPrograms, DefaultTilesDoNotSpillAndAreNotSerialized) {
  if (test::runCommand("ptxas --version").status != 0) GTEST_SKIP() << "ptxas is not installed: the PTX was not assembled";
  struct Case {
    std::string chip, order;
    std::vector<std::pair<std::int64_t, std::int64_t>> widths;
  };
  for (const Case& one :
       {Case{"sm_80", "rows", {{64, 64}, {128, 128}}},
        {"sm_90a", "rows", {{64, 64}, {96, 96}, {128, 128}, {136, 136}, {256, 256}}},
        {"sm_90a", "vectors", {{64, 64}, {96, 96}, {96, 64}, {128, 128}, {176, 176}, {192, 128}, {192, 192}, {256, 256}}}})
    for (const auto& [width, widthV] : one.widths) {
      Parameters keys = parametersOf({.dtype = DType::BF16, .dim = width, .dimV = widthV});
      keys.set("causal", true), keys.set("order", one.order);
      expectRegistersOnly(kernels::backwardQueriesTemplate(), keys, one.chip);
      expectRegistersOnly(kernels::backwardKeysTemplate(), keys, one.chip);
      if (width > 128 && width != 256) continue;
      keys.set("sums", true);
      expectRegistersOnly(kernels::backwardKeysTemplate(), keys, one.chip);
    }
}

/// The fastest tiles that were measured keep some of a thread's registers in memory (docs/backward.md), which may only become less.
/// Compilers of the library evaluate arguments of functions in different orders, from which operations have theirs: at 128 columns without
/// a mask that is 64 bytes with GCC, and 76 with Clang.
TEST(BackwardPrograms, TilesOfSumsByLanesSpillNoMoreThanWhenTheyWereMeasured) {
  if (test::runCommand("ptxas --version").status != 0) GTEST_SKIP() << "ptxas is not installed: the PTX was not assembled";
  struct Most {
    std::int64_t width;
    bool causal;
    int stores, loads;
  };
  for (const auto& [width, causal, stores, loads] : {Most{32, false, 0, 0},
                                                     {32, true, 0, 0},
                                                     {64, false, 64, 64},
                                                     {64, true, 68, 68},
                                                     {128, false, 76, 76},
                                                     {128, true, 68, 68},
                                                     {256, false, 48, 48},
                                                     {256, true, 72, 72}}) {
    Parameters keys = parametersOf({.dtype = DType::BF16, .dim = width, .dimV = width});
    keys.set("causal", causal), keys.set("sums", true), keys.set("order", std::string("lanes"));
    const std::string log = assemblerLog(kernels::backwardKeysTemplate(), keys, "sm_80");
    const auto bytes = [&](const char* what) {
      const std::size_t end = log.find(what);
      return end == std::string::npos || end == 0 ? -1 : std::stoi(log.substr(log.rfind(' ', end - 1)));
    };
    EXPECT_GE(bytes(" bytes spill stores"), 0) << log;
    EXPECT_LE(bytes(" bytes spill stores"), stores) << keys.toString();
    EXPECT_LE(bytes(" bytes spill loads"), loads) << keys.toString();
  }
}

}  // namespace
}  // namespace fattn::backward
