// SPDX-License-Identifier: Apache-2.0
// What emitted scalar code computes, without a GPU: it is emitted for constants, and MLIR folds it.
#ifndef FATTN_TESTS_UNIT_NVIDIA_FOLD_H
#define FATTN_TESTS_UNIT_NVIDIA_FOLD_H

#include <llvm/ADT/STLFunctionalExtras.h>

#include <cstdint>
#include <vector>

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fattn {

/// The integers that `emit` yields, in order. It emits into a function of `context`, whose dialects it uses must be loaded. Throws
/// std::runtime_error where a value does not fold to a constant.
std::vector<std::uint32_t> folded(mlir::MLIRContext& context,
                                  llvm::function_ref<std::vector<mlir::Value>(mlir::ImplicitLocOpBuilder&)> emit);

/// An f32 constant of these bits.
mlir::Value floatOfBits(mlir::ImplicitLocOpBuilder& b, std::uint32_t bits);

}  // namespace fattn

#endif
