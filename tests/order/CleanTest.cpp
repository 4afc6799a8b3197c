// SPDX-License-Identifier: Apache-2.0
// What the compiler emits keeps the order of the program before scheduling: attention in its default configurations
// and random programs over chips, stages, warps and schedules. FATTN_SEED=n FATTN_COUNT=m: m random programs from the n-th draw on, and
// as many tiles of attention.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "compiler/gpu/Target.h"
#include "dsl/Internal.h"
#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionSupport.h"
#include "tests/generator/Choices.h"
#include "tests/generator/Draw.h"
#include "tests/order/Emitted.h"
#include "tests/support/Context.h"
#include "tests/support/Environment.h"

using namespace mlir;

namespace fattn::order {
namespace {

std::vector<std::string> chips() {
  std::vector<std::string> result;
  for (std::string_view target : gpu::targetNames())
    if (target.starts_with("nvidia:")) result.emplace_back(target);
  return result;
}

/// Checks a program that the compiler must take.
void expectInOrder(ModuleOp module, const nvidia::PipelineOptions& options, const std::string& name) {
  Emitted emitted = emit(module, options);
  ASSERT_EQ(emitted.refused, "") << name;
  Verdict verdict = judge(emitted);
  EXPECT_EQ(verdict.faults, "") << name;
  EXPECT_GT(verdict.runs, 0) << name;
  EXPECT_EQ(verdict.unsettled, 0) << name << ": more trips than were run may differ";
  EXPECT_EQ(verdict.shallow, 0) << name << ": a loop had few trips in all draws";
}

TEST(Clean, AttentionInItsDefaultConfigurations) {
  for (int64_t dim : {48, 64, 104, 128, 256})
    for (DType dtype : {DType::BF16, DType::F16, DType::F32})
      for (bool causal : {false, true})
        for (const char* target : {"nvidia:sm_80", "nvidia:sm_90", "nvidia:sm_90a"}) {
          const kernels::ResolvedAttention resolved =
              kernels::resolve({.dtype = dtype, .head_dim = dim, .causal = causal, .target = target});
          const TileConfig& tile = resolved.tile;
          dsl::Program program = traceAttentionForward(resolved.kind, tile);
          std::string name = std::string(target) + " " + std::to_string(dim) + (causal ? " causal " : " ") + tile.toString();
          expectInOrder(dsl::internal::module(program),
                        {.target = target, .warps = tile.warps, .stages = tile.stages, .forced = tile.schedule, .order = {}}, name);
        }
}

/// What an operation says of its slot's phase, one more.
template <typename Op>
std::string faultsWithOtherPhases() {
  const kernels::ResolvedAttention resolved = kernels::resolve({.dtype = DType::BF16, .head_dim = 64, .target = "nvidia:sm_90a"});
  dsl::Program program = traceAttentionForward(resolved.kind, resolved.tile);
  Emitted emitted = emit(dsl::internal::module(program), {.target = resolved.target,
                                                          .warps = resolved.tile.warps,
                                                          .stages = resolved.tile.stages,
                                                          .forced = resolved.tile.schedule,
                                                          .order = {}});
  emitted.module->walk([](Op op) {
    if (!op.getPhase()) return;
    OpBuilder b(op);
    Value one = arith::ConstantOp::create(b, op.getLoc(), b.getI32IntegerAttr(1));
    op.getPhaseMutable().assign(arith::AddIOp::create(b, op.getLoc(), op.getPhase(), one));
  });
  return judge(emitted).faults;
}

TEST(Phases, OneMoreIsAFault) {
  for (const std::string& faults : {faultsWithOtherPhases<tilegpu::CopyAsyncOp>(), faultsWithOtherPhases<tilegpu::CopyWaitOp>()})
    EXPECT_NE(faults.find("is for phase 1 of a slot, whose phase is 0"), std::string::npos) << faults;
}

/// A tile of two or three groups of warps, for which warps of their own copy.
struct GroupsDraw {
  static constexpr const char* kTarget = "nvidia:sm_90a";
  kernels::ForwardKind config{.alignment = 16};
  TileConfig tile;
  generator::Draw configuration;  ///< its rank of schedules
  bool repeat = false, dynamic = false;

