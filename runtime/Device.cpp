// SPDX-License-Identifier: Apache-2.0
// Finds devices by target string.
#include "fattn/Device.h"

#include "fattn/Error.h"
#include "runtime/host/HostDevice.h"

namespace fattn {

std::string_view name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::Cuda:
      return "cuda";
    case DeviceKind::Hip:
      return "hip";
    case DeviceKind::Host:
      break;
  }
  return "host";
}

std::vector<Device*> listDevices() { return {&host::device()}; }

Device& openDevice(std::string_view target) {
  std::vector<Device*> devices = listDevices();
  if (target.empty()) return *devices.front();
  std::string known;
  for (Device* device : devices) {
    if (device->name() == target) return *device;
    if (device->kind() == DeviceKind::Host && target.starts_with("host:")) {
      host::requireTarget(target);
      return *device;
    }
    known.append(known.empty() ? "" : ", ").append(device->name());
  }
  throw Error(ErrorCode::NoDevice, "there is no device for target '" + std::string(target) + "'", "devices of this machine: " + known);
}

}  // namespace fattn
