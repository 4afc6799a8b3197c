// SPDX-License-Identifier: Apache-2.0
// Functions of math on f32 that every machine builds from the same few instructions.
#ifndef FATTN_COMPILER_GPU_LOWER_MATHFUNCTIONS_H
#define FATTN_COMPILER_GPU_LOWER_MATHFUNCTIONS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fattn::gpu {

/// What a machine has one instruction for.
using MathFunction = llvm::function_ref<mlir::Value(mlir::Value)>;

/// A polynomial up to 0.6 (0.8 ulp, fitted to the relative error), else 1 - 2 / (1 + e^2|x|).
mlir::Value tanh(mlir::ImplicitLocOpBuilder& b, mlir::Value x, MathFunction exp2, MathFunction reciprocal);

}  // namespace fattn::gpu

#endif
