// SPDX-License-Identifier: Apache-2.0
// The backward pass on random operands: the forward before it, the kernels, and the comparison with float64.
#ifndef FATTN_TOOLS_FATTN_RUN_BACKWARDJOB_H
#define FATTN_TOOLS_FATTN_RUN_BACKWARDJOB_H

#include "fattn/Backward.h"
#include "tools/fattn-run/DeviceMemory.h"
#include "tools/fattn-run/Engine.h"
#include "tools/fattn-run/KernelReference.h"
#include "tools/io/Reference.h"

namespace fattn::run {

class BackwardEngine : public Engine {
 public:
  BackwardEngine(const Options& options, const BackwardOptions& backward, DType dtype);

  double launch() override;
  void fetch(Problem&) override {}
  /// Compares rows of dq, dk and dv that the launches have left with the formulae in float64, for the o and lse that the forward left: all
  /// rows or as many as take about half a second. The error is the largest of the three.
  KernelCheck check(std::uint64_t seed);

  std::string parameters;  ///< "dtype=bf16,causal=false,..."
  const io::AttentionShape& shape() const { return shape_; }
  /// Of dq, dk and dv.
  std::int64_t rows() const { return shape_.rows() + 2 * shape_.batch * shape_.headsKv * shape_.lenKv; }

 private:
  io::AttentionShape shape_;
  DType dtype_;
  BackwardKernel kernel_;
  Device& device_;
  DeviceMemory memory_;
  io::HostTensor q_, k_, v_, o_, lse_, dout_;  ///< [B, H, S, D] and [B, H, S], in one piece
  BackwardArgs args_;
};

}  // namespace fattn::run

#endif
