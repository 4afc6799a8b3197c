// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/AttentionTrial.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/base/Log.h"

namespace fattn::kernels {
namespace {

// A host's largest cache may be that of many cores, of which one could flush it in no reasonable time: what is flushed there is the caches
// of the cores, and a share of it.
constexpr std::size_t kLeastFlush = std::size_t{16} << 20, kMostFlush = std::size_t{256} << 20, kMostOnHost = std::size_t{32} << 20,
                      kLine = 64;
constexpr std::int64_t kCompared = 1 << 22;  // elements of the results that are compared at the most

// A multiple of 1/32 of small size, which every element type holds exactly, about normally distributed: what a chip's clock makes of
// random operands differs from what it makes of zeros.
float randomValue(std::minstd_rand& random) {
  const std::uint32_t bits = static_cast<std::uint32_t>(random()) >> 3;
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<int>(bits >> (6 * i) & 63) - 32;
  return static_cast<float>(std::clamp(sum, -127, 127)) / 32;
}

void encode(DType dtype, float value, std::byte* to) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (dtype == DType::F32) {
    std::memcpy(to, &bits, 4);
    return;
  }
  auto half = static_cast<std::uint16_t>(bits >> 16);  // bf16
  if (dtype == DType::F16) {
    const std::uint32_t exponent = bits >> 23 & 255;
    half = static_cast<std::uint16_t>((bits >> 16 & 0x8000) | (exponent == 0 ? 0 : (exponent - 112) << 10 | (bits >> 13 & 1023)));
  }
  std::memcpy(to, &half, 2);
}

double decode(DType dtype, const std::byte* from) {
  if (dtype == DType::F32) {
    float value = 0;
    std::memcpy(&value, from, 4);
    return value;
  }
  std::uint16_t half = 0;
  std::memcpy(&half, from, 2);
  if (dtype == DType::BF16) return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const double magnitude = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                                          : std::ldexp(exponent == 0 ? fraction : fraction + 1024, std::max(exponent, 1) - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

}  // namespace

double tuneTolerance(DType dtype) { return dtype == DType::F32 ? 4e-6 : dtype == DType::F16 ? 4e-3 : 1e-2; }

class AttentionBench::Buffer {
 public:
  Buffer(Device& device, std::size_t bytes) : device_(device), bytes_(bytes), data_(device.allocate(bytes)) {}
  ~Buffer() { device_.free(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  // A block of random values over and over: it is the same for caches and multipliers, and drawn in no time.
  void fillRandom(DType dtype, unsigned seed, Stream stream) {
    std::minstd_rand random(seed);
    const auto size = static_cast<std::size_t>(sizeInBytes(dtype));
    std::vector<std::byte> block(std::min<std::size_t>(bytes_, (std::size_t{1} << 20) - 4096 - 64));
    for (std::size_t at = 0; at + size <= block.size(); at += size) encode(dtype, randomValue(random), block.data() + at);
    for (std::size_t at = 0; at < bytes_; at += block.size())
      device_.copy(static_cast<std::byte*>(data_) + at, block.data(), std::min(block.size(), bytes_ - at), stream);
    device_.synchronize(stream);
  }

 private:
  Device& device_;
  std::size_t bytes_;
  void* data_;
};

class AttentionBench::BenchTrial final : public tune::Trial {
 public:
  BenchTrial(AttentionBench& bench, Kernel kernel) : bench_(bench), kernel_(std::move(kernel)) {}
  void measure(std::span<double> us) override { bench_.measure(kernel_, us); }
  const Kernel& kernel() const { return kernel_; }

 private:
  AttentionBench& bench_;
  Kernel kernel_;
};

AttentionBench::AttentionBench(const AttentionConfig& config, const ShapeHint& shape)
    : config_(config), shape_(shape), device_(openDevice(config.target)), stream_(device_.createStream()) {
  const std::int64_t d = config.head_dim, dv = config.head_dim_v;
  unsigned seed = 1;
  auto tensor = [&](std::unique_ptr<Buffer>& buffer, std::int64_t rows, std::int64_t columns) {
    TensorView view(nullptr, config_.dtype, {shape_.batch, shape_.heads, rows, columns});
    if (view.checkedBytes() < 0) throw Error(ErrorCode::OutOfMemory, "operands of the shape to tune would not fit into any memory");
    buffer = std::make_unique<Buffer>(device_, static_cast<std::size_t>(view.checkedBytes()));
    buffer->fillRandom(config_.dtype, seed++, stream_);
    view.data = buffer->data();
    return view;
  };
  args_ = {
      .q = tensor(q_, shape.seq_q, d), .k = tensor(k_, shape.seq_k, d), .v = tensor(v_, shape.seq_k, dv), .o = tensor(o_, shape.seq_q, dv)};
  const auto cache = static_cast<std::size_t>(std::max<std::int64_t>(device_.capabilities().cacheBytes, 0));
  flush_ = std::make_unique<Buffer>(
      device_, std::clamp(cache + cache / 4, kLeastFlush, device_.kind() == DeviceKind::Host ? kMostOnHost : kMostFlush));
  device_.fill(flush_->data(), 0, flush_->bytes(), stream_);
  device_.synchronize(stream_);
}

AttentionBench::~AttentionBench() {
  try {
    device_.synchronize(stream_);
    device_.destroyStream(stream_);
  } catch (const Error& error) {  // a lost device has nothing to wait for, and who lost it has been told
    log::write(log::Level::Debug, error.what());
  }
}

std::unique_ptr<tune::Trial> AttentionBench::trial(Kernel kernel) { return std::make_unique<BenchTrial>(*this, std::move(kernel)); }

// What the last launch left in the caches is not what the next one finds in a model, where other kernels run in between. On the host a big
// fill would go past the caches, so every line is touched.
void AttentionBench::flush() {
  if (device_.kind() != DeviceKind::Host) return device_.fill(flush_->data(), 0, flush_->bytes(), stream_);
  auto* bytes = static_cast<volatile unsigned char*>(flush_->data());
  for (std::size_t at = 0; at < flush_->bytes(); at += kLine) bytes[at] = static_cast<unsigned char>(bytes[at] + 1);
}

void AttentionBench::measure(const Kernel& kernel, std::span<double> us) {
  struct Pair {
    std::unique_ptr<Event> begin, end;
  };
  std::vector<Pair> events(us.size());
  for (Pair& pair : events) {
    pair = {device_.createEvent(), device_.createEvent()};
    flush();
    pair.begin->record(stream_);
    kernel.launch(stream_, args_);
    pair.end->record(stream_);
  }
  device_.synchronize(stream_);
  for (std::size_t i = 0; i < us.size(); ++i) us[i] = std::max(device_.elapsedMs(*events[i].begin, *events[i].end) * 1e3, 1e-3);
}

// Heads spread over all of them, whole, as many as may be compared.
std::vector<double> AttentionBench::results(const Kernel& kernel) {
  device_.fill(o_->data(), 0xff, o_->bytes(), stream_);  // NaN in every type: what is not written does not look like a result
  kernel.launch(stream_, args_);
  const std::int64_t head = shape_.seq_q * config_.head_dim_v, heads = shape_.batch * shape_.heads;
  const std::int64_t chosen = std::clamp<std::int64_t>(kCompared / std::max<std::int64_t>(head, 1), 1, heads);
  const auto size = static_cast<std::size_t>(sizeInBytes(config_.dtype)), elements = static_cast<std::size_t>(head);
  std::vector<std::byte> bytes(elements * size);
  std::vector<double> values;
  for (std::int64_t i = 0; i < chosen; ++i) {
    const auto at = static_cast<std::size_t>(chosen == 1 ? 0 : i * (heads - 1) / (chosen - 1));
    device_.copy(bytes.data(), static_cast<std::byte*>(o_->data()) + at * bytes.size(), bytes.size(), stream_);
    device_.synchronize(stream_);
    for (std::size_t e = 0; e < elements; ++e) values.push_back(decode(config_.dtype, bytes.data() + e * size));
  }
  return values;
}

std::optional<std::string> AttentionBench::check(tune::Trial& candidate, tune::Trial& safe) {
  if (expected_.empty()) expected_ = results(dynamic_cast<BenchTrial&>(safe).kernel());
  const std::vector<double> found = results(dynamic_cast<BenchTrial&>(candidate).kernel());
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!std::isfinite(found[i])) return fmt::format("element {} is {}", i, found[i]);
    error += (found[i] - expected_[i]) * (found[i] - expected_[i]);
    norm += expected_[i] * expected_[i];
  }
  const double relative = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
  if (relative <= tuneTolerance(config_.dtype)) return std::nullopt;
  return fmt::format("the relative difference from the safe configuration is {:.2e}, {:.0e} is allowed", relative,
                     tuneTolerance(config_.dtype));
}

}  // namespace fattn::kernels
