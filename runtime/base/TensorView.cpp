// SPDX-License-Identifier: Apache-2.0
#include "fattn/TensorView.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "fattn/Error.h"

namespace fattn {
namespace {

std::string listText(std::span<const std::int64_t> values) {
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

[[noreturn]] void fail(std::string constraint, std::string hint = "") {
  throw Error(ErrorCode::InvalidArgument, "tensor view: " + std::move(constraint), std::move(hint));
}

void checkDimension(int dimension, int rank) {
  if (dimension < 0 || dimension >= rank)
    fail("dimension " + std::to_string(dimension) + " of a tensor of rank " + std::to_string(rank),
         "legal dimensions are 0 to " + std::to_string(rank - 1));
}

}  // namespace

TensorView::TensorView(const void* memory, DType dtype, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides)
    : data(const_cast<void*>(memory)), dtype(dtype), rank(static_cast<int>(shape.size())) {
  if (shape.size() > kMaxRank)
    fail("rank " + std::to_string(shape.size()) + " of shape " + listText(shape), "the largest rank is " + std::to_string(kMaxRank));
  if (shape.size() != strides.size()) fail("shape " + listText(shape) + " and strides " + listText(strides) + " differ in length");
  std::ranges::copy(shape, this->shape.begin());
  std::ranges::copy(strides, this->strides.begin());
}

TensorView::TensorView(const void* memory, DType dtype, std::span<const std::int64_t> shape) : TensorView(memory, dtype, shape, shape) {
  std::uint64_t stride = 1;  // unsigned: an absurd shape wraps around here and is refused by checkedBytes()
  for (int d = rank - 1; d >= 0; --d) {
    strides[d] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(shape[d], 1));
  }
}

TensorView TensorView::transposed(int a, int b) const {
  checkDimension(a, rank);
  checkDimension(b, rank);
  TensorView view = *this;
  std::swap(view.shape[a], view.shape[b]);
  std::swap(view.strides[a], view.strides[b]);
  return view;
}

TensorView TensorView::narrowed(int dimension, std::int64_t begin, std::int64_t extent) const {
  checkDimension(dimension, rank);
  if (begin < 0 || extent < 0 || begin > shape[dimension] || extent > shape[dimension] - begin)
    fail("entries " + std::to_string(begin) + " to " + std::to_string(begin) + "+" + std::to_string(extent) + " of dimension " +
             std::to_string(dimension) + " of shape " + listText(std::span(shape).first(rank)),
         "a slice lies within 0 to " + std::to_string(shape[dimension]));
  TensorView view = *this;
  // An absurd stride wraps around here and is refused by checkedBytes().
  auto offset = static_cast<std::uint64_t>(begin) * static_cast<std::uint64_t>(strides[dimension]);
  offset *= static_cast<std::uint64_t>(sizeInBytes(dtype));
  view.data = static_cast<char*>(data) + static_cast<std::ptrdiff_t>(offset);
  view.shape[dimension] = extent;
  return view;
}

std::int64_t TensorView::elements() const {
  std::int64_t count = 1;
  for (int d = 0; d < rank; ++d) count *= shape[d];
  return count;
}

std::int64_t TensorView::checkedBytes() const {
  std::int64_t last = 0, elements = 1, bytes = 0;
  bool empty = false, overflow = false;
  for (int d = 0; d < rank; ++d) {
    if (shape[d] < 0) return -1;
    empty = empty || shape[d] == 0;
  }
  if (empty) return 0;
  for (int d = 0; d < rank; ++d) {
    std::int64_t span = 0;
    if (strides[d] == INT64_MIN) return -1;
    overflow |= __builtin_mul_overflow(shape[d] - 1, std::abs(strides[d]), &span);
    overflow |= __builtin_add_overflow(last, span, &last);
    overflow |= __builtin_mul_overflow(elements, shape[d], &elements);
  }
  overflow |= __builtin_add_overflow(last, 1, &last);
  overflow |= __builtin_mul_overflow(last, sizeInBytes(dtype), &bytes);
  return overflow ? -1 : bytes;
}

std::string TensorView::toString() const {
  return std::string(name(dtype)) + " " + listText(std::span(shape).first(rank)) + " strides " + listText(std::span(strides).first(rank));
}

}  // namespace fattn
