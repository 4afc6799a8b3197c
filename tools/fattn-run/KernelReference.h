// SPDX-License-Identifier: Apache-2.0
// The operands of a kernel beside attention, and what it should compute.
#ifndef FATTN_TOOLS_FATTN_RUN_KERNELREFERENCE_H
#define FATTN_TOOLS_FATTN_RUN_KERNELREFERENCE_H

#include <vector>

#include "fattn/Template.h"
#include "tools/fattn-run/KernelOptions.h"
#include "tools/io/HostTensor.h"

namespace fattn::run {

struct KernelTensor {
  std::string name;
  io::HostTensor values;
};

struct KernelProblem {
  std::string templateName;
  Parameters parameters;
  std::vector<std::int64_t> extents;
  std::vector<KernelTensor> tensors;
  bool hasEps = false;
  double flops = 0, bytes = 0;  ///< that a launch does, that it moves
  const io::HostTensor& tensor(std::string_view name) const;
};
/// Random operands, the same for the same seed.
KernelProblem makeKernelProblem(const KernelOptions& options, std::uint64_t seed);

struct KernelCheck {
  double relative = 0, allowed = 0;  ///< Frobenius
  std::int64_t rows = 0;             ///< compared
  bool passed() const { return relative <= allowed; }
};
/// Compares "out" with float64: all rows where that takes about half a second, else as many of them, spread over all.
KernelCheck checkKernel(const KernelOptions& options, const KernelProblem& problem, double eps, std::uint64_t seed);

}  // namespace fattn::run

#endif
