// SPDX-License-Identifier: Apache-2.0
// What the compiler emits keeps the order of the program before scheduling: attention in its default configurations
// and random programs over chips, stages, warps and schedules. FATTN_SEED=n FATTN_COUNT=m: m random programs from the n-th draw on.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "compiler/gpu/Target.h"
#include "dsl/Internal.h"
#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionSupport.h"
#include "tests/generator/Draw.h"
#include "tests/order/Emitted.h"
#include "tests/support/Context.h"

using namespace mlir;

namespace fattn::order {
namespace {

uint64_t fromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

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
          AttentionConfig config;
          config.head_dim = config.head_dim_v = dim;
          config.dtype = dtype;
          config.causal = causal;
          config.target = target;
          config = kernels::resolve(config);
          TileConfig tile = *config.tile;
          dsl::Program program = traceAttentionForward(config, tile);
          std::string name = std::string(target) + " " + std::to_string(dim) + (causal ? " causal " : " ") + tile.toString();
          expectInOrder(dsl::internal::module(program),
                        {.target = target, .warps = tile.warps, .stages = tile.stages, .forced = tile.schedule, .order = {}}, name);
        }
}

TEST(Clean, RandomPrograms) {
  std::vector<std::string> targets = chips();
  uint64_t first = fromEnvironment("FATTN_SEED", 0), count = fromEnvironment("FATTN_COUNT", 60);
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
