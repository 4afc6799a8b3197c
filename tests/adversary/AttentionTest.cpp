// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels/, compiled for a GPU with several tiles, have no faults and compute what their tile programs
// mean.
#include <gtest/gtest.h>

#include "compiler/dialect/Tile.h"
#include "compiler/gpu/dialect/TileGpu.h"
#include "dsl/Internal.h"
#include "fattn/Error.h"
#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/ProgramOrder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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

/// `change`: what is done to the compiled program before it is checked.
std::string faults(const dsl::Program& program, const Launch& launch, const nvidia::PipelineOptions& options,
                   llvm::function_ref<void(ModuleOp)> change = {}) {
  ModuleOp module = dsl::internal::module(program);
  BlockProgram block = compileForBlock(module, options);
  if (!block.module) return "refused: " + block.refused;
  if (options.repeat && !(*block.module->getOps<func::FuncOp>().begin())->hasAttr(tilegpu::kRepeatsAttr))
    return "a block takes one program";
  if (change) change(*block.module);
  return textOf(Reference(programOf(module, launch)).check(*block.module));
}

struct AttentionCase {
  std::string target, tile;
  bool causal = false;
  int64_t queries = 64, keys = 96;
  int32_t alignment = 0;
  int64_t schedule = 0;  ///< which of the search's best orders
  bool repeat = false;   ///< a block takes several programs
  int64_t heads = 1;
  const char* order = "";  ///< instead of `schedule`
  int64_t headDim = 32;
};

void PrintTo(const AttentionCase& one, std::ostream* stream) {
  *stream << one.target << ' ' << one.tile << ' ' << one.queries << 'x' << one.keys << (one.causal ? " causal" : "")
          << " heads=" << one.heads << (one.repeat ? " repeat" : "");
  if (one.alignment != 0) *stream << " alignment=" << one.alignment;
  if (one.schedule != 0) *stream << " schedule " << one.schedule;
  if (*one.order != '\0') *stream << ' ' << one.order;
  if (one.headDim != 32) *stream << " head_dim=" << one.headDim;
}

class Attention : public testing::TestWithParam<AttentionCase> {};

std::string faultsOf(const AttentionCase& one, llvm::function_ref<void(ModuleOp)> change = {}) {
  TileConfig tile = TileConfig::parse(one.tile);
  const int64_t d = one.headDim, h = one.heads, rows = h * one.queries, q = one.queries * d, k = one.keys * d;
  const kernels::ForwardKind kind{
      .dtype = DType::BF16, .head_dim = d, .head_dim_v = d, .causal = one.causal, .alignment = one.alignment ? one.alignment : 16};
  const kernels::BlockCounts counts{(one.queries + tile.block_m - 1) / tile.block_m, h, 1};
  const Grid grid = one.causal ? kernels::unevenGrid(counts) : kernels::evenGrid(counts);
  Launch launch{.values = {h * q, h * k,       h * k,      h * q, rows,           // q, k, v, o, lse
                           h * q, q,           d,          h * k, k,          d,  // strides
                           h * k, k,           d,          h * q, q,          d,  //
                           rows,  one.queries, int64_t{1}, h,     int64_t{1}, one.queries, one.keys, 0.18, int64_t{1}},
                .grid = {static_cast<int32_t>(grid.x), static_cast<int32_t>(grid.y), static_cast<int32_t>(grid.z)}};
  nvidia::PipelineOptions options{.target = one.target,
                                  .warps = tile.warps,
                                  .stages = tile.stages,
                                  .schedule = one.schedule,
                                  .forced = one.order,
                                  .checkOrder = one.repeat,
                                  .repeat = one.repeat};
  return faults(traceAttentionForward(kind, tile), launch, options, change);
}

TEST_P(Attention, HasNoFaults) { EXPECT_EQ(faultsOf(GetParam()), ""); }

