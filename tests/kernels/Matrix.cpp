// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/io/Convert.h"
#include "tools/io/Random.h"

namespace fattn::examples {
namespace {

constexpr std::byte kGap{0x5a};
constexpr std::int64_t kPadding = 5, kAlignment = 16, kPlace = 256;

}  // namespace

Matrix::Matrix(DType dtype, std::int64_t rows, std::int64_t columns, Layout layout) : dtype_(dtype), rows_(rows), columns_(columns) {
  switch (layout) {
    case Layout::Dense:
      rowStride_ = columns, columnStride_ = 1;
      break;
    case Layout::Padded:
      rowStride_ = columns + kPadding, columnStride_ = 1;
      break;
    case Layout::Transposed:
      rowStride_ = 1, columnStride_ = rows + kPadding;
      break;
    case Layout::Spread:
      rowStride_ = columns * 3 + kPadding, columnStride_ = 3;
      break;
    case Layout::Aligned:
      rowStride_ = (columns * sizeInBytes(dtype) / kAlignment + 1) * kAlignment / sizeInBytes(dtype), columnStride_ = 1;
      break;
    case Layout::Shifted:
      rowStride_ = columns, columnStride_ = 1, misalignment_ = sizeInBytes(dtype);
      break;
  }
  const std::int64_t bytes = sizeInBytes(dtype);
  const std::int64_t elements = (rows - 1) * rowStride_ + (columns - 1) * columnStride_ + 1;
  bytes_.assign(static_cast<std::size_t>(kPlace + misalignment_ + elements * bytes + kGuard), kGap);
  const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
  front_ = static_cast<std::size_t>(kPlace - static_cast<std::int64_t>(address % kPlace) + misalignment_);
  bytes_.resize(front_ + static_cast<std::size_t>(elements * bytes + kGuard));
}

std::int64_t Matrix::offset(std::int64_t row, std::int64_t column) const {
  return static_cast<std::int64_t>(front_) + (row * rowStride_ + column * columnStride_) * sizeInBytes(dtype_);
}

Matrix& Matrix::fill(std::uint64_t seed, double scale) {
  std::vector<float> numbers(static_cast<std::size_t>(rows_ * columns_));
  io::normal(seed, 0, 0, numbers.data(), rows_ * columns_);
  for (float& number : numbers) number *= static_cast<float>(scale);
  for (std::int64_t i = 0; i < rows_ * columns_; ++i)
    io::fromFloat(dtype_, &numbers[static_cast<std::size_t>(i)], &bytes_[static_cast<std::size_t>(offset(i / columns_, i % columns_))], 1);
  return *this;
}

Matrix& Matrix::fillZero() {
  for (std::int64_t row = 0; row < rows_; ++row)
    for (std::int64_t column = 0; column < columns_; ++column)
      std::fill_n(bytes_.begin() + offset(row, column), sizeInBytes(dtype_), std::byte{0});
  return *this;
}

void Matrix::set(std::int64_t row, std::int64_t column, float number) {
  io::fromFloat(dtype_, &number, &bytes_[static_cast<std::size_t>(offset(row, column))], 1);
}

double Matrix::at(std::int64_t row, std::int64_t column) const {
  return io::loadFloat(dtype_, &bytes_[static_cast<std::size_t>(offset(row, column))]);
}

bool Matrix::gapsUntouched() const {
  std::vector<bool> owned(bytes_.size());
  for (std::int64_t row = 0; row < rows_; ++row)
    for (std::int64_t column = 0; column < columns_; ++column)
      for (std::int64_t byte = 0; byte < sizeInBytes(dtype_); ++byte) owned[static_cast<std::size_t>(offset(row, column) + byte)] = true;
  for (std::size_t i = 0; i < bytes_.size(); ++i)
    if (!owned[i] && bytes_[i] != kGap) return false;
  return true;
}

std::vector<double> Matrix::values() const {
  std::vector<double> all;
  all.reserve(static_cast<std::size_t>(rows_ * columns_));
  for (std::int64_t row = 0; row < rows_; ++row)
    for (std::int64_t column = 0; column < columns_; ++column) all.push_back(at(row, column));
  return all;
}

double Matrix::relativeError(const std::vector<double>& want) const {
  double difference = 0, size = 0;
  const std::vector<double> got = values();
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i])) return std::numeric_limits<double>::infinity();
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  return std::sqrt(difference / size);
}

}  // namespace fattn::examples
