// SPDX-License-Identifier: Apache-2.0
// `fattn-run varlen --backward`: the gradients of attention of packed sequences, on random ones, after the forward.
#ifndef FATTN_TOOLS_FATTN_RUN_VARLENBACKWARDJOB_H
#define FATTN_TOOLS_FATTN_RUN_VARLENBACKWARDJOB_H

#include "fattn/Backward.h"
#include "tools/fattn-run/DeviceMemory.h"
#include "tools/fattn-run/Engine.h"
#include "tools/fattn-run/KernelReference.h"

namespace fattn::run {

class VarlenBackwardEngine : public Engine {
 public:
  VarlenBackwardEngine(const Options& options, const VarlenOptions& varlen, DType dtype);

  double launch() override;
  void fetch(Problem&) override {}
  /// As BackwardEngine's, of each sequence. The error is the largest of all.
  KernelCheck check(std::uint64_t seed);

  std::string parameters;  ///< "causal=false,dtype=bf16,deterministic=true"
  /// Of dq, dk and dv.
  std::int64_t rows() const { return varlen_.cuQ.back() * varlen_.headsQ + 2 * varlen_.cuK.back() * varlen_.headsKv; }

 private:
  VarlenOptions varlen_;
  DType dtype_;
  BackwardKernel kernel_;
  Device& device_;
  DeviceMemory memory_;
  io::HostTensor q_, k_, v_, o_, lse_, dout_;  ///< [rows, heads, D] and [rows, heads]
  PackedBackwardArgs args_;
};

}  // namespace fattn::run

#endif
