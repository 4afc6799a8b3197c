// SPDX-License-Identifier: Apache-2.0
// `fattn-run varlen`: attention of packed sequences, on random ones.
#ifndef FATTN_TOOLS_FATTN_RUN_VARLENJOB_H
#define FATTN_TOOLS_FATTN_RUN_VARLENJOB_H

#include <string>

#include "fattn/Varlen.h"
#include "tools/fattn-run/DeviceMemory.h"
#include "tools/fattn-run/Engine.h"
#include "tools/fattn-run/KernelReference.h"
#include "tools/io/HostTensor.h"
#include "tools/io/Reference.h"

namespace fattn::run {

/// i32 [sequences + 1] on the host.
io::HostTensor beginsOf(const std::vector<std::int32_t>& values);
/// The longest sequence.
std::int64_t longestOf(const std::vector<std::int32_t>& begins);
/// A sequence as attention of one batch entry, and the work of all.
io::AttentionShape shapeOf(const VarlenOptions& varlen, std::size_t sequence);
double flopsOf(const VarlenOptions& varlen);

class VarlenEngine : public Engine {
 public:
  VarlenEngine(const Options& options, const VarlenOptions& varlen, DType dtype);

  double launch() override;
  void fetch(Problem&) override {}
  /// Compares what the launches have left, all rows or as many as take about half a second.
  KernelCheck check(std::uint64_t seed);

  std::string parameters;  ///< "causal=false,dtype=bf16"
  std::int64_t rows() const { return varlen_.cuQ.back() * varlen_.headsQ; }

 private:
  VarlenOptions varlen_;
  DType dtype_;
  VarlenKernel kernel_;
  Device& device_;
  DeviceMemory memory_;
  io::HostTensor q_, k_, v_, o_;  ///< [rows, heads, D]
  VarlenArgs args_;
};

}  // namespace fattn::run

#endif
