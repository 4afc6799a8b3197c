// SPDX-License-Identifier: Apache-2.0
// What a device can do at best, measured with two small kernels in the tile language: a copy, and dots on tiles that stay near.
#ifndef FATTN_TOOLS_FATTN_BENCH_CEILINGS_H
#define FATTN_TOOLS_FATTN_BENCH_CEILINGS_H

#include <memory>
#include <string>

#include "fattn/DType.h"
#include "fattn/Device.h"
#include "fattn/Kernel.h"

namespace fattn::bench {

/// A kernel that does as much of one thing as it can.
class Ceiling {
 public:
  virtual ~Ceiling() = default;
  virtual void launch() = 0;
  double flops = 0;  ///< of one launch; 0 for a copy
  double bytes = 0;  ///< read and written by one launch; 0 for dots
};

/// Copies an array several times as large as the device's caches. Throws Error.
std::unique_ptr<Ceiling> copyCeiling(Device& device, const std::string& target);
/// Multiplies tiles of this type. One launch takes about `microseconds`. Throws Error.
std::unique_ptr<Ceiling> matrixCeiling(Device& device, const std::string& target, DType type, double microseconds = 3000);

/// The programs behind them, for a device or a chip.
struct CeilingProgram {
  dsl::Program program;
  TileConfig tile;
};
CeilingProgram copyProgram(const std::string& target);
CeilingProgram dotsProgram(const std::string& target, DType type);

}  // namespace fattn::bench

#endif
