// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-bench/DeviceTensors.h"

#include <algorithm>
#include <cstring>

#include "tools/io/Random.h"

namespace fattn::bench {

DeviceTensors::~DeviceTensors() {
  for (void* memory : memory_) device_.free(memory);
}

void* DeviceTensors::allocate(std::int64_t bytes) {
  void* memory = device_.allocate(static_cast<std::size_t>(bytes));
  memory_.push_back(memory);
  return memory;
}

TensorView DeviceTensors::put(const void* values, std::int64_t bytes, DType dtype, const std::vector<std::int64_t>& shape) {
  void* memory = allocate(bytes);
  device_.copy(memory, values, static_cast<std::size_t>(bytes));
  device_.synchronize();
  return {memory, dtype, shape};
}

TensorView DeviceTensors::random(DType dtype, const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t kDrawn = 1 << 18;
  io::HostTensor values = io::HostTensor::allocate(dtype, shape), drawn = io::HostTensor::allocate(dtype, {kDrawn});
  io::fillNormal(drawn, 0, memory_.size(), 0);
  for (std::int64_t at = 0; at < values.bytes(); at += drawn.bytes())
    std::memcpy(values.data() + at, drawn.data(), static_cast<std::size_t>(std::min(drawn.bytes(), values.bytes() - at)));
  return put(values.data(), values.bytes(), dtype, shape);
}

TensorView DeviceTensors::integers(const std::vector<std::int64_t>& shape, const std::vector<std::int32_t>& values) {
  return put(values.data(), static_cast<std::int64_t>(values.size() * sizeof(std::int32_t)), DType::I32, shape);
}

TensorView DeviceTensors::result(DType dtype, const std::vector<std::int64_t>& shape) {
  TensorView view(nullptr, dtype, shape);
  view.data = allocate(view.checkedBytes());
  return view;
}

}  // namespace fattn::bench
