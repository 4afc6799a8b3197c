// SPDX-License-Identifier: Apache-2.0
// A strided view of memory somebody else owns.
#ifndef FATTN_TENSOR_VIEW_H
#define FATTN_TENSOR_VIEW_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "fattn/DType.h"

namespace fattn {

/// Element (i, j, ...) of a view lies at data + (i * strides[0] + j * strides[1] + ...) * sizeInBytes(dtype).
/// Strides count elements, not bytes. A view is a plain value: it owns nothing, copying it copies no element, and the
/// memory must live on the device the kernel runs on until the kernel has finished. Kernels never write through the
/// views of their inputs, so that a view may be made from a pointer to const.
struct TensorView {
  static constexpr int kMaxRank = 6;

  void* data = nullptr;
  DType dtype = DType::F32;
  int rank = 0;
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};

  TensorView() = default;
  /// Any strides. Throws Error{InvalidArgument} when the lists differ in length or are longer than kMaxRank.
  TensorView(const void* memory, DType dtype, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);
  TensorView(const void* memory, DType dtype, std::initializer_list<std::int64_t> shape, std::initializer_list<std::int64_t> strides)
      : TensorView(memory, dtype, std::span(shape.begin(), shape.size()), std::span(strides.begin(), strides.size())) {}
  /// Row-major, without gaps.
  TensorView(const void* memory, DType dtype, std::span<const std::int64_t> shape);
  TensorView(const void* memory, DType dtype, std::initializer_list<std::int64_t> shape)
      : TensorView(memory, dtype, std::span(shape.begin(), shape.size())) {}

  /// The same elements with dimensions a and b exchanged; view({B, S, H, D}).transposed(1, 2) is a view of shape B, H, S, D.
  TensorView transposed(int a, int b) const;
  /// Entries [begin, begin + extent) of one dimension: a slice of a packed tensor, or of a longer buffer.
  TensorView narrowed(int dimension, std::int64_t begin, std::int64_t extent) const;
  /// Number of elements: the product of the shape (1 for rank 0). Meaningful after checkedBytes() succeeded.
  std::int64_t elements() const;
  /// Bytes from the first element's begin to the last one's end; 0 where a dimension is 0; -1 where an extent is
  /// negative or the figure does not fit 63 bits.
  std::int64_t checkedBytes() const;
  /// "bf16 [2, 8, 1024, 128] strides [1048576, 131072, 128, 1]"
  std::string toString() const;
};

}  // namespace fattn

#endif
