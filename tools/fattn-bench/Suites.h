// SPDX-License-Identifier: Apache-2.0
// Suites: lists of problems that are measured together. A kernel that is to be measured adds its suite to the table in Suites.cpp.
#ifndef FATTN_TOOLS_FATTN_BENCH_SUITES_H
#define FATTN_TOOLS_FATTN_BENCH_SUITES_H

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fattn/DType.h"
#include "fattn/Device.h"
#include "tools/io/Reference.h"

namespace fattn::bench {

/// A problem of one of the library's kernels.
struct KernelCase {
  std::string kernel;  ///< "gemm", "gemm-nt", "gemm+gelu", "softmax", "layer-norm", "rms-norm", "decode", "backward"
  /// m, n, k; rows, columns; of decode batch, query heads, key heads, keys, head_dim, page_size; of backward batch, query heads, key heads,
  /// queries, keys, head_dim, causal, deterministic.
  std::vector<std::int64_t> extents;
};

/// One problem.
struct Case {
  DType dtype = DType::BF16;
  io::AttentionShape shape;  ///< of attention
  KernelCase kernel{};       ///< of another kernel, where it has a name

  /// "bf16 D64 S4096 causal", with what is unusual: the figures of one problem of two runs are found by it.
  std::string name() const;
  bool isAttention() const { return kernel.kernel.empty(); }
  bool isDecode() const { return kernel.kernel == "decode"; }
  bool isBackward() const { return kernel.kernel == "backward"; }
  /// Of rows: 5 for each element. Of backward: as the field counts it, 5 products, in both modes.
  double flops() const;
  /// Of operands and results, once each.
  double bytes() const;

 private:
  io::AttentionShape backwardShape() const;
};

struct Suite {
  std::string_view name, what;
  std::vector<Case> (*cases)(DeviceKind device, DType dtype);
};

std::span<const Suite> suites();
/// The cases of several suites and types, each once.
std::vector<Case> casesOf(const std::vector<std::string>& names, const std::vector<DType>& types, DeviceKind device);

}  // namespace fattn::bench

#endif
