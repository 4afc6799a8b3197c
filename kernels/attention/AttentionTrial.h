// SPDX-License-Identifier: Apache-2.0
// Operands to measure attention kernels with, and the measuring.
#ifndef FATTN_KERNELS_ATTENTIONTRIAL_H
#define FATTN_KERNELS_ATTENTIONTRIAL_H

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fattn/Attention.h"
#include "runtime/tune/Search.h"

namespace fattn::kernels {

/// Random operands of one shape in a device's memory. Its trials must not outlive it.
class AttentionBench {
 public:
  /// `config` is resolved; every extent of `shape` is above 0. Throws Error{OutOfMemory}.
  AttentionBench(const AttentionConfig& config, const ShapeHint& shape);
  ~AttentionBench();
  AttentionBench(const AttentionBench&) = delete;
  AttentionBench& operator=(const AttentionBench&) = delete;

  /// A kernel of the bench's configuration, but for its tile, with these operands.
  std::unique_ptr<tune::Trial> trial(Kernel kernel);

  /// How the results of a trial differ from those of the safe one, beyond what rounding explains; nothing where they agree. Both are
  /// trials of this bench; the safe one's results are computed once.
  std::optional<std::string> check(tune::Trial& candidate, tune::Trial& safe);

 private:
  class BenchTrial;
  class Buffer;

  void flush();
  void measure(const Kernel& kernel, std::span<double> us);
  std::vector<double> results(const Kernel& kernel);

  AttentionConfig config_;
  ShapeHint shape_;
  Device& device_;
  Stream stream_;
  std::unique_ptr<Buffer> q_, k_, v_, o_, flush_;
  AttentionArgs args_;
  std::vector<double> expected_;
};

/// The largest relative difference (Frobenius) that two correct kernels may have in an element type: twice what each may be off.
double tuneTolerance(DType dtype);

}  // namespace fattn::kernels

#endif
