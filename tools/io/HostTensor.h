// SPDX-License-Identifier: Apache-2.0
// Tensors in host memory: an owned buffer with an element type, a shape and strides in elements. What files are read into, what random
// inputs are drawn into and what the reference computes from.
#ifndef FATTN_TOOLS_IO_HOSTTENSOR_H
#define FATTN_TOOLS_IO_HOSTTENSOR_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fattn/DType.h"

namespace fattn::io {

/// Elements of a shape, or of a shape in bytes; throws InvalidArgument naming `what` where a dimension is negative or the product
/// does not fit in 63 bits.
std::int64_t elementCount(const std::vector<std::int64_t>& shape, std::string_view what);
std::int64_t byteCount(const std::vector<std::int64_t>& shape, DType dtype, std::string_view what);

/// "2x8x128x64"; "scalar" for the empty shape.
std::string printShape(const std::vector<std::int64_t>& shape);
/// "3.2 GiB", "512 bytes".
std::string printBytes(std::int64_t bytes);
/// Untrusted text for a message: in double quotes, control and non-ASCII bytes escaped, cut after 80 characters.
std::string quote(std::string_view text);

/// Strides in elements of a dense tensor, last dimension contiguous (row major) or first (column major, Fortran order).
std::vector<std::int64_t> rowMajorStrides(const std::vector<std::int64_t>& shape);
std::vector<std::int64_t> columnMajorStrides(const std::vector<std::int64_t>& shape);

/// A strided look at four dimensions of somebody's memory, in the logical order batch, head, row, column; strides in elements.
/// Does not own; valid as long as the memory is.
struct View4 {
  std::byte* data = nullptr;
  DType dtype = DType::F32;
  std::array<std::int64_t, 4> shape{};
  std::array<std::int64_t, 4> strides{};

  std::byte* at(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const {
    return data + (b * strides[0] + h * strides[1] + s * strides[2] + d * strides[3]) * sizeInBytes(dtype);
  }
};

/// How the four dimensions lie in a file or a dense buffer.
enum class Layout : std::uint8_t { BHSD, BSHD };

/// Movable, not copyable; the buffer is 64-byte aligned and freed with the tensor.
class HostTensor {
 public:
  HostTensor() = default;
  /// Zeroed memory for a dense row-major tensor. Throws InvalidArgument where the size overflows, OutOfMemory (with the size and what
  /// the machine has) where it does not fit; `what` names the tensor in both messages.
  static HostTensor allocate(DType dtype, std::vector<std::int64_t> shape, std::string_view what = "the tensor");

  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  const std::vector<std::int64_t>& strides() const { return strides_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  std::int64_t elements() const { return elements_; }
  std::int64_t bytes() const { return elements_ * sizeInBytes(dtype_); }
  std::byte* data() { return buffer_.get(); }
  const std::byte* data() const { return buffer_.get(); }
  bool isRowMajor() const;

  /// Declares the (dense) buffer to be in Fortran order: the shape stays, the strides are reversed.
  void setColumnMajor() { strides_ = columnMajorStrides(shape_); }

  /// The tensor as batch, head, row, column. Precondition: rank 4.
  View4 view(Layout layout) const;

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  DType dtype_ = DType::F32;
  std::vector<std::int64_t> shape_, strides_;
  std::int64_t elements_ = 0;
  std::unique_ptr<std::byte[], Free> buffer_;
};

/// A dense row-major copy with another element type (round to nearest even), or another memory order.
HostTensor convert(const HostTensor& tensor, DType to, std::string_view what = "the tensor");

}  // namespace fattn::io

#endif
