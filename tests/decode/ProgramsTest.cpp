// SPDX-License-Identifier: Apache-2.0
// The programs of decode themselves: through the interpreter, which sees every access outside of an array; compiled for GPUs and executed
// with the worst orders of warps and copies; and for every chip, by the assembler too.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "compiler/gpu/Target.h"
#include "dsl/Internal.h"
#include "kernels/attention/AttentionDecode.h"
#include "tests/adversary/CheckProgram.h"
#include "tests/decode/DecodeData.h"
#include "tests/support/Command.h"
#include "tests/support/TemplatePrograms.h"

namespace fattn::decode {
namespace {

Parameters decodeParameters(const DecodeShape& shape) {
  return {{"dtype", std::string(name(shape.dtype))},
          {"head_dim", shape.dim},
          {"head_dim_v", shape.dimV},
          {"rows", shape.headsQ / shape.headsKv * shape.queries},
          {"causal", shape.causal},
          {"page_size", shape.pageSize},
          {"window", shape.window > 0},
          {"append", shape.appended > 0},
          {"settled", shape.settled}};
}

/// What both decode programs are launched with.
std::vector<Argument> decodeArguments(const DecodeArgs& args, const DecodeShape& shape, const TensorView& partO,
                                      const TensorView& partLse) {
  std::vector<Argument> arguments = {{"q", args.q}, {"k", args.k},      {"v", args.v},
                                     {"o", args.o}, {"lse", *args.lse}, {"lengths", *args.lengths}};
  if (args.pages) arguments.emplace_back("pages", *args.pages);
  if (args.new_k) arguments.emplace_back("new_k", *args.new_k), arguments.emplace_back("new_v", *args.new_v);
  if (args.window > 0) arguments.emplace_back("window", args.window);
  const double scale = 1 / std::sqrt(static_cast<double>(shape.dim));
  for (const Argument& last : {Argument("part_o", partO), Argument("part_lse", partLse), Argument("scale", scale),
                               Argument("has_lengths", 1), Argument("write_lse", 1)})
    arguments.push_back(last);
  return arguments;
}

/// The balanced program on the data, by so many programs.
void balancedBy(const test::RunProgram& run, DecodeData& data, std::int64_t programs, const TileConfig& tile) {
  const DecodeArgs args = data.here();
  const DecodeShape& shape = data.shape();
  const std::int64_t rows = shape.headsQ / shape.headsKv * shape.queries;
  const TensorView partO(args.workspace, DType::F32, {2, programs, rows, shape.dimV});
  const TensorView partLse(static_cast<float*>(args.workspace) + partO.elements(), DType::F32, {2, programs, rows});
  const TensorView counters(args.counters, DType::I32, {args.q.shape[0], shape.headsKv});
  std::vector<Argument> arguments = decodeArguments(args, shape, partO, partLse);
  arguments.emplace_back("counters", counters);
  run(test::traced(kernels::balancedDecodeTemplate(), decodeParameters(shape), tile), arguments,
      {static_cast<std::int32_t>(programs), 1, 1});
}

/// Both programs on the data, as the door launches them.
void decodeBy(const test::RunProgram& run, DecodeData& data, std::int64_t splits, const TileConfig& tile, const TileConfig& mergeTile) {
  const DecodeArgs args = data.here();
  const DecodeShape& shape = data.shape();
  const std::int64_t batch = args.q.shape[0], parts = splits > 1 ? splits : 0;
  const TensorView partO(args.workspace, DType::F32, {parts, batch, shape.headsQ, shape.queries, shape.dimV});
  const TensorView partLse(static_cast<float*>(args.workspace) + partO.elements(), DType::F32, {parts, batch, shape.headsQ, shape.queries});
  std::vector<Argument> arguments = decodeArguments(args, shape, partO, partLse);
  run(test::traced(kernels::decodeTemplate(), decodeParameters(shape), tile), arguments,
      {static_cast<std::int32_t>(splits), static_cast<std::int32_t>(shape.headsKv), static_cast<std::int32_t>(batch)});
  if (splits == 1) return;
  const Parameters merge = {{"out", std::string(name(shape.dtype))}, {"head_dim", shape.dimV}};
  run(test::traced(kernels::mergeTemplate(), merge, mergeTile),
      {{"part_o", partO}, {"part_lse", partLse}, {"o", args.o}, {"lse", *args.lse}, {"write_lse", 1}},
      {static_cast<std::int32_t>(shape.queries), static_cast<std::int32_t>(shape.headsQ), static_cast<std::int32_t>(batch)});
}

void expectRight(const DecodeData& data, const std::string& what) {
  EXPECT_LE(data.errors().o, data.tolerance().o) << what;
  EXPECT_LE(data.errors().lse, data.tolerance().lse) << what;
}

void interpret(const dsl::Program& program, const std::vector<Argument>& arguments, interpreter::Grid grid) {
  interpreter::run(test::functionOf(program), test::bySlot(program, arguments), grid);
}

TEST(DecodePrograms, MeanWhatFloat64SaysAndStayInsideTheirArrays) {
  for (const std::int64_t page : {0, 1, 5, 8, 16})
    for (const std::int64_t splits : {1, 3}) {
      DecodeData data({.dtype = page == 8 ? DType::BF16 : DType::F32,
                       .queries = 2,
                       .lengths = {0, 1, 33, 40, 1000},
                       .capacity = 40,
                       .causal = page != 1,
                       .pageSize = page});
      decodeBy(interpret, data, splits, {.block_n = 8}, {.block_n = 2});
      expectRight(data, "page_size " + std::to_string(page) + ", " + std::to_string(splits) + " splits");
    }
}

TEST(DecodePrograms, WindowsAndAppendedRowsStayInsideTheirArrays) {
  for (const std::int64_t page : {0, 5, 8})
    for (const std::int64_t appended : {0, 2})
      for (const std::int64_t window : {0, 7}) {
        DecodeData data({.queries = 2,
                         .lengths = {0, 1, 3, 33, 40, 1000},
                         .capacity = 40,
                         .causal = true,
                         .pageSize = page,
                         .window = window,
                         .appended = appended});
        decodeBy(interpret, data, 2, {.block_n = 8}, {.block_n = 2});
        expectRight(data,
                    "page_size " + std::to_string(page) + ", window " + std::to_string(window) + ", " + std::to_string(appended) + " new");
      }
}

TEST(DecodePrograms, BalancedSharesStayInsideTheirArrays) {
  for (const std::int64_t page : {0, 5, 8})
    for (const std::int64_t programs : {1, 2, 7, 40}) {
      DecodeData data({.queries = 2,
                       .lengths = {0, 1, 3, 33, 40, 1000},
                       .capacity = 40,
                       .causal = true,
                       .pageSize = page,
                       .window = page == 5 ? 7 : 0,
                       .appended = page == 8 ? 2 : 0,
                       .balanced = true});
      balancedBy(interpret, data, programs, {.block_n = 8});
      expectRight(data, "page_size " + std::to_string(page) + ", " + std::to_string(programs) + " programs");
    }
}

TEST(DecodePrograms, BlocksOfSeveralPagesReadNoPageThatNobodySees) {
  for (const std::int64_t appended : {0, 2})
    for (const std::int64_t window : {0, 7, 40}) {
      DecodeData data({.queries = 2,
                       .lengths = {0, 1, 15, 33, 64, 65, 150, 1000},
                       .capacity = 160,
                       .causal = true,
                       .pageSize = 16,
                       .window = window,
                       .appended = appended});
      decodeBy(interpret, data, 2, {.block_n = 64}, {.block_n = 2});
      expectRight(data, "window " + std::to_string(window) + ", " + std::to_string(appended) + " new");
    }
}

struct BlockCase {
  std::string target, tile;
  std::int64_t pageSize = 0, splits = 1;
  bool causal = false;
  std::int64_t schedule = 0, window = 0, appended = 0;
  bool balanced = false, settled = false;
};

void PrintTo(const BlockCase& one, std::ostream* stream) {
  *stream << one.target << ' ' << one.tile << " splits=" << one.splits << " page_size=" << one.pageSize << " window=" << one.window
          << " appended=" << one.appended << (one.causal ? " causal" : "") << (one.balanced ? " balanced" : "")
          << (one.settled ? " settled" : "");
  if (one.schedule != 0) *stream << " schedule " << one.schedule;
}

class DecodeBlocks : public testing::TestWithParam<BlockCase> {};

TEST_P(DecodeBlocks, HaveNoFaultsUnderTheAdversary) {
  const BlockCase& one = GetParam();
  const TileConfig tile = TileConfig::parse(one.tile);
  DecodeData data({.dtype = DType::BF16,
                   .queries = 2,
                   .dim = 32,
                   .dimV = 32,
                   .lengths = one.balanced ? std::vector<std::int32_t>{70, 0, 33} : std::vector<std::int32_t>{70},
                   .capacity = 90,
                   .causal = one.causal,
                   .pageSize = one.pageSize,
                   .window = one.window,
                   .appended = one.appended,
                   .balanced = one.balanced,
                   .settled = one.settled});
  const TileConfig merge{.block_n = 4, .stages = 1, .warps = 2};
  const test::RunProgram run = [&](const dsl::Program& program, const std::vector<Argument>& arguments, interpreter::Grid grid) {
    const TileConfig& used = program.name() == "attention_merge" ? merge : tile;
    nvidia::PipelineOptions options{
        .target = one.target, .warps = used.warps, .stages = used.stages, .schedule = one.schedule, .forced = {}};
    adversary::BlockProgram block = adversary::compileForBlock(dsl::internal::module(program), options);
    ASSERT_TRUE(block.module) << block.refused;
    EXPECT_EQ(adversary::textOf(adversary::check(*block.module, test::bySlot(program, arguments), grid)), "");
  };
  if (one.balanced)
    balancedBy(run, data, one.splits, tile);
  else
    decodeBy(run, data, one.splits, tile, merge);
  expectRight(data, one.target);
}

INSTANTIATE_TEST_SUITE_P(Small, DecodeBlocks,
                         testing::Values(BlockCase{"nvidia:sm_80", "BLOCK_N=16,STAGES=2,WARPS=4", 0, 2, true},
                                         BlockCase{"nvidia:sm_90", "BLOCK_N=32,STAGES=3,WARPS=2", 0, 1, false, 1},
                                         BlockCase{"nvidia:sm_90a", "BLOCK_N=16,STAGES=2,WARPS=4", 16, 2},
                                         BlockCase{"nvidia:sm_86", "BLOCK_N=16,STAGES=3,WARPS=1", 32, 1, true, 1},
                                         BlockCase{"nvidia:sm_89", "BLOCK_N=16,STAGES=2,WARPS=2", 5, 1},
                                         BlockCase{"nvidia:sm_80", "BLOCK_N=16,STAGES=2,WARPS=4", 0, 2, true, 0, 23, 2},
                                         BlockCase{"nvidia:sm_90a", "BLOCK_N=16,STAGES=2,WARPS=2", 16, 1, true, 0, 40, 18},
                                         BlockCase{"nvidia:sm_89", "BLOCK_N=16,STAGES=2,WARPS=2", 5, 2, false, 0, 0, 3},
                                         BlockCase{"nvidia:sm_80", "BLOCK_N=16,STAGES=2,WARPS=4", 0, 5, true, 0, 0, 0, true},
                                         BlockCase{"nvidia:sm_90a", "BLOCK_N=16,STAGES=2,WARPS=2", 16, 3, true, 0, 23, 2, true},
                                         BlockCase{"nvidia:sm_90", "BLOCK_N=64,STAGES=2,WARPS=4", 16, 2, true, 0, 40, 2},
                                         BlockCase{"nvidia:sm_90a", "BLOCK_N=16,STAGES=2,WARPS=4", 0, 2, true, 0, 0, 0, false, true},
                                         BlockCase{"nvidia:sm_90", "BLOCK_N=32,STAGES=2,WARPS=2", 16, 3, true, 0, 40, 2, false, true}),
                         [](const auto& info) { return std::to_string(info.index); });

Parameters wide(DType dtype, std::int64_t width, std::int64_t page) {
  return {{"dtype", std::string(name(dtype))}, {"head_dim", width}, {"head_dim_v", width}, {"page_size", page}, {"causal", true}};
}

TEST(DecodePrograms, CompileForEveryChip) {
  for (const std::string_view chip : gpu::targetNames()) {
    if (!chip.starts_with("nvidia:")) continue;
    const std::string target(chip);
    for (const std::int64_t page : {0, 5, 16})
      EXPECT_NO_THROW(
          EXPECT_NE(test::ptxOf(kernels::decodeTemplate(), wide(DType::BF16, 128, page), target).find(".entry"), std::string::npos))
          << target << " page_size " << page;
    for (const std::int64_t page : {0, 16}) {
      Parameters all = wide(DType::BF16, 128, page);
      all.set("window", true), all.set("append", true);
      EXPECT_NO_THROW(test::ptxOf(kernels::decodeTemplate(), all, target)) << target << " page_size " << page;
      EXPECT_NO_THROW(test::ptxOf(kernels::balancedDecodeTemplate(), all, target)) << target << " page_size " << page;
    }
    EXPECT_NO_THROW(test::ptxOf(kernels::decodeTemplate(), wide(DType::F32, 256, 0), target)) << target;
    EXPECT_NO_THROW(test::ptxOf(kernels::mergeTemplate(), {{"out", std::string("bf16")}}, target)) << target;
  }
}

TEST(DecodePrograms, DoNotSpill) {
  if (test::runCommand("ptxas --version").status != 0) GTEST_SKIP() << "ptxas is not installed: the PTX was not assembled";
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("fattn-decode-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  auto expectRegistersOnly = [&](const std::string& ptx, const std::string& chip, const std::string& what) {
    std::ofstream(folder / "k.ptx") << ptx;
    auto [status, log] =
        test::runCommand("ptxas -v -arch=" + chip + " -o " + (folder / "k.cubin").string() + " " + (folder / "k.ptx").string() + " 2>&1");
    EXPECT_EQ(status, 0) << what << ": " << log;
    EXPECT_NE(log.find(" 0 bytes spill stores, 0 bytes spill loads"), std::string::npos) << what << ": " << log;
  };
  for (const char* chip : {"sm_80", "sm_90"}) {
    for (const std::int64_t page : {0, 5, 16})
      for (const std::int64_t width : {64, 128})
        expectRegistersOnly(test::ptxOf(kernels::decodeTemplate(), wide(DType::BF16, width, page), std::string("nvidia:") + chip), chip,
                            std::string(chip) + " width " + std::to_string(width) + " page_size " + std::to_string(page));
    Parameters all = wide(DType::BF16, 128, 16);
    all.set("window", true), all.set("append", true);
    expectRegistersOnly(test::ptxOf(kernels::decodeTemplate(), all, std::string("nvidia:") + chip), chip, "window and append");
    for (const std::int64_t page : {0, 16})
      expectRegistersOnly(test::ptxOf(kernels::balancedDecodeTemplate(), wide(DType::BF16, 128, page), std::string("nvidia:") + chip), chip,
                          "balanced, page_size " + std::to_string(page));
    expectRegistersOnly(test::ptxOf(kernels::mergeTemplate(), {{"out", std::string("bf16")}}, std::string("nvidia:") + chip), chip, chip);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace fattn::decode