INSTANTIATE_TEST_SUITE_P(
    Small, Attention,
    testing::Values(
        AttentionCase{"nvidia:sm_80", "BLOCK_M=64,BLOCK_N=32,STAGES=2,WARPS=4"},
        AttentionCase{"nvidia:sm_90", "BLOCK_M=64,BLOCK_N=16,STAGES=3,WARPS=4", true, 64, 96, 0, 1},
        AttentionCase{"nvidia:sm_89", "BLOCK_M=16,BLOCK_N=32,STAGES=2,WARPS=1", false, 16, 33, 2},
        AttentionCase{"nvidia:sm_90", "BLOCK_M=32,BLOCK_N=32,STAGES=1,WARPS=2", true, 40, 70, 16, 2},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=32,STAGES=2,WARPS=4", false, 64, 96, 0, 0},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=64,BLOCK_N=32,STAGES=2,WARPS=4", true, 64, 96, 0, 1},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=128,BLOCK_N=16,STAGES=3,WARPS=8", true, 70, 100, 0, 2},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=128,BLOCK_N=16,STAGES=1,WARPS=4", false, 100, 70, 2, 3},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=128,BLOCK_N=32,STAGES=2,WARPS=8", false, 300, 100, 0, 0},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=128,BLOCK_N=32,STAGES=2,WARPS=8", false, 300, 100, 0, 0, true, 2},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=128,BLOCK_N=32,STAGES=3,WARPS=8", true, 300, 130, 0, 1, true, 2},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=192,BLOCK_N=64,STAGES=2,WARPS=12", true, 200, 200, 0, 2, true, 3},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=128,BLOCK_N=32,STAGES=2,WARPS=8", true, 300, 270, 0, 0, true, 3, "A B1 a b"},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=192,BLOCK_N=16,STAGES=3,WARPS=12", true, 200, 220, 0, 0, true, 2, "A B1 a b"},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=128,BLOCK_N=32,STAGES=2,WARPS=8", true, 300, 270, 0, 0, true, 3, "A B1 a b dynamic"},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=128,BLOCK_N=64,STAGES=2,WARPS=8", false, 400, 70, 0, 0, true, 2, "dynamic"},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=192,BLOCK_N=16,STAGES=3,WARPS=12", true, 200, 33, 0, 0, true, 3, "A B1 a b dynamic"},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=256,BLOCK_N=64,STAGES=2,WARPS=16", true, 300, 200, 0, 0, false, 1, "A B1 a b"},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=256,BLOCK_N=64,STAGES=4,WARPS=16", true, 530, 500, 0, 0, true, 1, "A B1 a b dynamic"},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=256,BLOCK_N=64,STAGES=4,WARPS=16", false, 300, 140, 0, 0, true, 2, "A B1 a b dynamic", 72},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=128,BLOCK_N=64,STAGES=2,WARPS=8", false, 200, 70, 0, 0, true, 2, "dynamic", 176},
        // Copies that do not run equally far ahead: by the engine, by threads, and not ahead at all.
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=128,BLOCK_N=16,STAGES=4,WARPS=8", true, 200, 150, 0, 0, false, 1, "A B1 a b z1"},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=128,BLOCK_N=16,STAGES=3,WARPS=8", false, 300, 150, 0, 0, true, 2, "A B1 a b y0 persistent"},
        AttentionCase{"nvidia:sm_80", "BLOCK_M=64,BLOCK_N=16,STAGES=4,WARPS=4", true, 70, 150, 0, 0, false, 1, "A a b B z1"},
        AttentionCase{"nvidia:sm_80", "BLOCK_M=64,BLOCK_N=16,STAGES=3,WARPS=4", false, 64, 150, 0, 0, false, 1, "A B1 a b y1"},
        AttentionCase{"nvidia:sm_89", "BLOCK_M=64,BLOCK_N=16,STAGES=3,WARPS=4", true, 64, 100, 0, 0, false, 1, "A B1 a b y0 z1"},
        // The default without a mask at 128 columns: groups of which no row is stored.
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=192,BLOCK_N=64,STAGES=2,WARPS=12", false, 250, 330, 0, 0, true, 2, "A B1 a b dynamic", 128},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=192,BLOCK_N=32,STAGES=2,WARPS=12", true, 200, 150, 0, 0, false, 1, "A B1 a b"},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=128,BLOCK_N=16,STAGES=1,WARPS=8", true, 130, 150, 0, 0, false, 2, "A B1 a b"},
        AttentionCase{"nvidia:sm_90a", "BLOCK_M=384,BLOCK_N=16,STAGES=2,WARPS=12", false, 384, 33, 0, 1}),
    [](const auto& info) { return std::to_string(info.index); });

