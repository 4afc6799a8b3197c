// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/DieOrder.h"

#include <algorithm>

namespace fattn {
namespace {

using Place = DieOrder::Place;

std::uint64_t countOf(const Place& grid) {
  const std::uint64_t plane = std::uint64_t{grid[0]} * grid[1];
  return std::min(plane, DieOrder::kTooMany) * grid[2];
}

std::uint64_t numberOf(const Place& place, const Place& grid, std::size_t first) {
  const auto axis = [&](std::size_t turn) { return DieOrder::axisInTurn(first, turn); };
  return place[axis(0)] + std::uint64_t{grid[axis(0)]} * (place[axis(1)] + std::uint64_t{grid[axis(1)]} * place[axis(2)]);
}

Place placeOf(std::uint64_t number, const Place& grid, std::size_t first) {
  Place place{};
  for (std::size_t turn = 0; turn < place.size(); ++turn) {
    const std::size_t axis = DieOrder::axisInTurn(first, turn);
    place[axis] = static_cast<std::uint32_t>(turn == 2 ? number : number % grid[axis]);
    number /= grid[axis];
  }
  return place;
}

}  // namespace

Place DieOrder::programOf(const Place& block, const Place& grid) const {
  const std::uint64_t all = countOf(grid);
  if (dies == 1 || all >= kTooMany) return block;
  const std::uint64_t number = numberOf(block, grid, 0), die = number % dies;
  return placeOf(die * (all / dies) + std::min(die, all % dies) + number / dies, grid, first);
}

Place DieOrder::blockOf(const Place& program, const Place& grid) const {
  const std::uint64_t all = countOf(grid);
  if (dies == 1 || all >= kTooMany) return program;
  const std::uint64_t number = numberOf(program, grid, first), few = all / dies, longer = all % dies;  // the first dies have one more
  const std::uint64_t ofLonger = longer * (few + 1);
  const std::uint64_t die = number < ofLonger ? number / (few + 1) : longer + (number - ofLonger) / few;
  const std::uint64_t turn = number - die * few - std::min(die, longer);
  return placeOf(turn * dies + die, grid, 0);
}

}  // namespace fattn
