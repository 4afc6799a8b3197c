// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-run/BackwardJob.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "fattn/Attention.h"
#include "tools/fattn-run/BackwardReference.h"

namespace fattn::run {
namespace {

BackwardKernel compiledBackward(const Options& options, const BackwardOptions& backward, DType dtype) {
  BackwardConfig config{.dtype = dtype,
                        .head_dim = backward.shape.dim,
                        .head_dim_v = backward.shape.dimV,
                        .causal = backward.shape.causal,
                        .deterministic = backward.deterministic,
                        .target = options.target};
  if (options.config != TileConfig{}) config.tile = options.config;
  if (backward.configDq != TileConfig{}) config.tile_dq = backward.configDq;
  return compile(config);
}

}  // namespace

BackwardEngine::BackwardEngine(const Options& options, const BackwardOptions& backward, DType dtype)
    : shape_(backward.shape),
      dtype_(dtype),
      kernel_(compiledBackward(options, backward, dtype)),
      device_(openDevice(kernel_.config().target)),
      memory_(device_) {
  const auto& [B, H, Hk, Sq, Sk, D, Dv, causal] = shape_;
  q_ = drawn(dtype, {B, H, Sq, D}, options.seed, 0), k_ = drawn(dtype, {B, Hk, Sk, D}, options.seed, 1);
  v_ = drawn(dtype, {B, Hk, Sk, Dv}, options.seed, 2), dout_ = drawn(dtype, {B, H, Sq, Dv}, options.seed, 3);
  o_ = io::HostTensor::allocate(dtype, {B, H, Sq, Dv}), lse_ = io::HostTensor::allocate(DType::F32, {B, H, Sq});
  args_.q = memory_.put(q_), args_.k = memory_.put(k_), args_.v = memory_.put(v_), args_.dout = memory_.put(dout_);
  args_.o = memory_.put(o_), args_.lse = memory_.put(lse_);
  args_.dq = memory_.put(q_), args_.dk = memory_.put(k_), args_.dv = memory_.put(v_);
  compile(AttentionConfig{.dtype = dtype, .head_dim = D, .head_dim_v = Dv, .causal = causal, .target = kernel_.config().target})
      .launch({}, {.q = args_.q, .k = args_.k, .v = args_.v, .o = args_.o, .lse = args_.lse});
  memory_.fetch(o_, args_.o), memory_.fetch(lse_, args_.lse);
  args_.workspace_bytes = kernel_.workspaceBytes(args_);
  args_.workspace = memory_.allocate(args_.workspace_bytes);
  const KernelCode &code = kernel_.info(), &last = kernel_.infoDq();
  target = code.target, device = code.device, config = code.tile.toString() + ", of dq " + last.tile.toString();
  compileMs = code.compile_ms + last.compile_ms, fromCache = code.from_cache && last.from_cache;
  parameters = "dtype=" + std::string(name(dtype)) + ",causal=" + (causal ? "true" : "false") +
               ",deterministic=" + (kernel_.config().deterministic ? "true" : "false");
}

double BackwardEngine::launch() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  kernel_.launch({}, args_);
  device_.synchronize();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

KernelCheck BackwardEngine::check(std::uint64_t seed) {
  io::HostTensor dq = io::HostTensor::allocate(dtype_, q_.shape()), dk = io::HostTensor::allocate(dtype_, k_.shape()),
                 dv = io::HostTensor::allocate(dtype_, v_.shape());
  memory_.fetch(dq, args_.dq), memory_.fetch(dk, args_.dk), memory_.fetch(dv, args_.dv);
  const BackwardReference reference(shape_, {&q_, &k_, &v_, &o_, &lse_, &dout_});
  const GradientErrors found = reference.compare({&dq, &dk, &dv}, seed);
  return {.relative = std::max({found.dq, found.dk, found.dv}), .allowed = allowedGradientError(dtype_), .rows = found.rows};
}

}  // namespace fattn::run
