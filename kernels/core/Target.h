// SPDX-License-Identifier: Apache-2.0
// From the target that a caller names to the device and to the code for it.
#ifndef FATTN_KERNELS_CORE_TARGET_H
#define FATTN_KERNELS_CORE_TARGET_H

#include <string>

#include "fattn/Target.h"

namespace fattn::kernels {

/// The name of the device that target "" means.
const std::string& defaultTarget();

/// What the compiler is asked for to run on a resolved target: that of the device, or the newest chip it knows whose code the device runs.
std::string codeTarget(const std::string& target);

}  // namespace fattn::kernels

#endif
