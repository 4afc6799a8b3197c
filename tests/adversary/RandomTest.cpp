// SPDX-License-Identifier: Apache-2.0
// Random programs, compiled for random chips, stages, warps and schedules, have no faults. FATTN_SEED=n FATTN_COUNT=m: those of m draws
// from the n-th on.
#include <gtest/gtest.h>

#include <cstdlib>

#include "compiler/gpu/Target.h"
#include "tests/adversary/CheckProgram.h"

namespace fattn::adversary {
namespace {

std::vector<std::string> chips() {
  std::vector<std::string> result;
  for (std::string_view target : gpu::targetNames())
    if (target.starts_with("nvidia:")) result.emplace_back(target);
  return result;
}

uint64_t fromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(Random, ProgramsHaveNoFaults) {
  std::vector<std::string> targets = chips();
  uint64_t first = fromEnvironment("FATTN_SEED", 0), count = fromEnvironment("FATTN_COUNT", 40);
  int refused = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    generator::Draw draw = generator::draw(seed, targets);
    Outcome outcome = checkDraw(draw);
    refused += !outcome.refused.empty();
    EXPECT_EQ(textOf(outcome.faults), "") << draw.toString();
  }
  EXPECT_LT(refused, static_cast<int>(count)) << "the compiler refused all programs";
  RecordProperty("refused", refused);
}

}  // namespace
}  // namespace fattn::adversary
