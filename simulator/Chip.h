// SPDX-License-Identifier: Apache-2.0
// What differs between the chips that are simulated.
#ifndef FATTN_SIMULATOR_CHIP_H
#define FATTN_SIMULATOR_CHIP_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fattn::simulator {

enum class Generation : std::uint8_t { Cdna3, Cdna4, Rdna3, Rdna4 };

struct Chip {
  std::string_view name;  ///< "gfx942"
  Generation generation;
  std::uint32_t ldsBytes;
  int wideLdsBanks;  ///< that loads of 8 bytes and more use; other accesses use 32
  bool fnuz;         ///< 8-bit floats are AMD's own, without infinities and negative zero; otherwise OCP's

  bool isCdna() const { return generation == Generation::Cdna3 || generation == Generation::Cdna4; }
  /// Waits: gfx12 has one counter for each kind of access.
  bool hasSplitCounters() const { return generation == Generation::Rdna4; }
  /// Stores count with loads.
  bool storesCountAsLoads() const { return isCdna(); }
  /// 16-bit results clear the other half of their register.
  bool clearsHighHalf() const { return isCdna(); }
};

std::span<const Chip> chips();
/// Nothing (nullptr) for a chip that is not simulated.
const Chip* findChip(std::string_view name);
/// "gfx942, gfx950, gfx1100, gfx1201"
std::string chipNames();

}  // namespace fattn::simulator

#endif
