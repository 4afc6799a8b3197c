// SPDX-License-Identifier: Apache-2.0
#include "simulator/Statistics.h"

#include <numeric>

namespace fattn::simulator {

std::uint64_t Statistics::total() const { return std::accumulate(instructions.begin(), instructions.end(), std::uint64_t{0}); }

void Statistics::add(const Statistics& other) {
  for (std::size_t i = 0; i < instructions.size(); ++i) instructions[i] += other.instructions[i];
  ldsPasses += other.ldsPasses;
  ldsMinimalPasses += other.ldsMinimalPasses;
  barriers += other.barriers;
  globalBytes += other.globalBytes;
}

std::string_view name(Category category) {
  static constexpr std::array<std::string_view, kCategories> kNames = {
      "vector", "transcendental", "matrix", "scalar", "scalar-load", "global", "local", "wait", "barrier", "branch", "other"};
  return kNames[static_cast<std::size_t>(category)];
}

}  // namespace fattn::simulator
