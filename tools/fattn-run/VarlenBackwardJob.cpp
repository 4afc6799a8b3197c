// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-run/VarlenBackwardJob.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "fattn/Varlen.h"
#include "tools/fattn-run/BackwardReference.h"
#include "tools/fattn-run/VarlenJob.h"

namespace fattn::run {
namespace {

BackwardKernel compiledPacked(const Options& options, const VarlenOptions& varlen, DType dtype) {
  BackwardConfig config{.dtype = dtype,
                        .head_dim = varlen.dim,
                        .causal = varlen.causal,
                        .deterministic = varlen.deterministic,
                        .packed = true,
                        .target = options.target};
  if (options.config != TileConfig{}) config.tile = options.config;
  if (varlen.configDq != TileConfig{}) config.tile_dq = varlen.configDq;
  return compile(config);
}

/// Rows of a packed tensor as those of one batch entry, [1, heads, length] and what follows.
io::HostTensor sequenceOf(const io::HostTensor& packed, std::int64_t first, std::int64_t length) {
  std::vector<std::int64_t> shape = {1, packed.shape()[1], length};
  shape.insert(shape.end(), packed.shape().begin() + 2, packed.shape().end());
  io::HostTensor one = io::HostTensor::allocate(packed.dtype(), shape);
  const std::int64_t heads = shape[1], bytes = packed.bytes() / std::max<std::int64_t>(packed.shape()[0] * heads, 1);
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t s = 0; s < length; ++s)
      std::memcpy(one.data() + (h * length + s) * bytes, packed.data() + ((first + s) * heads + h) * bytes,
                  static_cast<std::size_t>(bytes));
  return one;
}

}  // namespace

VarlenBackwardEngine::VarlenBackwardEngine(const Options& options, const VarlenOptions& varlen, DType dtype)
    : varlen_(varlen),
      dtype_(dtype),
      kernel_(compiledPacked(options, varlen, dtype)),
      device_(openDevice(kernel_.config().target)),
      memory_(device_) {
  const std::int64_t rows = varlen.cuQ.back(), keys = varlen.cuK.back(), D = varlen.dim;
  q_ = drawn(dtype, {rows, varlen.headsQ, D}, options.seed, 0), k_ = drawn(dtype, {keys, varlen.headsKv, D}, options.seed, 1);
  v_ = drawn(dtype, {keys, varlen.headsKv, D}, options.seed, 2), dout_ = drawn(dtype, {rows, varlen.headsQ, D}, options.seed, 3);
  o_ = io::HostTensor::allocate(dtype, q_.shape()), lse_ = io::HostTensor::allocate(DType::F32, {rows, varlen.headsQ});
  args_.q = memory_.put(q_), args_.k = memory_.put(k_), args_.v = memory_.put(v_), args_.dout = memory_.put(dout_);
  args_.o = memory_.put(o_), args_.lse = memory_.put(lse_);
  args_.dq = memory_.put(q_), args_.dk = memory_.put(k_), args_.dv = memory_.put(v_);
  args_.cu_q = memory_.put(beginsOf(varlen.cuQ)), args_.cu_k = memory_.put(beginsOf(varlen.cuK));
  args_.max_q = longestOf(varlen.cuQ), args_.max_k = longestOf(varlen.cuK);
  compile(VarlenConfig{.dtype = dtype, .head_dim = D, .causal = varlen.causal, .target = kernel_.config().target})
      .launch({}, {.q = args_.q,
                   .k = args_.k,
                   .v = args_.v,
                   .o = args_.o,
                   .lse = args_.lse,
                   .cu_q = args_.cu_q,
                   .cu_k = args_.cu_k,
                   .max_q = args_.max_q});
  memory_.fetch(o_, args_.o), memory_.fetch(lse_, args_.lse);
  args_.workspace_bytes = kernel_.workspaceBytesPacked(args_);
  args_.workspace = memory_.allocate(args_.workspace_bytes);
  const KernelCode &code = kernel_.info(), &last = kernel_.infoDq();
  target = code.target, device = code.device, config = code.tile.toString() + ", of dq " + last.tile.toString();
  compileMs = code.compile_ms + last.compile_ms, fromCache = code.from_cache && last.from_cache;
  parameters = "causal=" + std::string(varlen.causal ? "true" : "false") + ",dtype=" + std::string(name(dtype)) +
               ",deterministic=" + (kernel_.config().deterministic ? "true" : "false");
}

double VarlenBackwardEngine::launch() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  kernel_.launchPacked({}, args_);
  device_.synchronize();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

KernelCheck VarlenBackwardEngine::check(std::uint64_t seed) {
  io::HostTensor dq = io::HostTensor::allocate(dtype_, q_.shape()), dk = io::HostTensor::allocate(dtype_, k_.shape()),
                 dv = io::HostTensor::allocate(dtype_, v_.shape());
  memory_.fetch(dq, args_.dq), memory_.fetch(dk, args_.dk), memory_.fetch(dv, args_.dv);
  KernelCheck check{.allowed = allowedGradientError(dtype_)};
  for (std::size_t b = 0; b + 1 < varlen_.cuQ.size(); ++b) {
    const io::AttentionShape shape = shapeOf(varlen_, b);
    const auto ofQueries = [&](const io::HostTensor& all) { return sequenceOf(all, varlen_.cuQ[b], shape.lenQ); };
    const auto ofKeys = [&](const io::HostTensor& all) { return sequenceOf(all, varlen_.cuK[b], shape.lenKv); };
    if (shape.lenQ == 0 || shape.lenKv == 0) continue;
    const io::HostTensor q = ofQueries(q_), k = ofKeys(k_), v = ofKeys(v_), o = ofQueries(o_), lse = ofQueries(lse_),
                         dout = ofQueries(dout_);
    const io::HostTensor ofQ = ofQueries(dq), ofK = ofKeys(dk), ofV = ofKeys(dv);
    const GradientErrors found = BackwardReference(shape, {&q, &k, &v, &o, &lse, &dout}).compare({&ofQ, &ofK, &ofV}, seed);
    check.relative = std::max({check.relative, found.dq, found.dk, found.dv});
    check.rows += found.rows;
  }
  return check;
}

}  // namespace fattn::run
