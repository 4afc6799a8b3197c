// SPDX-License-Identifier: Apache-2.0
// A strided matrix in host memory with gaps that a kernel must not touch.
#ifndef FATTN_TESTS_KERNELS_MATRIX_H
#define FATTN_TESTS_KERNELS_MATRIX_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "fattn/DType.h"

namespace fattn::examples {

/// How a matrix lies in memory.
enum class Layout : std::uint8_t {
  Dense,       ///< row after row
  Padded,      ///< rows with a gap behind each
  Transposed,  ///< column after column, with a gap behind each
  Spread,      ///< a gap behind every element
};

class Matrix {
 public:
  Matrix(DType dtype, std::int64_t rows, std::int64_t columns, Layout layout = Layout::Dense);

  /// Normal random numbers, the same for the same seed.
  Matrix& fill(std::uint64_t seed);
  double at(std::int64_t row, std::int64_t column) const;

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t rowStride() const { return rowStride_; }
  std::int64_t columnStride() const { return columnStride_; }
  void* data() { return bytes_.data(); }
  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size()); }

  /// Whether all bytes that belong to no element are as they were made.
  bool gapsUntouched() const;
  /// sqrt(sum (this - want)^2 / sum want^2); infinity where an element is not finite.
  double relativeError(const std::function<double(std::int64_t row, std::int64_t column)>& want) const;

 private:
  std::int64_t offset(std::int64_t row, std::int64_t column) const;

  DType dtype_;
  std::int64_t rows_, columns_, rowStride_, columnStride_;
  std::vector<std::byte> bytes_;
};

}  // namespace fattn::examples

#endif
