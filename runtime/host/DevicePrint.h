// SPDX-License-Identifier: Apache-2.0
// What tile.device_print becomes on the host.
#ifndef FATTN_RUNTIME_HOST_DEVICEPRINT_H
#define FATTN_RUNTIME_HOST_DEVICEPRINT_H

#include <cstdint>

/// Compiled code calls this once for each printed value (once with dtype -1 where a print has no values). `grid`: the six
/// integers the program got; `prefix`: zero-terminated; `dtype`: the number of a fattn::DType; `rank` extents at `shape`;
/// the elements row-major at `data`. Writes whole lines to standard output, so that programs do not mix within one. Throws nothing.
extern "C" void fattn_device_print(const std::int32_t* grid, const char* prefix, std::int32_t dtype, std::int32_t rank,
                                   const std::int64_t* shape, const void* data);

#endif
