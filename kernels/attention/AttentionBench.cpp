// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/AttentionBench.h"

namespace fattn::kernels {

AttentionBench::AttentionBench(const AttentionConfig& config, const ShapeHint& shape) : Bench(openDevice(config.target)) {
  auto view = [&](std::int64_t rows, std::int64_t columns) {
    TensorView view(nullptr, config.dtype, {shape.batch, shape.heads, rows, columns});
    if (view.checkedBytes() < 0) throw Error(ErrorCode::OutOfMemory, "operands of the shape to tune would not fit into any memory");
    return view;
  };
  args_ = {.q = view(shape.seq_q, config.head_dim),
           .k = view(shape.seq_k, config.head_dim),
           .v = view(shape.seq_k, config.head_dim_v),
           .o = view(shape.seq_q, config.head_dim_v)};
  for (TensorView* input : {&args_.q, &args_.k, &args_.v}) input->data = operand(config.dtype, input->elements());
  args_.o.data = result(config.dtype, args_.o.elements(), shape.seq_q * config.head_dim_v);
  setCompile([this, config](const TileConfig& tile) -> Launch {
    AttentionConfig candidate = config;
    candidate.tile = tile;
    return [this, kernel = compile(candidate)](Stream stream) { kernel.launch(stream, args_); };
  });
}

std::unique_ptr<tuning::Trial> AttentionBench::trial(Kernel kernel) {
  return trial([this, kernel = std::move(kernel)](Stream stream) { kernel.launch(stream, args_); });
}

}  // namespace fattn::kernels
