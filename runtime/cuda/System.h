// SPDX-License-Identifier: Apache-2.0
// The NVIDIA GPUs of this machine.
#ifndef FATTN_RUNTIME_CUDA_SYSTEM_H
#define FATTN_RUNTIME_CUDA_SYSTEM_H

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/CudaDevice.h"

namespace fattn::cuda {

/// A driver and its GPUs.
class System {
 public:
  /// Throws Error{NoDevice} where there is no driver or no GPU; see Driver.
  explicit System(const std::vector<std::string>& libraries);

  /// The one of this process, made at the first call and never destroyed, from the library that FATTN_CUDA_LIBRARY names, else from
  /// libcuda.so.1 or libcuda.so. A call that throws tries again at the next.
  static System& instance();

  /// The GPU of a target, "cuda" (the first) or "cuda:N". Throws Error{InvalidArgument} where it is no such name, Error{NoDevice} where the
  /// machine has no such GPU.
  CudaDevice& open(std::string_view target);
  const std::vector<std::unique_ptr<CudaDevice>>& devices() const { return devices_; }
  const Driver& driver() const { return driver_; }

 private:
  Driver driver_;
  std::vector<std::unique_ptr<CudaDevice>> devices_;
};

/// The number in "cuda:N"; 0 for "cuda". Throws Error{InvalidArgument}.
int ordinalOf(std::string_view target);

}  // namespace fattn::cuda

#endif
