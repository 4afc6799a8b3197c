// SPDX-License-Identifier: Apache-2.0
// Whether two strided tensors share memory: for those who write functions that launch kernels, whose programs read and write in no order.
#ifndef FATTN_OVERLAP_H
#define FATTN_OVERLAP_H

#include "fattn/TensorView.h"

namespace fattn {

/// Whether the stretches of memory that two tensors span, of so many bytes each, lie apart: nearly all do.
inline bool areApart(const TensorView& a, std::int64_t aBytes, const TensorView& b, std::int64_t bBytes) {
  const auto aBegin = reinterpret_cast<std::uintptr_t>(a.data), bBegin = reinterpret_cast<std::uintptr_t>(b.data);
  return aBegin - bBegin >= static_cast<std::uintptr_t>(bBytes) && bBegin - aBegin >= static_cast<std::uintptr_t>(aBytes);
}

/// Whether any byte belongs to an element of both. `bytes` are what checkedBytes() gave, neither negative; strides of extents above 1 are
/// not negative. Interleaved tensors are told from overlapping ones: the strides' combinations are searched, largest first, which takes a
/// few steps where each stride steps over what the smaller ones cover. What is not decided after 4096 steps counts as shared.
bool shareMemory(const TensorView& a, std::int64_t aBytes, const TensorView& b, std::int64_t bBytes);

/// Whether each element of `a` is where the element of the same index of `b` is, but for the last dimension.
bool haveSameRows(const TensorView& a, const TensorView& b);

}  // namespace fattn

#endif
