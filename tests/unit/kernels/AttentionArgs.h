// SPDX-License-Identifier: Apache-2.0
// The arguments that attention's program declares, for binaries that stand in for its code.
#ifndef FATTN_TESTS_UNIT_KERNELS_ATTENTIONARGS_H
#define FATTN_TESTS_UNIT_KERNELS_ATTENTIONARGS_H

#include <algorithm>
#include <string_view>
#include <vector>

#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/core/LoadedCode.h"

namespace fattn::test {

inline std::vector<compiler::ArgInfo> attentionArgs(DType dtype) {
  const AttentionConfig config{.dtype = dtype, .head_dim = 8, .head_dim_v = 8, .target = "host"};
  std::vector<compiler::ArgInfo> args;
  const dsl::Program program = traceAttentionForward(config, {.block_m = 16, .block_n = 16});
  for (const dsl::Param& param : program.args()) args.push_back({param.name, param.isPointer, param.type});
  return args;
}

/// A binary as one for a configuration.
inline compiler::Binary forAttention(compiler::Binary binary, const AttentionConfig& config) {
  binary.args = attentionArgs(config.dtype);
  return binary;
}

inline std::size_t attentionSlot(std::string_view name) {
  static const std::vector<compiler::ArgInfo> args = attentionArgs(DType::F32);
  return static_cast<std::size_t>(std::ranges::find(args, name, &compiler::ArgInfo::name) - args.begin());
}

}  // namespace fattn::test

#endif
