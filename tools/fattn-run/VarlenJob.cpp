// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-run/VarlenJob.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "tools/io/Convert.h"
#include "tools/io/Reference.h"

namespace fattn::run {
namespace {

VarlenKernel compiledVarlen(const Options& options, const VarlenOptions& varlen, DType dtype) {
  VarlenConfig config{.dtype = dtype, .head_dim = varlen.dim, .causal = varlen.causal, .target = options.target};
  if (options.config != TileConfig{}) config.tile = options.config;
  return compile(config);
}

}  // namespace

io::HostTensor beginsOf(const std::vector<std::int32_t>& values) {
  io::HostTensor tensor = io::HostTensor::allocate(DType::I32, {static_cast<std::int64_t>(values.size())});
  std::memcpy(tensor.data(), values.data(), values.size() * sizeof(std::int32_t));
  return tensor;
}

std::int64_t longestOf(const std::vector<std::int32_t>& begins) {
  std::int64_t longest = 0;
  for (std::size_t b = 0; b + 1 < begins.size(); ++b) longest = std::max<std::int64_t>(longest, begins[b + 1] - begins[b]);
  return longest;
}

io::AttentionShape shapeOf(const VarlenOptions& varlen, std::size_t sequence) {
  return {.batch = 1,
          .headsQ = varlen.headsQ,
          .headsKv = varlen.headsKv,
          .lenQ = varlen.cuQ[sequence + 1] - varlen.cuQ[sequence],
          .lenKv = varlen.cuK[sequence + 1] - varlen.cuK[sequence],
          .dim = varlen.dim,
          .dimV = varlen.dim,
          .causal = varlen.causal};
}

double flopsOf(const VarlenOptions& varlen) {
  double all = 0;
  for (std::size_t b = 0; b + 1 < varlen.cuQ.size(); ++b) all += shapeOf(varlen, b).flops();
  return all;
}

VarlenEngine::VarlenEngine(const Options& options, const VarlenOptions& varlen, DType dtype)
    : varlen_(varlen),
      dtype_(dtype),
      kernel_(compiledVarlen(options, varlen, dtype)),
      device_(openDevice(kernel_.info().target)),
      memory_(device_),
      q_(drawn(dtype, {varlen.cuQ.back(), varlen.headsQ, varlen.dim}, options.seed, 0)),
      k_(drawn(dtype, {varlen.cuK.back(), varlen.headsKv, varlen.dim}, options.seed, 1)),
      v_(drawn(dtype, {varlen.cuK.back(), varlen.headsKv, varlen.dim}, options.seed, 2)),
      o_(io::HostTensor::allocate(dtype, q_.shape())) {
  args_.q = memory_.put(q_), args_.k = memory_.put(k_), args_.v = memory_.put(v_), args_.o = memory_.put(o_);
  args_.cu_q = memory_.put(beginsOf(varlen.cuQ)), args_.cu_k = memory_.put(beginsOf(varlen.cuK));
  args_.max_q = longestOf(varlen.cuQ);
  const KernelCode& code = kernel_.info();
  target = code.target, device = code.device, config = code.tile.toString(), compileMs = code.compile_ms, fromCache = code.from_cache;
  parameters = "causal=" + std::string(varlen.causal ? "true" : "false") + ",dtype=" + std::string(name(dtype));
}

double VarlenEngine::launch() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  kernel_.launch({}, args_);
  device_.synchronize();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

KernelCheck VarlenEngine::check(std::uint64_t seed) {
  memory_.fetch(o_, args_.o);
  KernelCheck check{.allowed = dtype_ == DType::F32 ? 4e-6 : dtype_ == DType::F16 ? 2e-3 : 6e-3};
  constexpr double kBudget = 6e9;
  const std::size_t sequences = varlen_.cuQ.size() - 1;
  const std::int64_t D = varlen_.dim, H = varlen_.headsQ;
  double error = 0, norm = 0;
  for (std::size_t b = 0; b < sequences; ++b) {
    const io::AttentionShape shape = shapeOf(varlen_, b);
    if (shape.lenQ == 0) continue;
    const auto sequenceOf = [&](const io::HostTensor& tensor, std::int64_t first, std::int64_t length) {
      const std::int64_t heads = tensor.shape()[1], row = heads * D;
      return io::View4{
          const_cast<std::byte*>(tensor.data()) + first * row * sizeInBytes(dtype_), dtype_, {1, heads, length, D}, {0, D, row, 1}};
    };
    const std::vector<std::int64_t> chosen = io::chooseRows(shape, seed, kBudget / static_cast<double>(sequences));
    const io::Reference want =
        io::attentionReference(shape, 1 / std::sqrt(static_cast<double>(D)), sequenceOf(q_, varlen_.cuQ[b], shape.lenQ),
                               sequenceOf(k_, varlen_.cuK[b], shape.lenKv), sequenceOf(v_, varlen_.cuK[b], shape.lenKv), chosen);
    std::vector<float> got(static_cast<std::size_t>(D));
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::int64_t row = (varlen_.cuQ[b] + chosen[i] % shape.lenQ) * H + chosen[i] / shape.lenQ;
      io::toFloat(dtype_, o_.data() + row * D * sizeInBytes(dtype_), got.data(), got.size());
      for (std::size_t d = 0; d < got.size(); ++d) {
        const double expected = want.o[i * got.size() + d], difference = static_cast<double>(got[d]) - expected;
        error += std::isfinite(difference) ? difference * difference : INFINITY;
        norm += expected * expected;
      }
    }
    check.rows += static_cast<std::int64_t>(chosen.size());
  }
  check.relative = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
  return check;
}

}  // namespace fattn::run
