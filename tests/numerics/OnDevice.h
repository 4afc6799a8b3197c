// SPDX-License-Identifier: Apache-2.0
// Where the kernels under test run, and test tensors there.
#ifndef FATTN_TESTS_NUMERICS_ONDEVICE_H
#define FATTN_TESTS_NUMERICS_ONDEVICE_H

#include <memory>
#include <string>

#include "fattn/Device.h"
#include "tests/numerics/StridedTensor.h"

namespace fattn::numerics {

/// The target that FATTN_NUMERICS_TARGET names, else "host".
const std::string& testedTarget();
/// Why there is no such device; "" where there is one.
std::string missingDevice();

/// A test tensor in the memory of a device, gaps and guards included; on the host the tensor itself. On a simulated chip the memory ends
/// with the last element, and begins with the first but for what its alignment takes: what leaves it is an error of the launch.
class OnDevice {
 public:
  OnDevice(Device& device, StridedTensor& tensor);
  TensorView view() const { return tensor_.viewAt(memory_); }
  /// Brings everything back into the tensor, also what was written beside its elements.
  void fetch();

 private:
  Device& device_;
  StridedTensor& tensor_;
  std::shared_ptr<void> owned_;
  std::size_t begin_ = 0, end_ = 0;  // of what is there
  std::byte* memory_;                // where the tensor's memory begins there
};

}  // namespace fattn::numerics

#endif
