// SPDX-License-Identifier: Apache-2.0
#include "tests/numerics/StridedTensor.h"

#include <algorithm>
#include <cstring>

#include "tools/io/Convert.h"

namespace fattn::numerics {

namespace {

constexpr std::byte kUnused{0xff};
constexpr std::int64_t kGuard = 256;  // bytes before and after

}  // namespace

std::string_view name(Placement placement) {
  return placement == Placement::Bhsd ? "bhsd" : placement == Placement::Bshd ? "bshd" : "gaps";
}

StridedTensor::StridedTensor(DType dtype, std::vector<std::int64_t> shape, Placement placement)
    : dtype_(dtype), shape_(std::move(shape)), strides_(shape_.size()), origin_(kGuard) {
  // From the innermost dimension outwards; the last one of four stays contiguous, as kernels demand.
  std::vector<std::size_t> order(shape_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  const std::size_t row = shape_.size() == 4 ? 1 : 0;
  if (placement == Placement::Bshd) std::swap(order[row], order[row + 1]);
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (placement == Placement::Gaps && i >= row) stride += 3 + 2 * static_cast<std::int64_t>(i);
    strides_[order[i]] = stride;
    stride *= shape_[order[i]];
    elements_ *= shape_[order[i]];
  }
  bytes_.assign(static_cast<std::size_t>(stride * sizeInBytes(dtype_) + 2 * kGuard), kUnused);
}

std::int64_t StridedTensor::offset(std::int64_t n) const {
  std::int64_t index = 0;
  for (std::size_t i = shape_.size(); i-- > 0; n /= shape_[i]) index += n % shape_[i] * strides_[i];
  return origin_ + index * sizeInBytes(dtype_);
}

void StridedTensor::fill(const io::HostTensor& dense) {
  // Rows of four-dimensional tensors are contiguous on both sides.
  const std::int64_t run = shape_.size() == 4 ? shape_[3] : 1, size = sizeInBytes(dtype_);
  for (std::int64_t n = 0; n < elements_; n += run)
    std::memcpy(bytes_.data() + offset(n), dense.data() + n * size, static_cast<std::size_t>(run * size));
}

void StridedTensor::clear() { std::ranges::fill(bytes_, kUnused); }

std::pair<std::size_t, std::size_t> StridedTensor::extent() const {
  return {static_cast<std::size_t>(origin_), static_cast<std::size_t>(offset(elements_ - 1) + sizeInBytes(dtype_))};
}

float StridedTensor::at(std::int64_t n) const { return io::loadFloat(dtype_, bytes_.data() + offset(n)); }

std::int64_t StridedTensor::touchedGapBytes() const {
  std::vector<bool> used(bytes_.size());
  for (std::int64_t n = 0; n < elements_; ++n) std::fill_n(used.begin() + offset(n), sizeInBytes(dtype_), true);
  std::int64_t touched = 0;
  for (std::size_t i = 0; i < bytes_.size(); ++i) touched += !used[i] && bytes_[i] != kUnused ? 1 : 0;
  return touched;
}

}  // namespace fattn::numerics
