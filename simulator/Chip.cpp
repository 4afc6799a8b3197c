// SPDX-License-Identifier: Apache-2.0
#include "simulator/Chip.h"

namespace fattn::simulator {
namespace {
constexpr Chip kChips[] = {{"gfx942", Generation::Cdna3, 64 << 10, 32, true},
                           {"gfx950", Generation::Cdna4, 160 << 10, 64, false},
                           {"gfx1100", Generation::Rdna3, 64 << 10, 32, false},
                           {"gfx1201", Generation::Rdna4, 64 << 10, 32, false}};
}

std::span<const Chip> chips() { return kChips; }

const Chip* findChip(std::string_view name) {
  for (const Chip& chip : kChips)
    if (chip.name == name) return &chip;
  return nullptr;
}

std::string chipNames() {
  std::string names;
  for (const Chip& chip : kChips) names.append(names.empty() ? "" : ", ").append(chip.name);
  return names;
}

}  // namespace fattn::simulator
