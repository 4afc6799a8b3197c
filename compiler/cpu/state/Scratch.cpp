// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/state/Scratch.h"

#include <algorithm>

namespace fattn::cpu {

int Scratch::allocate(int64_t size) {
  constexpr int64_t kAlign = 64;
  size = (size + kAlign - 1) / kAlign * kAlign;
  std::vector<const Slot*> live;
  for (const Slot& s : slots)
    if (s.live) live.push_back(&s);
  std::sort(live.begin(), live.end(), [](const Slot* a, const Slot* b) { return a->offset < b->offset; });
  int64_t at = 0;
  for (const Slot* s : live) {
    if (at + size <= s->offset) break;
    at = std::max(at, s->offset + s->size);
  }
  high = std::max(high, at + size);
  slots.push_back({at, size, true});
  return static_cast<int>(slots.size()) - 1;
}

void Scratch::release(int slot) { slots[slot].live = false; }

}  // namespace fattn::cpu
