// SPDX-License-Identifier: Apache-2.0
// Operands of a contestant in the device's memory.
#ifndef FATTN_TOOLS_FATTN_BENCH_DEVICETENSORS_H
#define FATTN_TOOLS_FATTN_BENCH_DEVICETENSORS_H

#include <cstdint>
#include <vector>

#include "fattn/Device.h"
#include "fattn/TensorView.h"

namespace fattn::bench {

/// Owns what it allocates.
class DeviceTensors {
 public:
  explicit DeviceTensors(Device& device) : device_(device) {}
  ~DeviceTensors();
  DeviceTensors(const DeviceTensors&) = delete;
  DeviceTensors& operator=(const DeviceTensors&) = delete;

  void* allocate(std::int64_t bytes);
  /// Normal numbers, of which a few hundred thousand are repeated: drawing a whole cache would take minutes.
  TensorView random(DType dtype, const std::vector<std::int64_t>& shape);
  TensorView integers(const std::vector<std::int64_t>& shape, const std::vector<std::int32_t>& values);
  /// Uninitialized.
  TensorView result(DType dtype, const std::vector<std::int64_t>& shape);

 private:
  TensorView put(const void* values, std::int64_t bytes, DType dtype, const std::vector<std::int64_t>& shape);

  Device& device_;
  std::vector<void*> memory_;
};

}  // namespace fattn::bench

#endif
