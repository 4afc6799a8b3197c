// SPDX-License-Identifier: Apache-2.0
// The memory accesses of a wave that no wait covers yet. An access is executed when it is issued, but its results may not be touched
// before.
#ifndef FATTN_SIMULATOR_COUNTERS_H
#define FATTN_SIMULATOR_COUNTERS_H

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <vector>

#include "simulator/Instruction.h"
#include "simulator/Lds.h"

namespace fattn::simulator {

/// Loads are vmcnt or loadcnt; stores vscnt or storecnt, or vmcnt too; local memory lgkmcnt or dscnt; scalar loads lgkmcnt or kmcnt.
enum class Counter : std::uint8_t { Loads, Stores, Local, Scalars };

struct Outstanding {
  std::uint8_t counters = 0;  ///< a bit for each Counter that has to be waited for
  bool inOrder = true;        ///< completes in order with others of its kind; scalar loads and flat accesses do not
  const Instruction* source = nullptr;
  Operand::Kind registers = Operand::None;  ///< what it writes
  std::uint16_t first = 0, count = 0;
  std::vector<LdsAccess> lds = {};  ///< what it does in local memory
  bool readsLds = false;            ///< it reads that; otherwise it writes it
  bool hiddenFromItself = false;    ///< a load from global to local memory
};

class Counters {
 public:
  static std::uint8_t bit(Counter counter) { return static_cast<std::uint8_t>(1 << static_cast<int>(counter)); }

  void reset();
  void issue(Outstanding access);
  /// At most `left` accesses of the counter are outstanding from now on; calls `landed` for each that a wait now covers.
  void wait(Counter counter, int left, const std::function<void(const Outstanding&)>& landed);
  bool empty() const { return pending_ == 0; }
  /// The access that writes one of these registers and is outstanding, or nullptr.
  const Outstanding* pending(Operand::Kind kind, int first, int count) const {
    if (pending_ == 0) return nullptr;
    bool found = false;
    for (int i = first; i < first + count; ++i)
      found |= kind == Operand::Vector ? vectors_[static_cast<std::size_t>(i)] : scalars_[static_cast<std::size_t>(i)];
    return found ? owner(kind, first, count) : nullptr;
  }
  const std::vector<Outstanding>& outstanding() const { return accesses_; }

 private:
  const Outstanding* owner(Operand::Kind kind, int first, int count) const;
  void mark(const Outstanding& access, bool value);

  std::vector<Outstanding> accesses_;  ///< in the order of issue
  int pending_ = 0;                    ///< accesses with registers
  std::bitset<512> vectors_;
  std::bitset<Scalar::kCount> scalars_;
};

}  // namespace fattn::simulator

#endif
