// SPDX-License-Identifier: Apache-2.0
#include "simulator/Counters.h"

#include <utility>

namespace fattn::simulator {

void Counters::reset() {
  accesses_.clear();
  pending_ = 0;
  vectors_.reset();
  scalars_.reset();
}

void Counters::mark(const Outstanding& access, bool value) {
  if (access.registers == Operand::None) return;
  for (std::size_t i = access.first; i < static_cast<std::size_t>(access.first) + access.count; ++i) {
    if (access.registers == Operand::Vector)
      vectors_[i] = value;
    else
      scalars_[i] = value;
  }
}

void Counters::issue(Outstanding access) {
  mark(access, true);
  if (access.registers != Operand::None) ++pending_;
  accesses_.push_back(std::move(access));
}

void Counters::wait(Counter counter, int left, const std::function<void(const Outstanding&)>& landed) {
  // The worst that a wait for `left` allows: those that are left are the youngest of a kind that completes in order; of the others any may
  // be.
  int younger = 0;
  bool done = false;
  for (std::size_t i = accesses_.size(); i-- > 0;) {
    Outstanding& access = accesses_[i];
    if ((access.counters & bit(counter)) == 0) continue;
    if (access.inOrder ? younger++ < left : left > 0) continue;
    access.counters = static_cast<std::uint8_t>(access.counters & ~bit(counter));
    done |= access.counters == 0;
  }
  if (!done) return;
  std::vector<Outstanding> kept;
  for (Outstanding& access : accesses_) {
    if (access.counters != 0) {
      kept.push_back(std::move(access));
      continue;
    }
    mark(access, false);
    if (access.registers != Operand::None) --pending_;
    landed(access);
  }
  accesses_ = std::move(kept);
  for (const Outstanding& access : accesses_) mark(access, true);  // a younger load may fill the same register
}

const Outstanding* Counters::owner(Operand::Kind kind, int first, int count) const {
  for (const Outstanding& access : accesses_)
    if (access.registers == kind && access.first < first + count && first < access.first + access.count) return &access;
  return nullptr;
}

}  // namespace fattn::simulator
