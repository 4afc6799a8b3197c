// SPDX-License-Identifier: Apache-2.0
// What CUDA's and HIP's devices have in common: a vendor's library that is opened at run time, and targets of the form "cuda:1".
#ifndef FATTN_RUNTIME_GPU_DRIVERLIBRARY_H
#define FATTN_RUNTIME_GPU_DRIVERLIBRARY_H

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/TargetName.h"

namespace fattn {

/// Opens the first of these libraries that is there, and puts its name into `opened`. It is never closed: its threads and its handlers for
/// the end of the process stay. Throws Error{NoDevice} that says `none` ("there is no NVIDIA driver"), what was looked for, and `hint`.
void* openDriverLibrary(const std::vector<std::string>& names, std::string& opened, const std::string& none, const std::string& hint);

/// The number of a target: N of "cuda:N" where `kind` is "cuda", 0 of "cuda". Allocates nothing. Throws Error{InvalidArgument} with `hint`
/// for anything else.
int ordinalOf(std::string_view target, TargetKind kind, std::string_view hint);

}  // namespace fattn

#endif
