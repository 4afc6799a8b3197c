// SPDX-License-Identifier: Apache-2.0
// fattn::merge_states: what its operands ask for, and the kernel for them.
#include <array>

#include "fattn/Decode.h"
#include "kernels/attention/AttentionDecode.h"
#include "kernels/attention/OperandChecks.h"
#include "kernels/library/Handles.h"

namespace fattn {
namespace {

constexpr kernels::DimensionNames kParts = {"parts", "batch", "heads", "length", "head_dim"};
constexpr std::int64_t kWidestAccess = 16;  // bytes of one load or store
constexpr unsigned kTypeBits = 4;

// A number that says which parameters: from the lowest bits on the types, the head dimension in steps of 8, and whether all is aligned.
std::uint32_t kindOf(DType parts, DType out, std::int64_t width, bool aligned) {
  return static_cast<std::uint32_t>(parts) | static_cast<std::uint32_t>(out) << kTypeBits | std::uint32_t{aligned} << (2 * kTypeBits) |
         static_cast<std::uint32_t>(width / 8) << (2 * kTypeBits + 1);
}

Parameters mergeParameters(std::uint32_t kind) {
  constexpr std::uint32_t kType = (1u << kTypeBits) - 1;
  const auto parts = static_cast<DType>(kind & kType), out = static_cast<DType>(kind >> kTypeBits & kType);
  const std::int64_t aligned = kind >> (2 * kTypeBits) & 1, width = (kind >> (2 * kTypeBits + 1)) * 8;
  return {{"dtype", std::string(name(parts))},
          {"out", std::string(name(out))},
          {"head_dim", width},
          {"alignment", aligned != 0 ? kWidestAccess : std::min(sizeInBytes(parts), sizeInBytes(out))}};
}

void requireWidth(const TensorView& o) {
  if (o.shape[3] < 8 || o.shape[3] > 256 || o.shape[3] % 8 != 0)
    throw Error(ErrorCode::Unsupported, "o: " + kernels::dimensionText(kernels::kDimensions, 3) + " is " + std::to_string(o.shape[3]) +
                                            "; it must be a multiple of 8 from 8 to 256");
}

void requireFloat(const char* tensor, DType type) {
  if (type != DType::F32 && type != DType::F16 && type != DType::BF16)
    kernels::failOperand(tensor, "dtype is " + std::string(name(type)) + "; it must be f32, f16 or bf16");
}

void requireRows(const char* tensor, const TensorView& view) {
  const int last = view.rank - 1;
  if (view.elements() != 0 && view.strides[last] != 1)
    kernels::failOperand(tensor, "the stride of head_dim (dimension " + std::to_string(last) + ") is " +
                                     std::to_string(view.strides[last]) + "; it must be 1");
}

}  // namespace

void merge_states(Stream stream, const MergeArgs& args, std::string_view target) {
  using namespace kernels;
  constexpr const char* kOwn = "give it memory of its own";
  const auto& [partO, partLse, o, lse] = args;
  requireFloat("part_o", partO.dtype);
  requireFloat("o", o.dtype);
  const std::int64_t partBytes = checkView("part_o", partO, partO.dtype, 5, kParts),
                     lseBytes = checkView("part_lse", partLse, DType::F32, 4, kParts), oBytes = checkView("o", o, o.dtype, 4);
  for (int d = 0; d < 4; ++d) {
    checkExtent("part_o", partO, d + 1, o.shape[d], " as in o", kParts);
    if (d < 3) checkExtent("part_lse", partLse, d + 1, o.shape[d], " as in o", kParts);
  }
  checkExtent("part_lse", partLse, 0, partO.shape[0], " as in part_o", kParts);
  requireWidth(o);
  requireRows("part_o", partO);
  requireRows("o", o);
  checkDistinct("o", o);
  checkApart({"o", o, oBytes}, {"part_o", partO, partBytes}, kOwn);
  checkApart({"o", o, oBytes}, {"part_lse", partLse, lseBytes}, kOwn);
  if (lse) {
    const std::int64_t bytes = checkView("lse", *lse, DType::F32, 3);
    for (int d = 0; d < 3; ++d) checkExtent("lse", *lse, d, o.shape[d], " as in o");
    checkDistinct("lse", *lse);
    checkApart({"lse", *lse, bytes}, {"part_o", partO, partBytes}, kOwn);
    checkApart({"lse", *lse, bytes}, {"part_lse", partLse, lseBytes}, kOwn);
    checkApart({"lse", *lse, bytes}, {"o", o, oBytes}, kOwn);
  }
  if (oBytes == 0) return;
  static const TensorView none(nullptr, DType::F32, {0, 0, 0});
  const bool aligned = ((addressBits(partO) | addressBits(o)) & (kWidestAccess - 1)) == 0;
  const std::array arguments = {Argument("part_o", partO), Argument("part_lse", partLse), Argument("o", o),
                                Argument("lse", lse ? *lse : none), Argument("write_lse", lse ? 1 : 0)};
  const std::array<std::int64_t, 4> extents = {o.shape[0], o.shape[1], o.shape[2], partO.shape[0]};
  handleOf(mergeTemplate(), kindOf(partO.dtype, o.dtype, o.shape[3], aligned), target, mergeParameters).launch(stream, extents, arguments);
}

}  // namespace fattn
