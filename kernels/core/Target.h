// SPDX-License-Identifier: Apache-2.0
// From the target that a caller names to the device and to the code for it.
#ifndef FATTN_KERNELS_CORE_TARGET_H
#define FATTN_KERNELS_CORE_TARGET_H

#include <string>
#include <string_view>

#include "fattn/Device.h"
#include "fattn/Target.h"

namespace fattn::kernels {

/// The name of the device that target "" means.
const std::string& defaultTarget();

/// What the compiler is asked for to run on a target: that of the device, or the newest chip it knows whose code the device runs.
std::string codeTarget(const std::string& target);

/// A target, resolved once: what lies behind it asks neither for the device nor for the chip again.
struct ResolvedTarget {
  ResolvedTarget() = default;
  /// Of what a user names. Throws Error where nothing can be compiled for it: NoDevice, InvalidArgument, Unsupported.
  ResolvedTarget(std::string_view asked);
  ResolvedTarget(const std::string& asked) : ResolvedTarget(std::string_view(asked)) {}
  ResolvedTarget(const char* asked) : ResolvedTarget(std::string_view(asked)) {}

  std::string name;          ///< in full: "host", "cuda:0", "nvidia:sm_90"
  std::string code;          ///< what the compiler is asked for: "host", "nvidia:sm_90a"
  Device* device = nullptr;  ///< none where the target is a chip

  bool isChip() const { return device == nullptr; }
  bool isHost() const { return device != nullptr && device->kind() == DeviceKind::Host; }
};
Machine machineOf(const ResolvedTarget& target);

}  // namespace fattn::kernels

#endif
