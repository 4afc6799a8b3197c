// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/check/Scenarios.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace fattn::check {
namespace {

/// The same numbers on every machine (splitmix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t bound) { return static_cast<int64_t>(next() % static_cast<uint64_t>(bound)); }

 private:
  uint64_t state;
};

constexpr size_t kMostPrograms = 4;

/// The first programs that one of some blocks takes.
std::vector<std::array<int64_t, 3>> programsOfABlock(const std::array<int64_t, 3>& grid, tile::Axis axis, bool dynamic, Random& random) {
  int64_t all = grid[0] * grid[1] * grid[2], blocks = 1 + random.below(all), block = random.below(blocks);
  std::vector<std::array<int64_t, 3>> ids;
  for (int64_t number : dynamic ? tilegpu::dealtPrograms(all, block, blocks, random.next(), kMostPrograms)
                                : tilegpu::programsOf(grid, axis, block, blocks, kMostPrograms)) {
    int64_t rows = number / grid[0];
    ids.push_back({number % grid[0], rows % grid[1], rows / grid[1]});
  }
  return ids;
}

}  // namespace

/// What trips follow from is a small multiple of a constant beside it, or near one. What only addresses follow from is large and odd in
/// most draws, so that windows are apart, and small in the others, so that they meet.
Scenario Scenarios::draw(int number) const {
  Random random(static_cast<uint64_t>(number) + 1);
  Scenario scenario{.trips = random.below(4), .group = 0, .seed = random.next(), .scales = program.scales};
  bool apart = random.below(4) != 0;
  func::FuncOp function = program.function;
  auto small = [&] {
    int64_t scale =
        program.scales.empty() || random.below(3) == 0 ? 1 : program.scales[random.below(static_cast<int64_t>(program.scales.size()))];
    constexpr int64_t kNear[] = {0, 0, 0, 1, -1, 5};
    return std::max<int64_t>(0, scale * random.below(most + 1) + kNear[random.below(6)]);
  };
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    bool shapes = llvm::is_contained(program.shaping, static_cast<int>(i));
    int64_t value = shapes || !apart ? small() : 1000003 * static_cast<int64_t>(i + 1);
    if (type.isInteger(1)) value = random.below(2) ? -1 : 0;
    if (type.isIntOrIndex() && !type.isIndex() && type.getIntOrFloatBitWidth() < 64)
      value = llvm::SignExtend64(static_cast<uint64_t>(value), type.getIntOrFloatBitWidth());
    scenario.arguments.push_back(value);
  }
  for (size_t axis = 0; axis < 3; ++axis) {
    scenario.programs[axis] = 1 + random.below(4);
    scenario.ids.front()[axis] = random.below(scenario.programs[axis]);
  }
  if (repeats) scenario.ids = programsOfABlock(scenario.programs, *repeats, dynamic, random);
  scenario.group = random.next();
  return scenario;
}

bool Scenarios::isNew(const std::vector<int64_t>& trips) {
  bool fresh = false;
  for (auto [loop, count] : llvm::enumerate(trips))
    if (count >= 0 && count <= most) fresh |= seen.insert({loop, count}).second;
  return fresh;
}

}  // namespace fattn::check
