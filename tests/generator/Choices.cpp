// SPDX-License-Identifier: Apache-2.0
// Drawing, recording and replaying choices.
#include "tests/generator/Choices.h"

#include <algorithm>
#include <numeric>

namespace fattn::generator {

uint64_t Random::next() {
  uint64_t z = (state_ += 0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

uint64_t Choices::choose(uint64_t drawn, uint64_t count) {
  uint64_t value = drawn;
  if (replays_) value = values_.size() < replayed_.size() ? replayed_[values_.size()] : 0;
  values_.push_back(value % count);
  return values_.back();
}

int64_t Choices::between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(choose(random_.next(), static_cast<uint64_t>(high - low) + 1));
}

bool Choices::chance(int percent) { return choose(random_.between(1, 100) <= percent ? 1 : 0, 2) != 0; }

size_t Choices::weighted(std::span<const int> weights) {
  int64_t drawn = random_.between(0, std::accumulate(weights.begin(), weights.end(), int64_t{0}) - 1);
  size_t at = 0;
  while (drawn >= weights[at]) drawn -= weights[at++];
  return choose(at, weights.size());
}

Choices::Repeat::Repeat(Choices& choices, int64_t least, int64_t most)
    : choices_(choices), wanted_(choices.random_.between(least, most)), most_(most) {}

bool Choices::Repeat::next() {
  close();
  if (times_ == most_) return false;
  begin_ = choices_.values_.size();
  open_ = choices_.choose(times_ < wanted_ ? 1 : 0, 2) != 0;
  ++times_;
  return open_;
}

void Choices::Repeat::close() {
  if (open_) choices_.spans_.push_back({begin_, choices_.values_.size()});
  open_ = false;
}

}  // namespace fattn::generator
