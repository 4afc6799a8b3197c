// SPDX-License-Identifier: Apache-2.0
// The host as a device: object files linked into this process, grids on a thread pool.
#ifndef FATTN_RUNTIME_HOST_HOSTDEVICE_H
#define FATTN_RUNTIME_HOST_HOSTDEVICE_H

#include "fattn/Device.h"

namespace fattn::host {

/// Throws Error{NoDevice} unless this processor runs code for `target`: "host", or one of the levels "host:sse2", "host:avx2",
/// "host:avx512", "host:avx512bf16".
void requireTarget(std::string_view target);

/// The host device. Made at the first call and never destroyed, so that launches from other objects' destructors work.
Device& device();

}  // namespace fattn::host

#endif
