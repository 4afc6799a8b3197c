// SPDX-License-Identifier: Apache-2.0
// What launches of attention require of their tensors, in sentences that name the tensor and the dimension.
#ifndef FATTN_KERNELS_ATTENTION_OPERANDCHECKS_H
#define FATTN_KERNELS_ATTENTION_OPERANDCHECKS_H

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fattn/Error.h"
#include "fattn/Overlap.h"
#include "fattn/TensorView.h"

namespace fattn::kernels {

inline constexpr std::int32_t kWidestLoad = 16;  ///< bytes: what an address can be promised to be a multiple of, at most

[[noreturn]] void failOperand(const char* tensor, const std::string& constraint, std::string hint = "");

using DimensionNames = std::array<const char*, 5>;
inline constexpr DimensionNames kDimensions = {"batch", "heads", "length", "head_dim"};
inline constexpr DimensionNames kPackedDimensions = {"rows", "heads", "head_dim"}, kSequenceDimensions = {"batch + 1"};
/// The hint where a tensor has another type than the kernel.
inline constexpr const char* kOtherType = "compile a kernel for the dtype of the tensors";

/// "heads (dimension 1)".
std::string dimensionText(const DimensionNames& names, int d);

/// Everything that concerns one tensor alone: type, rank, extents, strides, address. Returns the bytes it spans.
std::int64_t checkView(const char* tensor, const TensorView& view, DType dtype, int rank, const DimensionNames& names = kDimensions,
                       const char* otherType = "");
/// Of that only the rank and the extents: for tensors whose shapes alone are asked about.
void checkShape(const char* tensor, const TensorView& view, int rank, const DimensionNames& names = kDimensions);
void checkExtent(const char* tensor, const TensorView& view, int d, std::int64_t expected, std::string_view because,
                 const DimensionNames& names = kDimensions);
/// Dimension 3 of a tensor of heads, whose elements lie side by side.
void checkHeadDim(const char* tensor, const TensorView& view, std::int64_t bytes, std::int64_t expected);
/// All that concerns a tensor [rows, heads, width] alone, whose elements of a row lie side by side. Returns the bytes it spans.
std::int64_t checkPackedRows(const char* tensor, const TensorView& view, DType dtype, std::int64_t width, std::int32_t alignment);
/// Where sequences begin, i32 [batch + 1]. Returns how many there are.
std::int64_t checkSequences(const TensorView& cuQ, const TensorView& cuK);
/// The most rows of a sequence: `given`, or as many as there are.
std::int64_t checkMost(const char* name, const std::optional<std::int64_t>& given, std::int64_t rows);
/// Programs write rows in no particular order, so rows must not share memory.
void checkDistinct(const char* tensor, const TensorView& view);

/// Whether two addresses are null, or have the same remainder by the widest load.
inline bool isMovedAddress(const void* before, const void* now) {
  const auto differ = reinterpret_cast<std::uintptr_t>(before) ^ reinterpret_cast<std::uintptr_t>(now);
  return differ % kWidestLoad == 0 && (now == nullptr) == (before == nullptr);
}
/// Whether two tensors differ in such an address alone. Then all checks say the same of both, but those for shared memory.
inline bool isMoved(const TensorView& before, const TensorView& now) {
  return isMovedAddress(before.data, now.data) && before.dtype == now.dtype && before.rank == now.rank && before.shape == now.shape &&
         before.strides == now.strides;
}
inline bool isMoved(const std::optional<TensorView>& before, const std::optional<TensorView>& now) {
  return before.has_value() == now.has_value() && (!now || isMoved(*before, *now));
}

struct Spanned {
  const char* name;
  const TensorView& view;
  std::int64_t bytes;
};
void failIfShared(const Spanned& written, const Spanned& read, const char* hint);
/// Programs read and write at the same time.
inline void checkApart(const Spanned& written, const Spanned& read, const char* hint) {
  if (!areApart(written.view, written.bytes, read.view, read.bytes)) [[unlikely]]
    failIfShared(written, read, hint);
}

/// The first `written` of them are apart from each other and from all that follow. Those of no bytes count as nothing.
void checkAllApart(std::span<const Spanned> all, std::size_t written);

/// The heads of q are a multiple of those of k.
void checkGroups(const TensorView& q, const TensorView& k);
/// A workspace is aligned to the widest load of a GPU.
/// The product of numbers that are not negative, the bytes of a workspace. Throws where 63 bits do not count them.
std::int64_t workspaceProduct(std::initializer_list<std::int64_t> factors);
void checkWorkspaceAddress(const void* workspace);

/// Of a configuration: what pointers and strides are multiples of, in bytes. 0 is the widest load; the host needs no more than its
/// elements.
void requireAlignment(DType dtype, std::int32_t alignment);
std::int32_t completedAlignment(std::string_view target, DType dtype, std::int32_t alignment);
void checkAligned(const char* tensor, const TensorView& view, std::int32_t alignment);

/// The bits that a data pointer and the strides in use of all dimensions but the last, in bytes, have set.
std::uint64_t addressBits(const TensorView& view);

}  // namespace fattn::kernels

#endif
