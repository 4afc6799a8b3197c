// SPDX-License-Identifier: Apache-2.0
// What the IR proves about the divisibility of integers and the alignment of addresses: how wide a memory access may be.
//
// Facts come from `tile.divisibility` of arguments, `tile.assume_divisible`, constants and arithmetic; loops' counters from start and step,
// carried values from all that they may be. Only powers of two are followed: integers wrap, and these survive it.
#ifndef FATTN_COMPILER_TRANSFORMS_DIVISIBILITY_H
#define FATTN_COMPILER_TRANSFORMS_DIVISIBILITY_H

#include <optional>

#include "mlir/IR/Value.h"

namespace fattn::transforms {

/// Stands for any power of two: zero is a multiple of all.
inline constexpr int64_t kMostDivisible = int64_t{1} << 30;

/// The largest power of two that the integer is proven to be a multiple of; at least 1, at most kMostDivisible.
int64_t divisibilityOf(mlir::Value integer);

/// Bytes. Of a pointer: what its address is a multiple of, at least the pointee's size. Of a block pointer: what the first element of every
/// line of its window is aligned to: base, strides and the offsets along them, and the offset along the contiguous dimension, if there is
/// one.
int64_t alignmentOf(mlir::Value pointer);

/// The dimension of a block pointer whose stride is the constant 1, the last such; nothing if there is none.
std::optional<int> contiguousDim(mlir::Value blockPtr);
/// Whether that is the last dimension.
bool isContiguous(mlir::Value blockPtr);

/// The widest access in bytes, a power of two up to `maxBytes`, that is aligned and stays within the window: the size of one element where
/// no dimension is contiguous. `extents`, where given, are the part of the window that is accessed. The array may end within such a vector
/// (mayEndWithin).
int64_t accessBytes(mlir::Value blockPtr, llvm::ArrayRef<int64_t> extents = {}, int64_t maxBytes = 16);

/// Whether the array may end within a vector of that many bytes: its extent along the contiguous dimension is checked, and not proven to
/// be a multiple.
bool mayEndWithin(mlir::Value blockPtr, llvm::ArrayRef<int64_t> boundaryCheck, int64_t bytes);

}  // namespace fattn::transforms

#endif
