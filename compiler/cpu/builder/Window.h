// SPDX-License-Identifier: Apache-2.0
// The window of an array that a block pointer stands for, and its edges.
#ifndef FATTN_COMPILER_CPU_BUILDER_WINDOW_H
#define FATTN_COMPILER_CPU_BUILDER_WINDOW_H

#include "compiler/cpu/builder/HostBuilder.h"
#include "compiler/cpu/builder/View.h"

namespace fattn::cpu {

/// The window as it lies in the array.
View windowOf(HostBuilder& b, const BlockPtr& ptr, llvm::ArrayRef<int64_t> shape);
/// True where the whole window lies inside the array in the dimensions named.
mlir::Value liesInside(HostBuilder& b, const BlockPtr& ptr, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> shape);
/// Which elements at a point are in the window and, in the dimensions named, inside the array. Null: all.
mlir::Value existingAt(HostBuilder& b, const BlockPtr& ptr, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> shape, const Point& p);

}  // namespace fattn::cpu

#endif
