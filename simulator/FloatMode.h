// SPDX-License-Identifier: Apache-2.0
// The host's float unit as a kernel's descriptor wants it: with or without denormals of 32 bits.
#ifndef FATTN_SIMULATOR_FLOATMODE_H
#define FATTN_SIMULATOR_FLOATMODE_H

#include <cstdint>

namespace fattn::simulator {

/// Sets it up for its lifetime, in its thread. `mode` has rounding in bits 0 .. 3 and denormals in bits 4 .. 7, as in the descriptor.
/// Throws Error{Unsupported} for another rounding than to the nearest, and where the host cannot switch denormals off.
class FloatMode {
 public:
  explicit FloatMode(std::uint32_t mode);
  ~FloatMode();
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  std::uint32_t saved_ = 0;
};

}  // namespace fattn::simulator

#endif
