// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/OperandChecks.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "fattn/Target.h"

namespace fattn::kernels {

void failOperand(const char* tensor, const std::string& constraint, std::string hint) {
  throw Error(ErrorCode::InvalidArgument, std::string(tensor) + ": " + constraint, std::move(hint));
}

std::string dimensionText(const DimensionNames& names, int d) {
  return std::string(names[static_cast<std::size_t>(d)]) + " (dimension " + std::to_string(d) + ")";
}

void checkShape(const char* tensor, const TensorView& view, int rank, const DimensionNames& names) {
  if (view.rank != rank) {
    std::string legal;
    for (int d = 0; d < rank; ++d) legal += (d ? ", " : ": ") + std::string(names[static_cast<std::size_t>(d)]);
    failOperand(tensor, "rank is " + std::to_string(view.rank) + "; it must be " + std::to_string(rank) + legal);
  }
  for (int d = 0; d < rank; ++d)
    if (view.shape[d] < 0 || view.shape[d] > INT32_MAX)
      failOperand(tensor, dimensionText(names, d) + " is " + std::to_string(view.shape[d]) + "; legal extents are 0 to 2147483647");
}

std::int64_t checkView(const char* tensor, const TensorView& view, DType dtype, int rank, const DimensionNames& names,
                       const char* otherType) {
  checkShape(tensor, view, rank, names);
  if (view.dtype != dtype)
    failOperand(tensor, "dtype is " + std::string(name(view.dtype)) + "; it must be " + std::string(name(dtype)), otherType);
  bool negative = false;
  for (int d = 0; d < rank; ++d) negative |= view.shape[d] > 1 && view.strides[d] < 0;
  std::int64_t bytes = view.checkedBytes();
  if (bytes < 0) failOperand(tensor, view.toString() + " spans more bytes than 63 bits count");
  if (bytes == 0) return 0;  // its strides are nobody's: those of NumPy's empty arrays are 0
  for (int d = 0; negative && d < rank; ++d)
    if (view.shape[d] > 1 && view.strides[d] < 0)
      failOperand(tensor,
                  "the stride of " + dimensionText(names, d) + " is " + std::to_string(view.strides[d]) + "; strides must not be negative");
  if (view.data == nullptr)
    failOperand(tensor, "the data pointer is null, but the shape holds " + std::to_string(view.elements()) + " elements");
  if (reinterpret_cast<std::uintptr_t>(view.data) % static_cast<std::uintptr_t>(sizeInBytes(dtype)) != 0)
    failOperand(tensor, "the data pointer is not a multiple of " + std::to_string(sizeInBytes(dtype)) + " bytes, the size of " +
                            std::string(name(dtype)));
  return bytes;
}

void checkExtent(const char* tensor, const TensorView& view, int d, std::int64_t expected, std::string_view because,
                 const DimensionNames& names) {
  if (view.shape[d] != expected)
    failOperand(tensor, dimensionText(names, d) + " is " + std::to_string(view.shape[d]) + "; it must be " + std::to_string(expected) +
                            std::string(because));
}

void checkHeadDim(const char* tensor, const TensorView& view, std::int64_t bytes, std::int64_t expected) {
  if (view.shape[3] != expected)
    failOperand(tensor, dimensionText(kDimensions, 3) + " is " + std::to_string(view.shape[3]) + "; this kernel was compiled for " +
                            std::to_string(expected));
  if (bytes != 0 && view.shape[3] > 1 && view.strides[3] != 1)
    failOperand(tensor, "the stride of " + dimensionText(kDimensions, 3) + " is " + std::to_string(view.strides[3]) + "; it must be 1",
                "the other strides are free; copy the tensor so that the elements of a row lie side by side");
}

std::int64_t checkPackedRows(const char* tensor, const TensorView& view, DType dtype, std::int64_t width, std::int32_t alignment) {
  const std::int64_t bytes = checkView(tensor, view, dtype, 3, kPackedDimensions, kOtherType);
  checkExtent(tensor, view, 2, width, ", which this kernel was compiled for", kPackedDimensions);
  if (bytes != 0 && view.strides[2] != 1)
    failOperand(tensor,
                "the stride of " + dimensionText(kPackedDimensions, 2) + " is " + std::to_string(view.strides[2]) + "; it must be 1",
                "the other strides are free; copy the tensor so that the elements of a row lie side by side");
  checkAligned(tensor, view, alignment);
  return bytes;
}

std::int64_t checkSequences(const TensorView& cuQ, const TensorView& cuK) {
  checkView("cu_q", cuQ, DType::I32, 1, kSequenceDimensions);
  checkView("cu_k", cuK, DType::I32, 1, kSequenceDimensions);
  if (cuQ.shape[0] < 1) failOperand("cu_q", "it has no elements; it must have one more than there are sequences");
  checkExtent("cu_k", cuK, 0, cuQ.shape[0], " as in cu_q", kSequenceDimensions);
  return cuQ.shape[0] - 1;
}

std::int64_t checkMost(const char* name, const std::optional<std::int64_t>& given, std::int64_t rows) {
  if (given && *given < 0)
    throw Error(ErrorCode::InvalidArgument, std::string(name) + " is " + std::to_string(*given) + "; it must not be negative");
  return std::min(given.value_or(rows), rows);
}

// Sorted by stride, every dimension has to step over all that the ones before it cover.
void checkDistinct(const char* tensor, const TensorView& view) {
  std::array<std::pair<std::int64_t, std::int64_t>, TensorView::kMaxRank> steps;  // stride, extent
  std::size_t count = 0;
  for (int d = 0; d < view.rank; ++d) {
    if (view.shape[d] == 0) return;
    if (view.shape[d] <= 1) continue;
    std::size_t at = count++;
    for (; at > 0 && steps[at - 1].first > view.strides[d]; --at) steps[at] = steps[at - 1];
    steps[at] = {view.strides[d], view.shape[d]};
  }
  std::int64_t covered = 1;
  for (std::size_t i = 0; i < count; ++i) {
    auto [stride, extent] = steps[i];
    if (stride < covered)
      failOperand(tensor, view.toString() + " holds elements that overlap in memory; the elements of an output must be distinct");
    covered += stride * (extent - 1);  // no overflow: below checkedBytes()
  }
}

void failIfShared(const Spanned& written, const Spanned& read, const char* hint) {
  if (shareMemory(written.view, written.bytes, read.view, read.bytes))
    failOperand(written.name, std::string("it shares memory with ") + read.name + ", and launches read and write in no particular order",
                hint);
}

void checkAllApart(std::span<const Spanned> all, std::size_t written) {
  for (std::size_t i = 0; i < written; ++i)
    for (std::size_t j = i + 1; j < all.size(); ++j)
      if (all[i].bytes > 0 && all[j].bytes > 0) checkApart(all[i], all[j], "give it memory of its own");
}

void checkGroups(const TensorView& q, const TensorView& k) {
  const std::int64_t heads = q.shape[1], kvHeads = k.shape[1];
  if (kvHeads == 0 ? heads != 0 : heads % kvHeads != 0)
    failOperand("q", dimensionText(kDimensions, 1) + " is " + std::to_string(heads) + "; it must be a multiple of the " +
                         std::to_string(kvHeads) + " heads of k and v");
}

std::int64_t workspaceProduct(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  bool overflow = false, empty = false;
  for (const std::int64_t factor : factors) {
    empty |= factor == 0;
    overflow |= __builtin_mul_overflow(product, factor, &product);
  }
  if (empty) return 0;
  if (overflow) failOperand("workspace", "a launch of these shapes needs more bytes than 63 bits count");
  return product;
}

void checkWorkspaceAddress(const void* workspace) {
  if (reinterpret_cast<std::uintptr_t>(workspace) % kWidestLoad != 0)
    failOperand("workspace", "its address is not a multiple of " + std::to_string(kWidestLoad) + " bytes");
}

void requireAlignment(DType dtype, std::int32_t alignment) {
  if (alignment != 0 &&
      (alignment < sizeInBytes(dtype) || alignment > kWidestLoad || !std::has_single_bit(static_cast<unsigned>(alignment))))
    throw Error(ErrorCode::InvalidArgument, "alignment is " + std::to_string(alignment) + "; it must be a power of two from " +
                                                std::to_string(sizeInBytes(dtype)) + ", the size of " + std::string(name(dtype)) + ", to " +
                                                std::to_string(kWidestLoad));
}

std::int32_t completedAlignment(std::string_view target, DType dtype, std::int32_t alignment) {
  if (namesHost(target)) return static_cast<std::int32_t>(sizeInBytes(dtype));
  return alignment == 0 ? kWidestLoad : alignment;
}

void checkAligned(const char* tensor, const TensorView& view, std::int32_t alignment) {
  if (view.elements() != 0 && (addressBits(view) & static_cast<std::uint64_t>(alignment - 1)) != 0)
    failOperand(tensor, view.toString() + " has an address or a stride that is no multiple of " + std::to_string(alignment) + " bytes",
                "compile with a smaller alignment");
}

std::uint64_t addressBits(const TensorView& view) {
  std::uint64_t bits = reinterpret_cast<std::uint64_t>(view.data);
  for (int d = 0; d + 1 < view.rank; ++d)
    if (view.shape[d] > 1) bits |= static_cast<std::uint64_t>(view.strides[d] * sizeInBytes(view.dtype));
  return bits;
}

}  // namespace fattn::kernels
