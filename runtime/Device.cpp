// SPDX-License-Identifier: Apache-2.0
// Finds devices by target string.
#include "fattn/Device.h"

#include <cstdlib>

#include "fattn/Error.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/base/Log.h"
#include "runtime/base/TargetName.h"
#include "runtime/cuda/System.h"
#include "runtime/hip/HipDevice.h"
#include "runtime/host/HostDevice.h"
#include "runtime/simulated/SimulatedDevice.h"

namespace fattn {

std::string_view name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::Cuda:
      return "cuda";
    case DeviceKind::Hip:
      return "hip";
    case DeviceKind::Simulated:
      return "simulated";
    case DeviceKind::Host:
      break;
  }
  return "host";
}

std::vector<Device*> listDevices() {
  std::vector<Device*> devices;
  const Busy busy;  // drivers are opened, once
  try {
    for (const auto& device : cuda::System::instance().devices()) devices.push_back(device.get());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NoDevice) throw;
    log::write(log::Level::Debug, error.what());
  }
  try {
    for (const auto& device : hip::System::instance().devices()) devices.push_back(device.get());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NoDevice) throw;
    log::write(log::Level::Debug, error.what());
  }
  devices.push_back(&host::device());
  return devices;
}

// The GPUs are looked for only where they are asked for: opening a driver takes a good part of a second.
Device& openDevice(std::string_view target) {
  if (target.empty()) {
    const char* chosen = std::getenv("FATTN_TARGET");
    return chosen != nullptr && *chosen != '\0' ? openDevice(chosen) : *listDevices().front();
  }
  switch (const TargetName name = parseTarget(target); name.kind) {
    case TargetKind::Host:
      if (target != "host") host::requireTarget(target);
      return host::device();
    case TargetKind::Cuda: {
      cuda::ordinalOf(target);  // a name that no machine has is not blamed on this machine's driver
      const Busy busy;
      return cuda::System::instance().open(target);
    }
    case TargetKind::Hip: {
      hip::ordinalOf(target);
      const Busy busy;
      return hip::System::instance().open(target);
    }
    case TargetKind::Simulated:
    case TargetKind::Modelled:
      return simulated::open(target);
    case TargetKind::Nvidia:
    case TargetKind::Amd:
      throw Error(ErrorCode::InvalidArgument, "target '" + std::string(target) + "' names a chip to compile for, not a device",
                  name.kind == TargetKind::Nvidia
                      ? "the NVIDIA GPUs of this machine are 'cuda' (the first) or 'cuda:N'"
                      : "a GPU of AMD's is 'hip' or 'hip:N'; 'simulated:" + std::string(name.part) + "' executes its code on the CPU");
    case TargetKind::Default:
    case TargetKind::Unknown:
      break;
  }
  std::string known;
  for (Device* device : listDevices()) known.append(known.empty() ? "" : ", ").append(device->name());
  throw Error(ErrorCode::NoDevice, "there is no device for target '" + std::string(target) + "'",
              "devices of this machine: " + known + "; 'simulated:gfx942' has the CPU execute the code for a chip of AMD's");
}

}  // namespace fattn
