// SPDX-License-Identifier: Apache-2.0
// Random operands to measure attention kernels with.
#ifndef FATTN_KERNELS_ATTENTION_ATTENTIONBENCH_H
#define FATTN_KERNELS_ATTENTION_ATTENTIONBENCH_H

#include "fattn/Attention.h"
#include "kernels/core/Bench.h"

namespace fattn::kernels {

class AttentionBench : public Bench {
 public:
  /// `config` is resolved; every extent of `shape` is above 0. Throws Error{OutOfMemory}.
  AttentionBench(const AttentionConfig& config, const ShapeHint& shape);

  using Bench::trial;
  /// A kernel of the bench's configuration, but for its tile, with these operands.
  std::unique_ptr<tuning::Trial> trial(Kernel kernel);

 private:
  AttentionArgs args_;
};

}  // namespace fattn::kernels

#endif
