// SPDX-License-Identifier: Apache-2.0
// A layout written out: which element every register of every lane of every warp holds.
#ifndef FATTN_COMPILER_GPU_INTERPRETER_DISTRIBUTION_H
#define FATTN_COMPILER_GPU_INTERPRETER_DISTRIBUTION_H

#include <span>

#include "compiler/layout/LinearLayout.h"

namespace fattn::adversary {

/// Elements are numbered in row-major order. A warp's registers are numbered lane * registers + register.
class Distribution {
 public:
  explicit Distribution(const layout::LinearLayout& layout);

  /// Of a block, or of the warp group that owns the tile: warps of any number have the parts of their place in the group.
  int64_t warps() const { return warps_; }
  int64_t lanes() const { return lanes_; }
  int64_t registers() const { return registers_; }
  /// Of one warp.
  std::size_t size() const { return static_cast<std::size_t>(lanes_ * registers_); }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t elementCount() const { return static_cast<int64_t>(owners_.size()); }

  /// The element in each of the warp's registers.
  std::span<const int32_t> elements(int64_t warp) const {
    return std::span(elements_).subspan(static_cast<std::size_t>(warp % warps_) * size(), size());
  }
  /// The first of all threads that holds the element.
  int64_t ownerThread(int32_t element) const { return owners_[static_cast<std::size_t>(element)] / registers_; }
  /// Whether this register, of the warp's, is the first of all that hold its element.
  bool owns(int64_t warp, std::size_t index) const {
    auto place = static_cast<std::size_t>(warp % warps_) * size() + index;
    return owners_[static_cast<std::size_t>(elements_[place])] == static_cast<int64_t>(place);
  }
  /// Whether some element is held by more than one thread.
  bool hasCopies() const { return hasCopies_; }

 private:
  int64_t warps_, lanes_, registers_;
  std::vector<int64_t> shape_;
  std::vector<int32_t> elements_;
  std::vector<int64_t> owners_;  ///< the place of the first register of each element
  bool hasCopies_ = false;
};

/// The coordinates of an element of a tile of this shape.
std::vector<int64_t> coordinates(int64_t element, std::span<const int64_t> shape);
/// The number of the element at these coordinates.
int64_t elementAt(std::span<const int64_t> coordinates, std::span<const int64_t> shape);

}  // namespace fattn::adversary

#endif
