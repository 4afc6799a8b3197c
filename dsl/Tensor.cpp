// SPDX-License-Identifier: Apache-2.0
// Tensors among the arguments of a program: a pointer, extents and strides in one declaration.
#include <fmt/format.h>

#include "dsl/Recorder.h"

namespace fattn::dsl {

namespace {

/// Of the newest argument.
void promiseSettled(internal::Recorder& recorder) {
  recorder.params.back().settled = true;
  recorder.func.setArgAttr(recorder.func.getNumArguments() - 1, "tile.settled", recorder.builder.getUnitAttr());
}

}  // namespace

TensorArg Params::tensor(std::string_view name, DType element, int rank, const TensorForm& form, Loc loc) {
  constexpr int kMaxRank = 6;  // as a TensorView's
  internal::Step step("tensor", loc);
  if (rank < 1 || rank > kMaxRank) step.fail(fmt::format("the rank of {} must be from 1 to {}; got {}", name, kMaxRank, rank));
  const std::int64_t bytes = sizeInBytes(element);
  TensorArg tensor{.base = ptr(name, element, std::max<std::int64_t>(form.alignment, bytes), form.aliasing, loc), .size = {}, .stride = {}};
  Param& pointer = step.recorder().params.back();
  pointer.rank = rank;
  pointer.rows = form.rows;
  if (form.settled) promiseSettled(step.recorder());
  const std::int64_t divisor = form.alignment % bytes == 0 ? form.alignment / bytes : 1;
  for (int d = 0; d < rank; ++d) tensor.size.push_back(scalar(fmt::format("{}_size{}", name, d), DType::I64, 1, loc));
  for (int d = 0; d < rank; ++d) {
    const bool last = d == rank - 1;
    if (last && form.rows)
      tensor.stride.push_back(Scalar(std::int64_t{1}));
    else
      tensor.stride.push_back(scalar(fmt::format("{}_stride{}", name, d), DType::I64, last ? 1 : divisor, loc));
  }
  return tensor;
}

BlockPtr TensorArg::block(const Scalars& offsets, const Shape& shape, Loc loc) const {
  return make_block_ptr(base, size, stride, offsets, shape, loc);
}

}  // namespace fattn::dsl
