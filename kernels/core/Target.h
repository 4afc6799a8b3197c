// SPDX-License-Identifier: Apache-2.0
// From the target that a caller names to the device and to the code for it.
#ifndef FATTN_KERNELS_CORE_TARGET_H
#define FATTN_KERNELS_CORE_TARGET_H

#include <string>
#include <string_view>

#include "runtime/base/TargetName.h"

namespace fattn::kernels {

/// The name of the device that target "" means.
const std::string& defaultTarget();

/// Whether a target names a chip, for which code can be made without a device.
inline bool namesChip(std::string_view target) { return parseTarget(target).isChip(); }
inline bool namesHost(std::string_view target) { return parseTarget(target).isHost(); }

/// The full name: of "" the default's, of "cuda" "cuda:0". Throws where there is no such device.
std::string resolveTarget(const std::string& target);

/// What the compiler is asked for to run on a resolved target: that of the device, or the newest chip it knows whose code the device runs.
std::string codeTarget(const std::string& target);

/// Throws Error where nothing can be compiled for a target.
void requireTarget(const std::string& target);

}  // namespace fattn::kernels

#endif
