// SPDX-License-Identifier: Apache-2.0
// A strided matrix in host memory with gaps that a kernel must not touch.
#ifndef FATTN_TESTS_KERNELS_MATRIX_H
#define FATTN_TESTS_KERNELS_MATRIX_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fattn/DType.h"

namespace fattn::examples {

/// How a matrix lies in memory.
enum class Layout : std::uint8_t {
  Dense,       ///< row after row
  Padded,      ///< rows with a gap behind each
  Transposed,  ///< column after column, with a gap behind each
  Spread,      ///< a gap behind every element
  Aligned,     ///< rows that begin at multiples of 16 bytes, with a gap behind each
  Shifted,     ///< row after row, the first one an element behind a multiple of 16 bytes
};

class Matrix {
 public:
  Matrix(DType dtype, std::int64_t rows, std::int64_t columns, Layout layout = Layout::Dense);

  /// Normal random numbers times `scale`, the same for the same seed.
  Matrix& fill(std::uint64_t seed, double scale = 1);
  Matrix& fillZero();
  /// The number, rounded to the element type.
  void set(std::int64_t row, std::int64_t column, float number);
  double at(std::int64_t row, std::int64_t column) const;

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t rowStride() const { return rowStride_; }
  std::int64_t columnStride() const { return columnStride_; }
  /// The first element lies at a multiple of 256 and so many bytes.
  void* data() { return bytes_.data() + front_; }
  std::int64_t misalignment() const { return misalignment_; }
  std::int64_t size() const { return sizeWithGuard() - kGuard; }
  /// With bytes behind the last element that belong to the gaps.
  std::int64_t sizeWithGuard() const { return static_cast<std::int64_t>(bytes_.size() - front_); }

  /// Whether all bytes that belong to no element are as they were made.
  bool gapsUntouched() const;
  /// All elements, row after row.
  std::vector<double> values() const;
  /// sqrt(sum (this - want)^2 / sum want^2); infinity where an element is not finite.
  double relativeError(const std::vector<double>& want) const;

 private:
  static constexpr std::int64_t kGuard = 64;
  std::int64_t offset(std::int64_t row, std::int64_t column) const;

  DType dtype_;
  std::int64_t rows_, columns_, rowStride_, columnStride_;
  std::int64_t misalignment_ = 0;
  std::vector<std::byte> bytes_;
  std::size_t front_ = 0;  ///< bytes before the first element, so that it lies where it should
};

}  // namespace fattn::examples

#endif
