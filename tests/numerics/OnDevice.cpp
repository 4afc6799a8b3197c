// SPDX-License-Identifier: Apache-2.0
#include "tests/numerics/OnDevice.h"

#include <cstdlib>

#include "fattn/Error.h"

namespace fattn::numerics {

const std::string& testedTarget() {
  static const std::string target = [] {
    const char* name = std::getenv("FATTN_NUMERICS_TARGET");
    return std::string(name != nullptr && *name != '\0' ? name : "host");
  }();
  return target;
}

std::string missingDevice() try {
  openDevice(testedTarget());
  return "";
} catch (const Error& error) {
  if (error.code() != ErrorCode::NoDevice) throw;
  return error.what();
}

OnDevice::OnDevice(Device& device, StridedTensor& tensor) : device_(device), tensor_(tensor), memory_(tensor.memory().data()) {
  if (device.kind() == DeviceKind::Host) return;
  owned_ = {device.allocate(tensor.memory().size()), [&device](void* memory) { device.free(memory); }};
  memory_ = static_cast<std::byte*>(owned_.get());
  device.copy(memory_, tensor.memory().data(), tensor.memory().size());
}

void OnDevice::fetch() {
  if (!owned_) return;
  device_.copy(tensor_.memory().data(), memory_, tensor_.memory().size());
  device_.synchronize();
}

}  // namespace fattn::numerics
