// SPDX-License-Identifier: Apache-2.0
// The backward pass as a contestant.
#include "fattn/Backward.h"

#include <memory>

#include "fattn/Attention.h"
#include "tools/fattn-bench/DeviceTensors.h"
#include "tools/fattn-bench/Kernels.h"

namespace fattn::bench {
namespace {

/// A backward kernel on operands whose o and lse are the forward's.
class BoundBackward {
 public:
  BoundBackward(BackwardKernel compiled, const Case& problem)
      : kernel_(std::move(compiled)), device_(openDevice(kernel_.config().target)), tensors_(device_) {
    const BackwardConfig& config = kernel_.config();
    const std::vector<std::int64_t>& e = problem.kernel.extents;
    const std::vector<std::int64_t> rows = {e[0], e[1], e[3], e[5]}, keys = {e[0], e[2], e[4], e[5]};
    args_.q = tensors_.random(problem.dtype, rows), args_.dout = tensors_.random(problem.dtype, rows);
    args_.k = tensors_.random(problem.dtype, keys), args_.v = tensors_.random(problem.dtype, keys);
    args_.o = tensors_.result(problem.dtype, rows), args_.lse = tensors_.result(DType::F32, {e[0], e[1], e[3]});
    args_.dq = tensors_.result(problem.dtype, rows);
    args_.dk = tensors_.result(problem.dtype, keys), args_.dv = tensors_.result(problem.dtype, keys);
    compile(AttentionConfig{
                .dtype = config.dtype, .head_dim = config.head_dim, .head_dim_v = 0, .causal = config.causal, .target = config.target})
        .launch({}, {.q = args_.q, .k = args_.k, .v = args_.v, .o = args_.o, .lse = args_.lse});
    args_.workspace_bytes = kernel_.workspaceBytes(args_);
    args_.workspace = tensors_.allocate(args_.workspace_bytes);
    device_.synchronize();
  }

  void launch() const { kernel_.launch({}, args_); }

 private:
  BackwardKernel kernel_;
  Device& device_;
  DeviceTensors tensors_;
  BackwardArgs args_;
};

}  // namespace

std::pair<std::function<void()>, std::string> prepareBackward(const Case& problem, const std::string& target, const TileConfig& config) {
  const std::vector<std::int64_t>& e = problem.kernel.extents;
  BackwardConfig asked{
      .dtype = problem.dtype, .head_dim = e[5], .head_dim_v = 0, .causal = e[6] != 0, .deterministic = e[7] != 0, .target = target};
  if (config != TileConfig{}) asked.tile = config;
  BackwardKernel kernel = compile(asked);
  auto bound = std::make_shared<BoundBackward>(kernel, problem);
  return {[bound] { bound->launch(); }, kernel.info().tile.toString()};
}

}  // namespace fattn::bench
