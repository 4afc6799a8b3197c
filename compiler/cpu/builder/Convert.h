// SPDX-License-Identifier: Apache-2.0
// Conversions between element types, with the host's instructions where it has them and integer arithmetic where not.
#ifndef FATTN_COMPILER_CPU_BUILDER_CONVERT_H
#define FATTN_COMPILER_CPU_BUILDER_CONVERT_H

#include "compiler/cpu/builder/HostBuilder.h"

namespace fattn::cpu {

/// A scalar or vector with elements of type `to`. Integers keep their sign, booleans become 0 and 1.
mlir::Value convert(HostBuilder& b, mlir::Value v, mlir::Type to);
/// Any floating-point type as f32.
mlir::Value floatToF32(HostBuilder& b, mlir::Value v);

}  // namespace fattn::cpu

#endif
