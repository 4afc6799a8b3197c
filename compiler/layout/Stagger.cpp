// SPDX-License-Identifier: Apache-2.0
#include "compiler/layout/Stagger.h"

#include <optional>

namespace fattn::layout {
namespace {

/// The layout behind one more swap: what the lane's bit leads to is moved by what the register's bit leads to.
LinearLayout swapped(const LinearLayout& registers, const Swap& swap) {
  const LinearLayout linear = registers.linearPart();
  const Coords by = linear.at({{kRegister, std::int64_t{1} << swap.registerBit}});
  std::vector<LinearLayout::Input> inputs;
  for (const Axis& in : linear.inputs()) {
    inputs.push_back({in.name, {}});
    for (int bit = 0; bit < in.bits; ++bit) {
      Coords image = linear.at({{in.name, std::int64_t{1} << bit}});
      if (in.name == kLane && bit == swap.laneBit)
        for (std::size_t d = 0; d < image.size(); ++d) image[d] ^= by[d];
      inputs.back().bases.push_back(std::move(image));
    }
  }
  return LinearLayout(inputs, linear.outputs(), registers.repeats());
}

}  // namespace

Staggered staggered(const LinearLayout& registers, const SharedLayout& shared, int elementBits, const Banks& banks) {
  Staggered result{.layout = registers, .swaps = {}};
  BankReport now = bankConflicts(registers, shared, elementBits, 0, banks);
  const std::uint64_t copiedLanes = registers.freeBits(kLane), copiedRegisters = registers.freeBits(kRegister);
  const auto isCopy = [](std::uint64_t bits, int bit) { return (bits >> bit & 1) != 0; };
  while (now.conflicts() > 0) {
    std::optional<Staggered> best;
    BankReport least = now;
    for (int lane = 0; lane < registers.inputBits(kLane); ++lane)
      for (int r = 0; r < registers.inputBits(kRegister); ++r) {
        if (isCopy(copiedLanes, lane) || isCopy(copiedRegisters, r)) continue;
        Staggered one{.layout = swapped(result.layout, {lane, r}), .swaps = result.swaps};
        const BankReport report = bankConflicts(one.layout, shared, elementBits, 0, banks);
        if (report.vector != now.vector || report.passes >= least.passes) continue;
        one.swaps.push_back({lane, r});
        best = std::move(one), least = report;
      }
    if (!best) return result;
    result = std::move(*best), now = least;
  }
  return result;
}

}  // namespace fattn::layout