  explicit GroupsDraw(generator::Random& random) {
    auto oneOf = [&](std::initializer_list<int> values) {
      return values.begin()[random.between(0, static_cast<int64_t>(values.size()) - 1)];
    };
    const int groups = oneOf({2, 2, 3});
    config.head_dim = config.head_dim_v = oneOf({32, 64, 72, 128});
    config.dtype = (random.between(1, 100) <= 50) ? DType::BF16 : DType::F16;
    config.causal = (random.between(1, 100) <= 50);
    tile.block_m = 64 * groups * oneOf({1, 1, 2});
    tile.block_n = oneOf({16, 32, 48, 64, 128});
    tile.stages = oneOf({1, 2, 2, 3, 4});
    tile.warps = 4 * groups;
    configuration.schedule = static_cast<int>(random.between(0, 7));
    repeat = (random.between(1, 100) <= 60);
    dynamic = repeat && (random.between(1, 100) <= 50);
  }
  std::string text() const {
    return tile.toString() + " D=" + std::to_string(config.head_dim) + (config.causal ? " causal" : "") + " schedule " +
           std::to_string(configuration.schedule) +
           (dynamic  ? ", programs handed out"
            : repeat ? ", several programs"
                     : "");
  }
};

TEST(Clean, AttentionOnGroupsOfWarpsThatTakeTurns) {
  generator::Random random(test::fromEnvironment("FATTN_SEED", 0));
  uint64_t count = test::fromEnvironment("FATTN_COUNT", 12);
  int refused = 0, apart = 0, several = 0, neighbours = 0;
  for (uint64_t i = 0; i < count; ++i) {
    GroupsDraw draw(random);
    dsl::Program program = traceAttentionForward(draw.config, draw.tile);
    Emitted emitted;
    do
      emitted = emit(dsl::internal::module(program), {.target = GroupsDraw::kTarget,
                                                      .warps = draw.tile.warps,
                                                      .stages = draw.tile.stages,
                                                      .schedule = draw.configuration.schedule,
                                                      .forced = {},
                                                      .repeat = draw.repeat,
                                                      .dynamic = draw.dynamic,
                                                      .cluster = !draw.repeat,
                                                      .order = {}});
    while (draw.configuration.fitSchedule(emitted.refused));
    refused += !emitted.refused.empty();
    if (!emitted.refused.empty()) continue;  // more shared memory than there is
    EXPECT_EQ(judge(emitted).faults, "") << draw.text();
    func::FuncOp function = *emitted.module->getOps<func::FuncOp>().begin();
    apart += function->hasAttr(tilegpu::kCopierWarpsAttr);
    several += function->hasAttr(tilegpu::kRepeatsAttr);
    neighbours += tilegpu::clusterOf(function) > 1;
  }
  std::cout << count << " draws, of which the compiler refused " << refused << "; in " << apart << " warps of their own copy, in "
            << several << " a block takes several programs, in " << neighbours << " neighbours share copies\n";
  EXPECT_GE(2 * apart, static_cast<int>(count));
  EXPECT_GE(4 * several, static_cast<int>(count));
}

/// Copies that a neighbour makes a part of are copies of the program as before, and so are releases.
TEST(Clean, NeighboursThatShareCopies) {
  for (const auto& [dim, stages] : {std::pair(128, 2), std::pair(128, 3), std::pair(256, 2)}) {
    const kernels::ForwardKind kind{.dtype = DType::BF16, .head_dim = dim, .head_dim_v = dim, .alignment = 16};
    const TileConfig tile{.block_m = 128, .block_n = 64, .stages = stages, .warps = 8};
    dsl::Program program = traceAttentionForward(kind, tile);
    Emitted emitted =
        emit(dsl::internal::module(program),
             {.target = GroupsDraw::kTarget, .warps = tile.warps, .stages = tile.stages, .forced = "A B1 a b cluster", .order = {}});
    ASSERT_EQ(emitted.refused, "") << dim;
    EXPECT_EQ(tilegpu::clusterOf(*emitted.module->getOps<func::FuncOp>().begin()), 2) << dim;
    EXPECT_EQ(judge(emitted).faults, "") << dim;
  }
}

TEST(Clean, RandomPrograms) {
  std::vector<std::string> targets = chips();
  uint64_t first = test::fromEnvironment("FATTN_SEED", 0), count = test::fromEnvironment("FATTN_COUNT", 60);
  int refused = 0, unchecked = 0, unsettled = 0, shallow = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    generator::Draw draw = generator::draw(seed, targets);
    auto context = test::makeContext();
    Emitted emitted;
    do {
      generator::Program program = generator::generate(*context, draw);
      TileConfig config = draw.config();
      emitted = emit(
          *program.module,
          {.target = draw.target, .warps = config.warps, .stages = config.stages, .schedule = draw.schedule, .forced = {}, .order = {}});
    } while (draw.fitSchedule(emitted.refused));
    if (!emitted.refused.empty()) {
      ++refused;
      continue;
    }
    Verdict verdict = judge(emitted);
    EXPECT_EQ(verdict.faults, "") << draw.toString();
    unchecked += verdict.runs == 0;
    unsettled += verdict.unsettled;
    shallow += verdict.shallow;
  }
  std::cout << count << " programs, of which the compiler refused " << refused << "; " << unchecked << " could not be followed, "
            << unsettled << " loops did not settle, " << shallow << " had few trips in all draws\n";
  EXPECT_LT(refused, static_cast<int>(count));
  EXPECT_LE(unchecked, static_cast<int>(count / 20));
  EXPECT_LE(unsettled, static_cast<int>(count / 20));
}

}  // namespace
}  // namespace fattn::order
