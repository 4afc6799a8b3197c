// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels/, compiled for a GPU with several tiles, have no faults and compute what their tile programs
// mean.
#include <gtest/gtest.h>

#include "compiler/dialect/Tile.h"
#include "dsl/Internal.h"
#include "fattn/Error.h"
#include "kernels/attention/AttentionForward.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tests/adversary/CheckProgram.h"

using namespace mlir;

namespace fattn::adversary {
namespace {

/// Arrays by size, and numbers, in the order of a program's parameters; what compilers may differ by, relative to numbers of size 1.
struct Launch {
  std::vector<std::variant<int64_t, double>> values;  ///< of a pointer: the elements
  interpreter::Grid grid = {1, 1, 1};
  double tolerance = 0.03;
};

TileProgram programOf(ModuleOp module, const Launch& launch) {
  TileProgram program;
  program.module = OwningOpRef<ModuleOp>(module.clone());
  func::FuncOp function = *program.module->getOps<func::FuncOp>().begin();
  program.entry = function.getName().str();
  program.grid = launch.grid;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (auto pointer = dyn_cast<tile::PtrType>(type)) {
      generator::Array array = generator::makeArray(pointer.getPointee(), std::get<int64_t>(launch.values.at(i)), {.seed = i});
      array.tolerance = launch.tolerance;
      program.arguments.emplace_back(std::move(array));
    } else if (isa<FloatType>(type)) {
      program.arguments.emplace_back(std::get<double>(launch.values.at(i)));
    } else {
      program.arguments.emplace_back(std::get<int64_t>(launch.values.at(i)));
    }
  }
  return program;
}

std::string faults(const dsl::Program& program, const Launch& launch, const nvidia::PipelineOptions& options) {
  ModuleOp module = dsl::internal::module(program);
  BlockProgram block = compileForBlock(module, options);
  if (!block.module) return "refused: " + block.refused;
  return textOf(Reference(programOf(module, launch)).check(*block.module));
}

struct AttentionCase {
  std::string target, tile;
  bool causal = false;
  int64_t queries = 64, keys = 96;
  int32_t alignment = 0;
  int64_t schedule = 0;  ///< which of the search's best orders
};

class Attention : public testing::TestWithParam<AttentionCase> {};

TEST_P(Attention, HasNoFaults) {
  const AttentionCase& one = GetParam();
  TileConfig tile = TileConfig::parse(one.tile);
  AttentionConfig config{.dtype = DType::BF16, .head_dim = 32, .head_dim_v = 32, .causal = one.causal, .target = one.target, .tile = tile};
  config.alignment = one.alignment ? one.alignment : 16;
  const int64_t q = one.queries * 32, k = one.keys * 32;
  Launch launch{.values = {q,          k,          k,           q,           one.queries,  // q, k, v, o, lse
                           q,          q,          int64_t{32}, k,           k,           int64_t{32}, k, k, int64_t{32},  // strides
                           q,          q,          int64_t{32}, one.queries, one.queries, int64_t{1},                      //
                           int64_t{1}, int64_t{1}, one.queries, one.keys,    0.18,        int64_t{1}},
                .grid = {static_cast<int32_t>((one.queries + tile.block_m - 1) / tile.block_m), 1, 1}};
  nvidia::PipelineOptions options{.target = one.target, .warps = tile.warps, .stages = tile.stages, .schedule = one.schedule, .forced = {}};
  EXPECT_EQ(faults(traceAttentionForward(config, tile), launch, options), "");
}

INSTANTIATE_TEST_SUITE_P(Small, Attention,
                         testing::Values(AttentionCase{"nvidia:sm_80", "BLOCK_M=64,BLOCK_N=32,STAGES=2,WARPS=4"},
                                         AttentionCase{"nvidia:sm_90", "BLOCK_M=64,BLOCK_N=16,STAGES=3,WARPS=4", true, 64, 96, 0, 1},
                                         AttentionCase{"nvidia:sm_89", "BLOCK_M=16,BLOCK_N=32,STAGES=2,WARPS=1", false, 16, 33, 2},
                                         AttentionCase{"nvidia:sm_90", "BLOCK_M=32,BLOCK_N=32,STAGES=1,WARPS=2", true, 40, 70, 16, 2},
                                         AttentionCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=32,STAGES=2,WARPS=4", false, 64, 96, 0, 0},
                                         AttentionCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=32,STAGES=2,WARPS=4", true, 64, 96, 0, 1},
                                         AttentionCase{"nvidia:sm_90a", "BLOCK_M=128,BLOCK_N=16,STAGES=3,WARPS=8", true, 70, 100, 0, 2},
                                         AttentionCase{"nvidia:sm_90a", "BLOCK_M=128,BLOCK_N=16,STAGES=1,WARPS=4", false, 100, 70, 2, 3}),
                         [](const auto& info) { return std::to_string(info.index); });

}  // namespace
}  // namespace fattn::adversary
