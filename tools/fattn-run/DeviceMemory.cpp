// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-run/DeviceMemory.h"

#include <utility>

#include "tools/io/Random.h"

namespace fattn::run {

io::HostTensor drawn(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed, std::uint64_t stream) {
  io::HostTensor tensor = io::HostTensor::allocate(dtype, std::move(shape));
  io::fillNormal(tensor, seed, stream, 0);
  return tensor;
}

DeviceMemory::~DeviceMemory() {
  for (void* memory : memory_) device_.free(memory);
}

void* DeviceMemory::allocate(std::int64_t bytes) {
  void* memory = device_.allocate(static_cast<std::size_t>(bytes));
  memory_.push_back(memory);
  return memory;
}

TensorView DeviceMemory::put(const io::HostTensor& values) {
  void* memory = allocate(values.bytes());
  device_.copy(memory, values.data(), static_cast<std::size_t>(values.bytes()));
  device_.synchronize();
  return {memory, values.dtype(), values.shape()};
}

void DeviceMemory::fetch(io::HostTensor& values, const TensorView& there) {
  device_.copy(values.data(), there.data, static_cast<std::size_t>(values.bytes()));
  device_.synchronize();
}

}  // namespace fattn::run
