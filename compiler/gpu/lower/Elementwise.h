// SPDX-License-Identifier: Apache-2.0
// 8-bit floating-point numbers, which are i8 in registers, from and to f32.
#ifndef FATTN_COMPILER_GPU_LOWER_ELEMENTWISE_H
#define FATTN_COMPILER_GPU_LOWER_ELEMENTWISE_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fattn::gpu {

bool isFloat8(mlir::Type element);
/// Exact.
mlir::Value fromFloat8(mlir::ImplicitLocOpBuilder& b, mlir::Value bits, mlir::Type float8);
/// Rounded to nearest even; beyond the largest number infinity, or NaN in a type that has no infinity.
mlir::Value toFloat8(mlir::ImplicitLocOpBuilder& b, mlir::Value f32, mlir::Type float8);

}  // namespace fattn::gpu

#endif
