// SPDX-License-Identifier: Apache-2.0
// The programs of decode themselves: through the interpreter, which sees every access outside of an array; compiled for GPUs and executed
// with the worst orders of warps and copies; and for every chip, by the assembler too.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "compiler/driver/Compile.h"
#include "compiler/gpu/Target.h"
#include "compiler/interpreter/Interpreter.h"
#include "dsl/Internal.h"
#include "kernels/attention/AttentionDecode.h"
#include "kernels/core/ArgumentPack.h"
#include "tests/adversary/CheckProgram.h"
#include "tests/decode/DecodeData.h"
#include "tests/support/Command.h"

namespace fattn::decode {
namespace {

using RunProgram = std::function<void(const dsl::Program&, const std::vector<Argument>&, interpreter::Grid)>;

dsl::Program traced(const KernelTemplate& from, const Parameters& given, const TileConfig& tile) {
  Parameters parameters = from.parameters;
  for (const auto& [name, value] : given.all()) parameters.set(name, value);
  return dsl::trace(from.name, [&](dsl::Params& params) { from.program(params, parameters, tile); });
}

Parameters decodeParameters(const DecodeShape& shape) {
  return {{"dtype", std::string(name(shape.dtype))},
          {"head_dim", shape.dim},
          {"head_dim_v", shape.dimV},
          {"rows", shape.headsQ / shape.headsKv * shape.queries},
          {"causal", shape.causal},
          {"page_size", shape.pageSize}};
}

/// What the named arguments are to a program, slot by slot.
std::vector<interpreter::Argument> bySlot(const dsl::Program& program, const std::vector<Argument>& arguments) {
  const kernels::ArgumentPack pack(program.args());
  std::vector<std::uint64_t> slots(pack.slots());
  pack.pack(arguments, slots.data());
  std::vector<interpreter::Argument> list;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const dsl::Param& param = program.args()[i];
    if (param.isPointer) {
      const auto given = std::ranges::find(arguments, std::string_view(param.name), &Argument::name);
      list.emplace_back(interpreter::Buffer{given->view().data, given->view().checkedBytes()});
    } else if (param.type == DType::F32) {
      list.emplace_back(double{std::bit_cast<float>(static_cast<std::uint32_t>(slots[i]))});
    } else {
      list.emplace_back(static_cast<std::int64_t>(slots[i]));
    }
  }
  return list;
}

/// Both programs on the data, as the door launches them.
void decodeBy(const RunProgram& run, DecodeData& data, std::int64_t splits, const TileConfig& tile, const TileConfig& mergeTile) {
  const DecodeArgs args = data.here();
  const DecodeShape& shape = data.shape();
  const std::int64_t batch = args.q.shape[0], parts = splits > 1 ? splits : 0;
  const TensorView partO(args.workspace, DType::F32, {parts, batch, shape.headsQ, shape.queries, shape.dimV});
  const TensorView partLse(static_cast<float*>(args.workspace) + partO.elements(), DType::F32, {parts, batch, shape.headsQ, shape.queries});
  std::vector<Argument> arguments = {{"q", args.q}, {"k", args.k},      {"v", args.v},
                                     {"o", args.o}, {"lse", *args.lse}, {"lengths", *args.lengths}};
  if (args.pages) arguments.emplace_back("pages", *args.pages);
  const double scale = 1 / std::sqrt(static_cast<double>(shape.dim));
  for (const Argument& last : {Argument("part_o", partO), Argument("part_lse", partLse), Argument("scale", scale),
                               Argument("has_lengths", 1), Argument("write_lse", 1)})
    arguments.push_back(last);
  run(traced(kernels::decodeTemplate(), decodeParameters(shape), tile), arguments,
      {static_cast<std::int32_t>(splits), static_cast<std::int32_t>(shape.headsKv), static_cast<std::int32_t>(batch)});
  if (splits == 1) return;
  const Parameters merge = {{"out", std::string(name(shape.dtype))}, {"head_dim", shape.dimV}};
  run(traced(kernels::mergeTemplate(), merge, mergeTile),
      {{"part_o", partO}, {"part_lse", partLse}, {"o", args.o}, {"lse", *args.lse}, {"write_lse", 1}},
      {static_cast<std::int32_t>(shape.queries), static_cast<std::int32_t>(shape.headsQ), static_cast<std::int32_t>(batch)});
}

void expectRight(const DecodeData& data, const std::string& what) {
  EXPECT_LE(data.errors().o, data.tolerance().o) << what;
  EXPECT_LE(data.errors().lse, data.tolerance().lse) << what;
}

mlir::func::FuncOp functionOf(const dsl::Program& program) { return *dsl::internal::module(program).getOps<mlir::func::FuncOp>().begin(); }

TEST(DecodePrograms, MeanWhatFloat64SaysAndStayInsideTheirArrays) {
  const RunProgram run = [](const dsl::Program& program, const std::vector<Argument>& arguments, interpreter::Grid grid) {
    interpreter::run(functionOf(program), bySlot(program, arguments), grid);
  };
  for (const std::int64_t page : {0, 1, 5, 8, 16})
    for (const std::int64_t splits : {1, 3}) {
      DecodeData data({.dtype = page == 8 ? DType::BF16 : DType::F32,
                       .queries = 2,
                       .lengths = {0, 1, 33, 40, 1000},
                       .capacity = 40,
                       .causal = page != 1,
                       .pageSize = page});
      decodeBy(run, data, splits, {.block_n = 8}, {.block_n = 2});
      expectRight(data, "page_size " + std::to_string(page) + ", " + std::to_string(splits) + " splits");
    }
}

struct BlockCase {
  std::string target, tile;
  std::int64_t pageSize = 0, splits = 1;
  bool causal = false;
  std::int64_t schedule = 0;
};

class DecodeBlocks : public testing::TestWithParam<BlockCase> {};

TEST_P(DecodeBlocks, HaveNoFaultsUnderTheAdversary) {
  const BlockCase& one = GetParam();
  const TileConfig tile = TileConfig::parse(one.tile);
  DecodeData data({.dtype = DType::BF16,
                   .queries = 2,
                   .dim = 32,
                   .dimV = 32,
                   .lengths = {70},
                   .capacity = 90,
                   .causal = one.causal,
                   .pageSize = one.pageSize});
  const TileConfig merge{.block_n = 4, .stages = 1, .warps = 2};
  const RunProgram run = [&](const dsl::Program& program, const std::vector<Argument>& arguments, interpreter::Grid grid) {
    const TileConfig& used = program.name() == "attention_merge" ? merge : tile;
    nvidia::PipelineOptions options{
        .target = one.target, .warps = used.warps, .stages = used.stages, .schedule = one.schedule, .forced = {}};
    adversary::BlockProgram block = adversary::compileForBlock(dsl::internal::module(program), options);
    ASSERT_TRUE(block.module) << block.refused;
    EXPECT_EQ(adversary::textOf(adversary::check(*block.module, bySlot(program, arguments), grid)), "");
  };
  decodeBy(run, data, one.splits, tile, merge);
  expectRight(data, one.target);
}

INSTANTIATE_TEST_SUITE_P(Small, DecodeBlocks,
                         testing::Values(BlockCase{"nvidia:sm_80", "BLOCK_N=16,STAGES=2,WARPS=4", 0, 2, true},
                                         BlockCase{"nvidia:sm_90", "BLOCK_N=32,STAGES=3,WARPS=2", 0, 1, false, 1},
                                         BlockCase{"nvidia:sm_90a", "BLOCK_N=16,STAGES=2,WARPS=4", 16, 2},
                                         BlockCase{"nvidia:sm_86", "BLOCK_N=16,STAGES=3,WARPS=1", 32, 1, true, 1},
                                         BlockCase{"nvidia:sm_89", "BLOCK_N=16,STAGES=2,WARPS=2", 5, 1}),
                         [](const auto& info) { return std::to_string(info.index); });

std::string ptxOf(const KernelTemplate& from, const Parameters& parameters, const std::string& target) {
  const Machine machine{.chip = target, .shared_bytes = gpu::findTarget(target).shared.bytesPerBlock};
  Parameters all = from.parameters;
  for (const auto& [name, value] : parameters.all()) all.set(name, value);
  const TileConfig tile = from.tile(all, machine);
  const dsl::Program program = traced(from, parameters, tile);
  compiler::CompileOptions options;
  options.target = target, options.config = tile, options.verify = true;
  return compiler::compile(dsl::internal::module(program), options).bytes;
}

Parameters wide(DType dtype, std::int64_t width, std::int64_t page) {
  return {{"dtype", std::string(name(dtype))}, {"head_dim", width}, {"head_dim_v", width}, {"page_size", page}, {"causal", true}};
}

TEST(DecodePrograms, CompileForEveryChip) {
  for (const std::string_view chip : gpu::targetNames()) {
    if (!chip.starts_with("nvidia:")) continue;
    const std::string target(chip);
    for (const std::int64_t page : {0, 5, 16})
      EXPECT_NO_THROW(EXPECT_NE(ptxOf(kernels::decodeTemplate(), wide(DType::BF16, 128, page), target).find(".entry"), std::string::npos))
          << target << " page_size " << page;
    EXPECT_NO_THROW(ptxOf(kernels::decodeTemplate(), wide(DType::F32, 256, 0), target)) << target;
    EXPECT_NO_THROW(ptxOf(kernels::mergeTemplate(), {{"out", std::string("bf16")}}, target)) << target;
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
        expectRegistersOnly(ptxOf(kernels::decodeTemplate(), wide(DType::BF16, width, page), std::string("nvidia:") + chip), chip,
                            std::string(chip) + " width " + std::to_string(width) + " page_size " + std::to_string(page));
    expectRegistersOnly(ptxOf(kernels::mergeTemplate(), {{"out", std::string("bf16")}}, std::string("nvidia:") + chip), chip, chip);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace fattn::decode
