// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/BackwardParts.h"

#include <algorithm>

namespace fattn::kernels::backward {

using namespace dsl;

Operands::Operands(Params& args, const Parameters& parameters)
    : args_(args), type_(parameters.dtype("dtype")), alignment_(parameters.integer("alignment")) {}

TensorArg Operands::wide(const char* name) { return args_.tensor(name, type_, 4, {.alignment = alignment_, .aliasing = Aliasing::None}); }

TensorArg Operands::strided(const char* name) {
  return args_.tensor(name, DType::F32, 3, {.alignment = sizeInBytes(DType::F32), .rows = false, .aliasing = Aliasing::None});
}

TensorArg Operands::own(const char* name, int rank) {
  return args_.tensor(name, DType::F32, rank, {.alignment = kWorkspaceAlignment, .aliasing = Aliasing::None});
}

Ptr Head::base() const { return tensor.base + (cast(batch, DType::I64) * tensor.stride[0] + cast(head, DType::I64) * tensor.stride[1]); }

BlockPtr Head::rows(const Scalar& row, std::int64_t count, std::int64_t width) const {
  return make_block_ptr(base(), {tensor.size[2], width}, {tensor.stride[2], 1}, {row, 0}, {count, width});
}

BlockPtr Head::numbers(const Scalar& row, std::int64_t count) const {
  return make_block_ptr(base(), {tensor.size[2]}, {tensor.stride[2]}, {row}, {count});
}

BlockPtr Head::line(std::int64_t count) const {
  return make_block_ptr(base(), {1, tensor.size[2]}, {tensor.stride[1], 1}, {0, 0}, {1, count});
}

Dims statisticsCheck(std::int64_t count) { return kStatisticsRows % count == 0 ? Dims{} : Dims{0}; }

Tile probabilities(const Tile& scores, const Scalar& scale, const Tile& logs, const Tile* visible) {
  const Tile exponents = fma(scores, scale, -logs);
  return exp2(visible != nullptr ? where(*visible, exponents, -infinity) : exponents);
}

void check(const Parameters& parameters) {
  const DType type = parameters.dtype("dtype");
  if (type != DType::F32 && type != DType::F16 && type != DType::BF16)
    throw Error(ErrorCode::Unsupported, "dtype is " + std::string(name(type)) + "; it must be f32, f16 or bf16");
  for (const char* of : {"head_dim", "head_dim_v"}) {
    const std::int64_t width = parameters.integer(of);
    if (width < 8 || width > 256 || width % 8 != 0)
      throw Error(ErrorCode::Unsupported, std::string(of) + " is " + std::to_string(width) + "; it must be a multiple of 8 from 8 to 256");
  }
}

Parameters parameters() {
  return {
      {"dtype", std::string("f16")}, {"head_dim", std::int64_t{128}}, {"head_dim_v", std::int64_t{128}}, {"alignment", std::int64_t{16}}};
}

std::int64_t ringBytes(const Parameters& parameters, std::int64_t kept, std::int64_t step, std::int32_t stages) {
  const std::int64_t width = parameters.integer("head_dim") + parameters.integer("head_dim_v");
  return ((kept + step * std::max(stages, 1)) * width + 2 * kept * step) * sizeInBytes(parameters.dtype("dtype"));
}

}  // namespace fattn::kernels::backward
