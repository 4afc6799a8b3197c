// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-run/DecodeJob.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "tools/io/Convert.h"
#include "tools/io/Reference.h"

namespace fattn::run {
namespace {

std::size_t nth(std::int64_t index) { return static_cast<std::size_t>(index); }

io::HostTensor integers(const std::vector<std::int32_t>& values, std::vector<std::int64_t> shape) {
  io::HostTensor tensor = io::HostTensor::allocate(DType::I32, std::move(shape));
  std::memcpy(tensor.data(), values.data(), values.size() * sizeof(std::int32_t));
  return tensor;
}

/// All the same, or from 1 to the most by a linear congruence.
std::vector<std::int32_t> lengthsOf(const DecodeOptions& decode, std::uint64_t seed) {
  std::vector<std::int32_t> lengths(nth(decode.batch), static_cast<std::int32_t>(decode.keys));
  std::uint64_t state = seed;
  for (std::int32_t& length : lengths) {
    state = state * 6364136223846793005 + 1442695040888963407;
    if (decode.ragged) length = static_cast<std::int32_t>(1 + (state >> 33) % static_cast<std::uint64_t>(decode.keys));
  }
  return lengths;
}

std::int64_t pagesOf(const DecodeOptions& decode) {
  return decode.pageSize > 0 ? (decode.keys + decode.pageSize - 1) / decode.pageSize : 0;
}

/// Neighbours of a sequence lie far from each other: the pages of the sequences take turns, from the last on.
std::vector<std::int32_t> tableOf(const DecodeOptions& decode) {
  const std::int64_t pages = pagesOf(decode), all = decode.batch * pages;
  std::vector<std::int32_t> table;
  for (std::int64_t b = 0; b < decode.batch; ++b)
    for (std::int64_t p = 0; p < pages; ++p) table.push_back(static_cast<std::int32_t>(all - 1 - (p * decode.batch + b)));
  return table;
}

DecodeKernel compiled(const Options& options, const DecodeOptions& decode, DType dtype) {
  DecodeConfig config{.dtype = dtype,
                      .head_dim = decode.dim,
                      .rows = decode.headsQ / decode.headsKv * decode.queries,
                      .causal = decode.causal,
                      .page_size = decode.pageSize,
                      .window = decode.window > 0,
                      .append = decode.append,
                      .settled_cache = decode.settled,
                      .target = options.target};
  if (options.config != TileConfig{}) config.tile = options.config;
  return compile(config);
}

}  // namespace

DecodeEngine::DecodeEngine(const Options& options, const DecodeOptions& decode, DType dtype)
    : decode_(decode),
      dtype_(dtype),
      kernel_(compiled(options, decode, dtype)),
      device_(openDevice(kernel_.info().target)),
      memory_(device_) {
  const std::int64_t B = decode.batch;
  q_ = drawn(dtype, {B, decode.headsQ, decode.queries, decode.dim}, options.seed, 0);
  k_ = drawn(dtype, {B, decode.headsKv, decode.keys, decode.dim}, options.seed, 1);
  v_ = drawn(dtype, {B, decode.headsKv, decode.keys, decode.dim}, options.seed, 2);
  o_ = io::HostTensor::allocate(dtype, q_.shape());
  lengths_ = lengthsOf(decode, options.seed);  // behind the tensors, which refuse sizes that are none
  const std::vector<std::int32_t> table = tableOf(decode);
  args_.q = memory_.put(q_), args_.o = memory_.put(o_);
  args_.k = memory_.put(cacheOf(k_, table)), args_.v = memory_.put(cacheOf(v_, table));
  args_.lengths = memory_.put(integers(lengths_, {B}));
  if (decode.pageSize > 0) args_.pages = memory_.put(integers(table, {B, pagesOf(decode)}));
  if (decode.append) args_.new_k = memory_.put(newRowsOf(k_)), args_.new_v = memory_.put(newRowsOf(v_));
  args_.window = decode.window;
  args_.splits = decode.splits;
  args_.workspace_bytes = kernel_.workspaceBytes(args_);
  args_.workspace = memory_.allocate(args_.workspace_bytes);
  const KernelCode& code = kernel_.info();
  target = code.target, device = code.device, config = code.tile.toString(), compileMs = code.compile_ms, fromCache = code.from_cache;
  const DecodeConfig& used = kernel_.config();
  parameters = "dtype=" + std::string(name(dtype)) + ",rows=" + std::to_string(used.rows) + ",causal=" + (used.causal ? "true" : "false") +
               ",page_size=" + std::to_string(used.page_size) + ",window=" + std::to_string(args_.window) +
               ",append=" + (used.append ? "true" : "false") + ",settled_cache=" + (used.settled_cache ? "true" : "false") +
               ",splits=" + std::to_string(splits());
}

// Each row that the launch does not append to its page, or to its sequence; the rest is NaN.
io::HostTensor DecodeEngine::cacheOf(const io::HostTensor& values, const std::vector<std::int32_t>& table) const {
  const std::int64_t P = decode_.pageSize, pages = pagesOf(decode_), rows = P > 0 ? P : decode_.keys,
                     blocks = decode_.batch * (P > 0 ? pages : 1);
  const std::int64_t bytes = decode_.dim * sizeInBytes(dtype_);
  io::HostTensor cache = io::HostTensor::allocate(dtype_, {blocks, decode_.headsKv, rows, decode_.dim});
  std::vector<std::byte> nothing(nth(bytes));
  const std::vector<float> nan(nth(decode_.dim), std::numeric_limits<float>::quiet_NaN());
  io::fromFloat(dtype_, nan.data(), nothing.data(), nan.size());
  for (std::int64_t at = 0; at < cache.bytes(); at += bytes) std::memcpy(cache.data() + at, nothing.data(), nothing.size());
  for (std::int64_t b = 0; b < decode_.batch; ++b)
    for (std::int64_t h = 0; h < decode_.headsKv; ++h)
      for (std::int64_t t = 0; t < lengths_[nth(b)] - (decode_.append ? decode_.queries : 0); ++t) {
        const std::int64_t block = P > 0 ? table[nth(b * pages + t / P)] : b, row = P > 0 ? t % P : t;
        std::memcpy(cache.data() + ((block * decode_.headsKv + h) * rows + row) * bytes,
                    values.data() + ((b * decode_.headsKv + h) * decode_.keys + t) * bytes, nth(bytes));
      }
  return cache;
}

// The last keys of each sequence; zeros where it has fewer than query rows.
io::HostTensor DecodeEngine::newRowsOf(const io::HostTensor& values) const {
  const std::int64_t heads = decode_.headsKv, count = decode_.queries, bytes = decode_.dim * sizeInBytes(dtype_);
  io::HostTensor rows = io::HostTensor::allocate(dtype_, {decode_.batch, heads, count, decode_.dim});
  for (std::int64_t head = 0; head < decode_.batch * heads; ++head)
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t key = lengths_[nth(head / heads)] - count + i;
      std::byte* to = rows.data() + (head * count + i) * bytes;
      if (key < 0)
        std::memset(to, 0, nth(bytes));
      else
        std::memcpy(to, values.data() + (head * decode_.keys + key) * bytes, nth(bytes));
    }
  return rows;
}

