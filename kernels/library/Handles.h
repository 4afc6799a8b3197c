// SPDX-License-Identifier: Apache-2.0
// The kernels that calls have compiled: a call without a handle of its own finds its kernel here.
#ifndef FATTN_KERNELS_LIBRARY_HANDLES_H
#define FATTN_KERNELS_LIBRARY_HANDLES_H

#include <cstdint>
#include <span>
#include <string_view>

#include "fattn/Template.h"

namespace fattn::kernels {

/// By template, target and a number that says which parameters. Compiles the template for make(kind) and these extents where no call has
/// before: kinds differ where the tiles for their extents do (KernelTemplate::tileFor). Thread-safe; what is there is found without
/// allocation, and stays.
const TemplateKernel& handleOf(const KernelTemplate& from, std::uint32_t kind, std::string_view target, Parameters (*make)(std::uint32_t),
                               std::span<const std::int64_t> extents = {});

}  // namespace fattn::kernels

#endif
