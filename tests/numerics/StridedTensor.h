// SPDX-License-Identifier: Apache-2.0
// Test tensors of logical shape batch, head, row, column that lie in memory in some order, with or without gaps.
#ifndef FATTN_TESTS_NUMERICS_STRIDEDTENSOR_H
#define FATTN_TESTS_NUMERICS_STRIDEDTENSOR_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "fattn/TensorView.h"
#include "tools/io/HostTensor.h"

namespace fattn::numerics {

enum class Placement {
  Bhsd,  ///< batch, head, row, column; dense
  Bshd,  ///< batch, row, head, column; dense
  Gaps,  ///< batch, head, row, column; odd numbers of unused elements after each row, head and batch entry, and around the whole
};
inline constexpr std::array kPlacements = {Placement::Bhsd, Placement::Bshd, Placement::Gaps};
std::string_view name(Placement placement);

/// A tensor whose every byte that belongs to no element (gaps, and guards before and after) holds 0xff: NaN where it is read as a number,
/// and noticed where it is written.
class StridedTensor {
 public:
  /// `shape`: 4 dimensions, or 3 (the last one then is the row).
  StridedTensor(DType dtype, std::vector<std::int64_t> shape, Placement placement);

  /// The elements from a dense row-major tensor of the same shape and type.
  void fill(const io::HostTensor& dense);
  /// All elements 0xff too.
  void clear();
  TensorView view() const { return viewAt(bytes_.data()); }
  /// The same for a copy of memory() elsewhere.
  TensorView viewAt(const std::byte* memory) const { return {memory + origin_, dtype_, shape_, strides_}; }
  /// Of memory(): the first byte of an element, and the end of the last one.
  std::pair<std::size_t, std::size_t> extent() const;
  /// Everything: elements, gaps and guards.
  std::span<std::byte> memory() { return bytes_; }
  /// Element n, counted row-major, as float.
  float at(std::int64_t n) const;
  /// Bytes outside the elements that no longer hold 0xff.
  std::int64_t touchedGapBytes() const;

 private:
  std::int64_t offset(std::int64_t n) const;  ///< of element n in bytes_

  DType dtype_;
  std::vector<std::int64_t> shape_, strides_;
  std::int64_t elements_ = 1, origin_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace fattn::numerics

#endif
