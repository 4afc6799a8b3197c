// SPDX-License-Identifier: Apache-2.0
// The host as a device: object files linked into this process, grids on a thread pool.
#ifndef FATTN_RUNTIME_HOST_HOSTDEVICE_H
#define FATTN_RUNTIME_HOST_HOSTDEVICE_H

#include "fattn/Device.h"

namespace fattn::host {

/// The host device. Made at the first call and never destroyed, so that launches from other objects' destructors work.
Device& device();

}  // namespace fattn::host

#endif
