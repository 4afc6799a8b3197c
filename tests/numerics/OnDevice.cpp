// SPDX-License-Identifier: Apache-2.0
#include "tests/numerics/OnDevice.h"

#include <cstdlib>
#include <tuple>

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

OnDevice::OnDevice(Device& device, StridedTensor& tensor)
    : device_(device), tensor_(tensor), end_(tensor.memory().size()), memory_(tensor.memory().data()) {
  if (device.kind() == DeviceKind::Host) return;
  if (device.kind() == DeviceKind::Simulated) std::tie(begin_, end_) = tensor.extent();
  constexpr std::size_t kAlignment = 256;  // of what a device allocates
  const std::size_t skipped = begin_ / kAlignment * kAlignment;
  owned_ = {device.allocate(end_ - skipped), [&device](void* memory) { device.free(memory); }};
  memory_ = static_cast<std::byte*>(owned_.get()) - skipped;
  device.copy(memory_ + begin_, tensor.memory().data() + begin_, end_ - begin_);
}

void OnDevice::fetch() {
  if (!owned_) return;
  device_.copy(tensor_.memory().data() + begin_, memory_ + begin_, end_ - begin_);
  device_.synchronize();
}

}  // namespace fattn::numerics