double DecodeEngine::launch() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  kernel_.launch({}, args_);
  device_.synchronize();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double DecodeEngine::bytes() const {
  double keys = 0;
  for (const std::int32_t length : lengths_)
    keys += static_cast<double>(decode_.window > 0 ? std::min<std::int64_t>(length, decode_.window + decode_.queries - 1) : length);
  return 2 * static_cast<double>(decode_.dim * sizeInBytes(dtype_)) *
         (keys * static_cast<double>(decode_.headsKv) + static_cast<double>(rows()));
}

// With a window each query row sees keys of its own.
std::vector<DecodeEngine::Rows> DecodeEngine::pieces() const {
  std::vector<Rows> all;
  for (std::int64_t b = 0; b < decode_.batch; ++b) {
    const std::int64_t length = lengths_[nth(b)], S = decode_.queries;
    if (decode_.window == 0) all.push_back({b, 0, S, 0, length, decode_.causal});
    for (std::int64_t i = 0; decode_.window > 0 && i < S; ++i) {
      const std::int64_t place = length - S + i, first = std::max<std::int64_t>(place + 1 - decode_.window, 0);
      const std::int64_t end = decode_.causal ? std::max<std::int64_t>(place + 1, 0) : length;
      all.push_back({b, i, 1, std::min(first, end), end, false});
    }
  }
  return all;
}

std::int64_t DecodeEngine::compare(const Rows& rows, std::uint64_t seed, double budget, double& error, double& norm) const {
  const auto partOf = [&](const io::HostTensor& tensor, std::int64_t first, std::int64_t count) {
    io::View4 view = tensor.view(io::Layout::BHSD);
    view.data += (rows.sequence * view.strides[0] + first * view.strides[2]) * sizeInBytes(dtype_);
    view.shape[0] = 1, view.shape[2] = count;
    return view;
  };
  const std::int64_t D = decode_.dim, keys = rows.endKey - rows.firstKey;
  const io::AttentionShape shape{1, decode_.headsQ, decode_.headsKv, rows.count, keys, D, D, rows.causal};
  const std::vector<std::int64_t> chosen = io::chooseRows(shape, seed, budget);
  const io::Reference want = io::attentionReference(shape, 1 / std::sqrt(static_cast<double>(D)), partOf(q_, rows.first, rows.count),
                                                    partOf(k_, rows.firstKey, keys), partOf(v_, rows.firstKey, keys), chosen);
  std::vector<float> got(nth(D));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::int64_t head = rows.sequence * decode_.headsQ + chosen[i] / rows.count;
    const std::int64_t row = head * decode_.queries + rows.first + chosen[i] % rows.count;
    io::toFloat(dtype_, o_.data() + row * D * sizeInBytes(dtype_), got.data(), got.size());
    for (std::size_t d = 0; d < got.size(); ++d) {
      const double expected = want.o[i * got.size() + d], difference = static_cast<double>(got[d]) - expected;
      error += std::isfinite(difference) ? difference * difference : INFINITY;
      norm += expected * expected;
    }
  }
  return static_cast<std::int64_t>(chosen.size());
}

KernelCheck DecodeEngine::check(std::uint64_t seed) {
  memory_.fetch(o_, args_.o);
  KernelCheck check{.allowed = dtype_ == DType::F32 ? 4e-6 : dtype_ == DType::F16 ? 2e-3 : 6e-3};
  constexpr double kBudget = 6e9;
  double error = 0, norm = 0;
  const std::vector<Rows> all = pieces();
  for (const Rows& rows : all) check.rows += compare(rows, seed, kBudget / static_cast<double>(all.size()), error, norm);
  check.relative = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
  return check;
}

}  // namespace fattn::run
