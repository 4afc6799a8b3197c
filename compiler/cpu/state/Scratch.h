// SPDX-License-Identifier: Apache-2.0
// Hands out slots of a thread's scratch memory at compile time: first fit, 64-byte aligned, slots return when their tile is dead.
#ifndef FATTN_COMPILER_CPU_STATE_SCRATCH_H
#define FATTN_COMPILER_CPU_STATE_SCRATCH_H

#include <cstdint>
#include <vector>

namespace fattn::cpu {

class Scratch {
 public:
  /// Reserves `size` bytes and returns the slot's number.
  int allocate(int64_t size);
  void release(int slot);
  int64_t offset(int slot) const { return slots[slot].offset; }
  int64_t bytes() const { return high; }

 private:
  struct Slot {
    int64_t offset, size;
    bool live;
  };
  std::vector<Slot> slots;
  int64_t high = 0;
};

}  // namespace fattn::cpu

#endif
