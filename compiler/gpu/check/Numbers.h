// SPDX-License-Identifier: Apache-2.0
// Scalar integers of one run, and the windows into global memory that follow from them.
#ifndef FATTN_COMPILER_GPU_CHECK_NUMBERS_H
#define FATTN_COMPILER_GPU_CHECK_NUMBERS_H

#include <array>

#include "mlir/IR/Operation.h"

namespace fattn::check {

/// An integer, sign-extended from its type's width; or one that depends on data.
struct Number {
  std::int64_t value = 0;
  bool known = false;
  bool operator==(const Number&) const = default;
};

/// What a pointer or a block pointer leads to.
struct Window {
  static constexpr int kMostDims = 4;
  int array = -1;    ///< the argument; -1 where it may be any
  Number base = {};  ///< elements from the argument to the array's start
  int rank = -1;     ///< -1: elements here and there, or a single pointer
  std::array<Number, kMostDims> offsets = {};
  std::array<std::int64_t, kMostDims> sizes = {};
  std::uint64_t extents = 0;  ///< a hash of shape and strides
  bool noAlias = false;       ///< nothing that is written is reached through another argument as well
  bool inPlace = false;       ///< what is reached through another argument as well is the same window
  bool sameArray(const Window& other) const {
    return array == other.array && array >= 0 && base == other.base && base.known && rank == other.rank && extents == other.extents;
  }
  /// The same elements, and they are known.
  bool operator==(const Window& other) const;
  /// The same is known, and the same is not known: these may be different elements.
  bool saysTheSame(const Window& other) const;
};

/// Whether two accesses may have an element in common. Different arguments may lead to the same memory, but for those that promise not to.
bool mayOverlap(const Window& a, const Window& b);
/// Of different arguments of which one promises that where their windows overlap they are the same.
bool areInPlace(const Window& a, const Window& b);

/// The result of an operation of `arith` on integers.
Number evaluate(mlir::Operation* op, llvm::ArrayRef<Number> operands);

}  // namespace fattn::check

#endif
