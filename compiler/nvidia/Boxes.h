// SPDX-License-Identifier: Apache-2.0
// What copies by boxes and stores by boxes have in common: lines of PTX, a branch, and where a window lies in the array of a tensor map.
#ifndef FATTN_COMPILER_NVIDIA_BOXES_H
#define FATTN_COMPILER_NVIDIA_BOXES_H

#include <string>

#include "compiler/gpu/lower/Lowering.h"

namespace fattn::nvidia {

/// Inline PTX with side effects and one result, or none where `type` is null.
mlir::Value assembly(gpu::Lowering& to, mlir::Type type, mlir::ValueRange operands, const std::string& text, llvm::StringRef constraints);

/// Calls `emit` in a branch that is taken where `condition` holds.
void inBranch(gpu::Lowering& to, mlir::Value condition, llvm::function_ref<void()> emit);

/// The tensor map that an operation names by its number.
mlir::DictionaryAttr tensorMapOf(mlir::Operation* op, uint64_t number);

/// The window's place along a dimension as the engine takes it: what lies beyond an i32 lies outside of every array.
mlir::Value coordinate(gpu::Lowering& to, mlir::Value offset);

/// The coordinates beyond the window's own. Along a stride of 0 there is but one place, and the launch's map has another stride.
llvm::SmallVector<mlir::Value> furtherCoordinates(gpu::Lowering& to, mlir::Operation* op, mlir::ValueRange coordinates,
                                                  mlir::DictionaryAttr map);

}  // namespace fattn::nvidia

#endif
