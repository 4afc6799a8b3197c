// SPDX-License-Identifier: Apache-2.0
// Decode as a contestant.
#include "fattn/Decode.h"

#include <memory>
#include <numeric>
#include <vector>

#include "tools/fattn-bench/DeviceTensors.h"
#include "tools/fattn-bench/Kernels.h"

namespace fattn::bench {
namespace {

/// A decode kernel with operands in the device's memory. Pages lie in an order that jumps.
class BoundDecode {
 public:
  BoundDecode(DecodeKernel compiled, const Case& problem)
      : kernel_(std::move(compiled)), device_(openDevice(kernel_.info().target)), tensors_(device_) {
    const std::vector<std::int64_t>& e = problem.kernel.extents;
    const std::int64_t batch = e[0], heads = e[1], kvHeads = e[2], keys = e[3], width = e[4], page = e[5];
    args_.q = tensors_.random(problem.dtype, {batch, heads, 1, width}), args_.o = tensors_.random(problem.dtype, {batch, heads, 1, width});
    const std::int64_t pages = page > 0 ? (keys + page - 1) / page : 0;
    const std::vector<std::int64_t> cache =
        page > 0 ? std::vector{batch * pages, kvHeads, page, width} : std::vector{batch, kvHeads, keys, width};
    args_.k = tensors_.random(problem.dtype, cache), args_.v = tensors_.random(problem.dtype, cache);
    args_.lengths = tensors_.integers({batch}, std::vector<std::int32_t>(static_cast<std::size_t>(batch), static_cast<std::int32_t>(keys)));
    if (page > 0) args_.pages = tensors_.integers({batch, pages}, jumping(batch * pages));
    args_.workspace_bytes = kernel_.workspaceBytes(args_);
    args_.workspace = tensors_.allocate(args_.workspace_bytes);
    device_.synchronize();
  }

  void launch() const { kernel_.launch({}, args_); }

 private:
  static std::vector<std::int32_t> jumping(std::int64_t count) {
    constexpr std::int64_t kStep = 7919;  // a prime
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(count));
    const std::int64_t step = std::gcd(kStep, count) == 1 ? kStep : 1;
    for (std::int64_t i = 0; i < count; ++i) numbers[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i * step % count);
    return numbers;
  }

  DecodeKernel kernel_;
  Device& device_;
  DeviceTensors tensors_;
  DecodeArgs args_;
};

}  // namespace

std::pair<std::function<void()>, std::string> prepareDecode(const Case& problem, const std::string& target, const TileConfig& config) {
  const std::vector<std::int64_t>& e = problem.kernel.extents;
  DecodeConfig asked{.dtype = problem.dtype, .head_dim = e[4], .rows = e[1] / e[2], .page_size = e[5], .target = target};
  if (config != TileConfig{}) asked.tile = config;
  DecodeKernel kernel = compile(asked);
  auto bound = std::make_shared<BoundDecode>(kernel, problem);
  return {[bound] { bound->launch(); }, kernel.info().tile.toString()};
}

}  // namespace fattn::bench
