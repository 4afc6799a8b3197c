// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/System.h"

#include <cstdlib>

#include "fattn/Error.h"
#include "runtime/gpu/DriverLibrary.h"

namespace fattn::cuda {

System::System(const std::vector<std::string>& libraries) : driver_(libraries) {
  for (int i = 0; i < driver_.deviceCount(); ++i) devices_.push_back(std::make_unique<CudaDevice>(driver_, i));
}

System& System::instance() {
  static System* system = [] {
    const char* library = std::getenv("FATTN_CUDA_LIBRARY");
    if (library != nullptr && *library != '\0') return new System({library});
    return new System({"libcuda.so.1", "libcuda.so"});
  }();
  return *system;
}

int ordinalOf(std::string_view target) {
  return fattn::ordinalOf(target, TargetKind::Cuda, "an NVIDIA GPU is 'cuda' (the first) or 'cuda:N', N from 0");
}

CudaDevice& System::open(std::string_view target) {
  int ordinal = ordinalOf(target);
  if (ordinal < static_cast<int>(devices_.size())) return *devices_[static_cast<std::size_t>(ordinal)];
  std::string legal = devices_.size() == 1 ? "the only one is cuda:0" : "legal are cuda:0 to cuda:" + std::to_string(devices_.size() - 1);
  for (const auto& device : devices_) legal.append("\n  ").append(device->name()).append(": ").append(device->description());
  throw Error(ErrorCode::NoDevice, "this machine has no GPU '" + std::string(target) + "'", legal);
}

}  // namespace fattn::cuda
