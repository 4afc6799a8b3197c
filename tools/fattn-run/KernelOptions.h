// SPDX-License-Identifier: Apache-2.0
// The subcommands of fattn-run: kernels beside attention.
#ifndef FATTN_TOOLS_FATTN_RUN_KERNELOPTIONS_H
#define FATTN_TOOLS_FATTN_RUN_KERNELOPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

#include "fattn/DType.h"
#include "fattn/TileConfig.h"
#include "tools/io/Reference.h"

namespace CLI {
class App;
}

namespace fattn::run {

/// What `fattn-run decode` asks for beside the element type.
struct DecodeOptions {
  std::int64_t batch = 4, headsQ = 32, headsKv = 8, queries = 1, keys = 4096, dim = 128;
  std::int64_t pageSize = 0;  ///< 0: each sequence in one piece
  int splits = 0;             ///< 0: as many as fill the device
  std::int64_t window = 0;    ///< 0: rows see all keys before them
  bool causal = false;
  bool ragged = false;   ///< lengths differ, from 1 to keys
  bool append = false;   ///< the launch appends the keys of its query rows
  bool settled = false;  ///< DecodeConfig::settled_cache
};

/// What `fattn-run varlen` asks for beside the element type. Sequence b has the rows from cuQ[b] to cuQ[b + 1] - 1, and keys likewise.
struct VarlenOptions {
  std::int64_t headsQ = 8, headsKv = 8, dim = 64;
  std::vector<std::int32_t> cuQ = {0, 300, 1000, 1024}, cuK = cuQ;
  bool causal = false;
  bool backward = false;       ///< the gradients, after the forward
  bool deterministic = false;  ///< of them
  TileConfig configDq;         ///< as BackwardOptions has it
};

/// What `fattn-run backward` asks for beside the element type.
struct BackwardOptions {
  io::AttentionShape shape;
  bool deterministic = false;
  TileConfig configDq;  ///< of the deterministic mode's kernel for dq; --config is that of the one for dk and dv
};

/// What a subcommand asks for; the target, the configuration, the seed and the actions are in Options.
struct KernelOptions {
  std::string kernel;                 ///< "gemm", "softmax", "layer-norm", "rms-norm", "decode", "varlen", "backward"
  std::vector<std::int64_t> extents;  ///< m, n, k, or rows, columns; none of the last two
  DType dtype = DType::F32;
  bool aColumns = false, bColumns = false, bias = false, residual = false;
  std::string activation = "none";
  DecodeOptions decode{};
  VarlenOptions varlen{};
  BackwardOptions backward{};  ///< without its shape, which is parsed as that of attention
};

/// The texts of the options that only subcommands have.
struct KernelText {
  std::string shape, dtype, layout, activation, pages, splits, window, cuSeqlens, cuSeqlensK, configDq;
  bool bias = false, residual = false, causal = false, ragged = false, append = false, settled = false, deterministic = false,
       backward = false;
};

/// Throws UsageError.
KernelOptions interpretKernel(const std::string& kernel, const KernelText& text);

/// Declares one subcommand; in KernelOptions.cpp.
CLI::App* declareKernel(CLI::App& app, const std::string& kernel, KernelText& text);
/// Their names, in the order of the help.
const std::vector<std::string>& kernelNames();

}  // namespace fattn::run

#endif