/// A block that takes several programs: the copy of the next one's operand would wait for ever.
TEST(SeveralPrograms, AnOperandThatIsNotReleasedIsAFault) {
  const AttentionCase one{
      .target = "nvidia:sm_90a", .tile = "BLOCK_M=128,BLOCK_N=32,STAGES=2,WARPS=8", .queries = 300, .keys = 70, .repeat = true};
  const std::string text = faultsOf(one, [](ModuleOp module) {
    tilegpu::ReleaseOp last;
    module.walk([&](tilegpu::EachProgramOp each) {
      for (auto release : each.getBody().front().getOps<tilegpu::ReleaseOp>())
        if (release.getBuffer().getDefiningOp()->hasAttr(tilegpu::kSlotByProgramAttr)) last = release;
    });
    ASSERT_TRUE(last);
    last.erase();
  });
  EXPECT_NE(text.find("copies boxes into a slot that some warp does not release"), std::string::npos) << text;
}

/// A group that takes its last row for an earlier one leaves out a trip that it needs.
TEST(TripsByGroup, ATripTooFewIsAFault) {
  const AttentionCase one{.target = "nvidia:sm_90a",
                          .tile = "BLOCK_M=128,BLOCK_N=32,STAGES=2,WARPS=8",
                          .causal = true,
                          .queries = 128,
                          .keys = 128,
                          .order = "A B1 a b"};
  EXPECT_EQ(faultsOf(one), "");
  int64_t bounds = 0;
  const std::string text = faultsOf(one, [&](ModuleOp module) {
    SmallVector<tilegpu::GroupLastOp> found;
    module.walk([&](tilegpu::GroupLastOp last) { found.push_back(last); });
    for (tilegpu::GroupLastOp last : found) {
      OpBuilder b(last->getContext());
      b.setInsertionPointAfter(last);
      Value rows = arith::ConstantOp::create(b, last.getLoc(), b.getI32IntegerAttr(32));
      Value earlier = arith::SubIOp::create(b, last.getLoc(), last, rows);
      last.getResult().replaceAllUsesExcept(earlier, earlier.getDefiningOp());
    }
    bounds = std::ssize(found);
  });
  EXPECT_EQ(bounds, 2) << "of the mask, and of the rows that are stored, which an earlier row leaves as they are";
  EXPECT_NE(text, "");
}

/// A warp that takes its rows for later ones leaves out masks that they need: what it computes then is wrong.
TEST(MasksByWarp, ABoundOfOtherRowsIsAFault) {
  const AttentionCase one{
      .target = "nvidia:sm_90a", .tile = "BLOCK_M=128,BLOCK_N=32,STAGES=2,WARPS=8", .causal = true, .queries = 128, .keys = 128};
  int64_t bounds = 0;
  const std::string text = faultsOf(one, [&](ModuleOp module) {
    SmallVector<tilegpu::WarpLeastOp> found;
    module.walk([&](tilegpu::WarpLeastOp least) { found.push_back(least); });
    for (tilegpu::WarpLeastOp least : found) {
      OpBuilder b(least->getContext());
      b.setInsertionPointAfter(least);
      Value rows = arith::ConstantOp::create(b, least.getLoc(), b.getI32IntegerAttr(64));
      Value later = arith::AddIOp::create(b, least.getLoc(), least, rows);
      least.getResult().replaceAllUsesExcept(later, later.getDefiningOp());
    }
    bounds = std::ssize(found);
  });
  EXPECT_GT(bounds, 0);
  EXPECT_NE(text, "");
}

}  // namespace
}  // namespace fattn::adversary
