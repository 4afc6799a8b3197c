// SPDX-License-Identifier: Apache-2.0
// Random operands to measure attention kernels with: for kernels that a trial of tuning cannot make.
#ifndef FATTN_TESTS_SUPPORT_ATTENTIONBENCH_H
#define FATTN_TESTS_SUPPORT_ATTENTIONBENCH_H

#include <memory>
#include <utility>

#include "fattn/Attention.h"
#include "kernels/core/Bench.h"

namespace fattn::test {

class AttentionBench : public kernels::Bench {
 public:
  /// Every extent of `shape` is above 0. Throws Error{OutOfMemory}.
  AttentionBench(const AttentionConfig& config, const ShapeHint& shape) : Bench(openDevice(config.target)) {
    auto view = [&](std::int64_t rows, std::int64_t columns) {
      TensorView made(nullptr, config.dtype, {shape.batch, shape.heads, rows, columns});
      if (made.checkedBytes() < 0) throw Error(ErrorCode::OutOfMemory, "the operands would not fit into any memory");
      return made;
    };
    const std::int64_t width = config.head_dim_v != 0 ? config.head_dim_v : config.head_dim;
    args_ = {.q = view(shape.seq_q, config.head_dim),
             .k = view(shape.seq_k, config.head_dim),
             .v = view(shape.seq_k, width),
             .o = view(shape.seq_q, width)};
    for (TensorView* input : {&args_.q, &args_.k, &args_.v}) input->data = operand(config.dtype, input->elements());
    args_.o.data = result(config.dtype, args_.o.elements(), shape.seq_q * width);
  }

  using Bench::trial;
  /// A kernel of the bench's configuration, but for its tile, with these operands.
  std::unique_ptr<tuning::Trial> trial(Kernel kernel) {
    return trial([this, kernel = std::move(kernel)](Stream stream) { kernel.launch(stream, args_); });
  }

 private:
  AttentionArgs args_;
};

}  // namespace fattn::test

#endif
