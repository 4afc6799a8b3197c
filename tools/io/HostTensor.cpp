// SPDX-License-Identifier: Apache-2.0
// Host tensors: checked sizes, aligned zeroed memory, strided views, conversions.
#include "tools/io/HostTensor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "fattn/Error.h"
#include "tools/io/Convert.h"

namespace fattn::io {

std::int64_t elementCount(const std::vector<std::int64_t>& shape, std::string_view what) {
  std::int64_t count = 1;
  bool zero = false, overflow = false;
  for (std::int64_t extent : shape) {
    if (extent < 0)
      throw Error(ErrorCode::InvalidArgument, fmt::format("{} has a negative dimension in its shape {}", what, printShape(shape)));
    if (extent == 0)
      zero = true;
    else if (__builtin_mul_overflow(count, extent, &count))
      overflow = true;
  }
  // A zero elsewhere does not excuse a product that does not fit: strides are computed from it.
  if (overflow)
    throw Error(ErrorCode::InvalidArgument, fmt::format("{} of shape {} has more than 2^63 - 1 elements", what, printShape(shape)),
                "check the dimensions; one of them is probably wrong");
  return zero ? 0 : count;
}

std::int64_t byteCount(const std::vector<std::int64_t>& shape, DType dtype, std::string_view what) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elementCount(shape, what), sizeInBytes(dtype), &bytes))
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("{} of shape {} and type {} takes more than 2^63 - 1 bytes", what, printShape(shape), name(dtype)),
                "check the dimensions; one of them is probably wrong");
  return bytes;
}

std::string printShape(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

std::string printBytes(std::int64_t bytes) {
  if (bytes < 10000) return fmt::format("{} bytes", bytes);
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 5; ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string quote(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string out = "\"";
  for (char c : text.substr(0, kLongest)) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c >= 0x20 && c < 0x7f)
      out += c;
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out + (text.size() > kLongest ? "\"..." : "\"");
}

std::vector<std::int64_t> rowMajorStrides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0; stride *= std::max<std::int64_t>(shape[i], 1)) strides[i] = stride;
  return strides;
}

std::vector<std::int64_t> columnMajorStrides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < shape.size(); stride *= std::max<std::int64_t>(shape[i], 1), ++i) strides[i] = stride;
  return strides;
}

void HostTensor::Free::operator()(std::byte* p) const { std::free(p); }

/// Asking the kernel for more than the machine has would succeed (overcommit) and kill the process when the pages are touched.
static std::int64_t physicalMemory() {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
}

HostTensor HostTensor::allocate(DType dtype, std::vector<std::int64_t> shape, std::string_view what) {
  const std::int64_t bytes = byteCount(shape, dtype, what), limit = physicalMemory();
  HostTensor t;
  std::byte* memory = nullptr;
  if (bytes <= limit) {
    constexpr std::size_t kAlign = 64;
    memory = static_cast<std::byte*>(std::aligned_alloc(kAlign, (static_cast<std::size_t>(bytes) + kAlign) / kAlign * kAlign));
  }
  if (memory == nullptr)
    throw Error(ErrorCode::OutOfMemory,
                fmt::format("{} of shape {} and type {} takes {}, this machine has {} of memory", what, printShape(shape), name(dtype),
                            printBytes(bytes), printBytes(limit)),
                "choose a smaller shape");
  std::memset(memory, 0, static_cast<std::size_t>(bytes));
  t.buffer_.reset(memory);
  t.dtype_ = dtype;
  t.elements_ = bytes / sizeInBytes(dtype);
  t.strides_ = rowMajorStrides(shape);
  t.shape_ = std::move(shape);
  return t;
}

bool HostTensor::isRowMajor() const {
  // Strides of dimensions of size 1 do not matter.
  const std::vector<std::int64_t> dense = rowMajorStrides(shape_);
  for (std::size_t i = 0; i < shape_.size(); ++i)
    if (shape_[i] > 1 && strides_[i] != dense[i]) return false;
  return true;
}

View4 HostTensor::view(Layout layout) const {
  View4 v{const_cast<std::byte*>(data()), dtype_, {}, {}};
  const std::array<int, 4> order = layout == Layout::BHSD ? std::array{0, 1, 2, 3} : std::array{0, 2, 1, 3};
  for (int i = 0; i < 4; ++i) {
    v.shape[i] = shape_[order[i]];
    v.strides[i] = strides_[order[i]];
  }
  return v;
}

/// Copies the bytes of any strided tensor to `out` in row-major order.
static void gather(const HostTensor& t, std::byte* out) {
  const std::size_t size = static_cast<std::size_t>(sizeInBytes(t.dtype()));
  std::vector<std::int64_t> index(t.shape().size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t n = 0; n < t.elements(); ++n) {
    std::memcpy(out + static_cast<std::size_t>(n) * size, t.data() + static_cast<std::size_t>(offset) * size, size);
    for (std::size_t i = index.size(); i-- > 0;) {
      offset += t.strides()[i];
      if (++index[i] < t.shape()[i]) break;
      offset -= t.strides()[i] * t.shape()[i];
      index[i] = 0;
    }
  }
}

HostTensor convert(const HostTensor& tensor, DType to, std::string_view what) {
  HostTensor dense = HostTensor::allocate(tensor.dtype(), tensor.shape(), what);
  if (tensor.isRowMajor())
    std::memcpy(dense.data(), tensor.data(), static_cast<std::size_t>(tensor.bytes()));
  else
    gather(tensor, dense.data());
  if (to == tensor.dtype()) return dense;

  HostTensor out = HostTensor::allocate(to, tensor.shape(), what);
  constexpr std::int64_t kChunk = 4096;
  float chunk[kChunk];
  for (std::int64_t at = 0; at < tensor.elements(); at += kChunk) {
    const std::size_t n = static_cast<std::size_t>(std::min(kChunk, tensor.elements() - at));
    toFloat(dense.dtype(), dense.data() + at * sizeInBytes(dense.dtype()), chunk, n);
    fromFloat(to, chunk, out.data() + at * sizeInBytes(to), n);
  }
  return out;
}

}  // namespace fattn::io
