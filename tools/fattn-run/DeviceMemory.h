// SPDX-License-Identifier: Apache-2.0
// Tensors of a job on the device that its kernel runs on.
#ifndef FATTN_TOOLS_FATTN_RUN_DEVICEMEMORY_H
#define FATTN_TOOLS_FATTN_RUN_DEVICEMEMORY_H

#include <cstdint>
#include <vector>

#include "fattn/Device.h"
#include "fattn/TensorView.h"
#include "tools/io/HostTensor.h"

namespace fattn::run {

/// Normal numbers, the same for the same seed and stream.
io::HostTensor drawn(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed, std::uint64_t stream);

/// Owns what it allocates.
class DeviceMemory {
 public:
  explicit DeviceMemory(Device& device) : device_(device) {}
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* allocate(std::int64_t bytes);
  TensorView put(const io::HostTensor& values);
  void fetch(io::HostTensor& values, const TensorView& there);

 private:
  Device& device_;
  std::vector<void*> memory_;
};

}  // namespace fattn::run

#endif
