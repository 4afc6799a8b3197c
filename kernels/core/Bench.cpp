// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/Bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "fattn/Error.h"
#include "fattn/TensorView.h"
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

// Of the types that are not floats, and of 8-bit floats, the bits are small random ones: all of them are numbers.
void encode(DType dtype, float value, std::byte* to) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto size = static_cast<std::size_t>(sizeInBytes(dtype));
  if (dtype == DType::F32) {
    std::memcpy(to, &bits, size);
  } else if (dtype == DType::F16 || dtype == DType::BF16) {
    auto half = static_cast<std::uint16_t>(bits >> 16);  // bf16
    if (dtype == DType::F16) {
      const std::uint32_t exponent = bits >> 23 & 255;
      half = static_cast<std::uint16_t>((bits >> 16 & 0x8000) | (exponent == 0 ? 0 : (exponent - 112) << 10 | (bits >> 13 & 1023)));
    }
    std::memcpy(to, &half, size);
  } else {
    auto number = static_cast<std::int64_t>(value * 32);
    if (dtype == DType::I1) number = number & 1;
    if (isFloat(dtype)) number = (number & 63) | (number < 0 ? 128 : 0);
    std::memcpy(to, &number, size);
  }
}

double decodeHalf(DType dtype, std::uint16_t half) {
  if (dtype == DType::BF16) return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const double magnitude = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                                          : std::ldexp(exponent == 0 ? fraction : fraction + 1024, std::max(exponent, 1) - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

double decodeByte(DType dtype, std::uint8_t byte) {
  const int mantissa = dtype == DType::F8E4M3 ? 3 : 2, bias = dtype == DType::F8E4M3 ? 7 : 15, top = dtype == DType::F8E4M3 ? 0x7f : 0x7d;
  if ((byte & 0x7f) >= top) return NAN;
  const int exponent = (byte & 0x7f) >> mantissa, fraction = byte & ((1 << mantissa) - 1);
  const double magnitude = std::ldexp(exponent == 0 ? fraction : fraction + (1 << mantissa), std::max(exponent, 1) - bias - mantissa);
  return byte & 0x80 ? -magnitude : magnitude;
}

double decode(DType dtype, const std::byte* from) {
  auto read = [&](auto value) {
    std::memcpy(&value, from, sizeof(value));
    return value;
  };
  switch (dtype) {
    case DType::F32:
      return read(0.0f);
    case DType::F16:
    case DType::BF16:
      return decodeHalf(dtype, read(std::uint16_t{0}));
    case DType::F8E4M3:
    case DType::F8E5M2:
      return decodeByte(dtype, read(std::uint8_t{0}));
    case DType::I32:
      return read(std::int32_t{0});
    case DType::I64:
      return static_cast<double>(read(std::int64_t{0}));
    case DType::I1:
    case DType::I8:
      break;
  }
  return read(std::int8_t{0});
}

}  // namespace

double tuneTolerance(DType dtype) {
  if (!isFloat(dtype)) return 0;
  return dtype == DType::F32 ? 4e-6 : dtype == DType::F16 ? 4e-3 : dtype == DType::BF16 ? 1e-2 : 2e-1;
}

class Bench::Buffer {
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

class Bench::BenchTrial final : public tuning::Trial {
 public:
  BenchTrial(Bench& bench, Launch launch) : bench_(bench), launch_(std::move(launch)) {}
  void measure(std::span<double> us) override { bench_.measure(launch_, us); }
  const Launch& launch() const { return launch_; }

 private:
  Bench& bench_;
  Launch launch_;
};

Bench::Bench(Device& device) : device_(device), stream_(device.createStream()) {
  const auto cache = static_cast<std::size_t>(std::max<std::int64_t>(device_.capabilities().cacheBytes, 0));
  flush_ = std::make_unique<Buffer>(
      device_, std::clamp(cache + cache / 4, kLeastFlush, device_.kind() == DeviceKind::Host ? kMostOnHost : kMostFlush));
  device_.fill(flush_->data(), 0, flush_->bytes(), stream_);
  device_.synchronize(stream_);
}

Bench::Buffer& Bench::allocate(DType dtype, std::int64_t elements) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, sizeInBytes(dtype), &bytes) || bytes < 0)
    throw Error(ErrorCode::OutOfMemory, "operands of the shape to tune would not fit into any memory");
  return *buffers_.emplace_back(std::make_unique<Buffer>(device_, static_cast<std::size_t>(bytes)));
}

void* Bench::operand(DType dtype, std::int64_t elements) {
  Buffer& buffer = allocate(dtype, elements);
  buffer.fillRandom(dtype, static_cast<unsigned>(buffers_.size()), stream_);
  return buffer.data();
}

void* Bench::result(DType dtype, std::int64_t elements, std::int64_t piece) {
  Buffer& buffer = allocate(dtype, elements);
  results_.push_back({&buffer, dtype, elements, std::clamp<std::int64_t>(piece, 1, std::max<std::int64_t>(elements, 1))});
  return buffer.data();
}

Bench::~Bench() {
  try {
    device_.synchronize(stream_);
    device_.destroyStream(stream_);
  } catch (const Error& error) {  // a lost device has nothing to wait for, and who lost it has been told
    log::write(log::Level::Debug, error.what());
  }
}

std::unique_ptr<tuning::Trial> Bench::trial(Launch launch) { return std::make_unique<BenchTrial>(*this, std::move(launch)); }

// What the last launch left in the caches is not what the next one finds in a model, where other kernels run in between. On the host a big
// fill would go past the caches, so every line is touched.
void Bench::flush() {
  if (device_.kind() != DeviceKind::Host) return device_.fill(flush_->data(), 0, flush_->bytes(), stream_);
  auto* bytes = static_cast<volatile unsigned char*>(flush_->data());
  for (std::size_t at = 0; at < flush_->bytes(); at += kLine) bytes[at] = static_cast<unsigned char>(bytes[at] + 1);
}

void Bench::measure(const Launch& launch, std::span<double> us) {
  struct Pair {
    std::unique_ptr<Event> begin, end;
  };
  std::vector<Pair> events(us.size());
  for (Pair& pair : events) {
    pair = {device_.createEvent(), device_.createEvent()};
    flush();
    pair.begin->record(stream_);
    launch(stream_);
    pair.end->record(stream_);
  }
  device_.synchronize(stream_);
  for (std::size_t i = 0; i < us.size(); ++i) us[i] = std::max(device_.elapsedMs(*events[i].begin, *events[i].end) * 1e3, 1e-3);
}

// Pieces spread over all of them, whole, as many as may be compared.
std::vector<double> Bench::valuesOf(const Result& result) {
  const std::int64_t pieces = result.elements / result.piece;
  const std::int64_t chosen = std::clamp<std::int64_t>(kCompared / result.piece, 1, std::max<std::int64_t>(pieces, 1));
  const auto size = static_cast<std::size_t>(sizeInBytes(result.dtype)), elements = static_cast<std::size_t>(result.piece);
  std::vector<std::byte> bytes(elements * size);
  std::vector<double> values;
  for (std::int64_t i = 0; pieces > 0 && i < chosen; ++i) {
    const auto at = static_cast<std::size_t>(chosen == 1 ? 0 : i * (pieces - 1) / (chosen - 1));
    device_.copy(bytes.data(), static_cast<std::byte*>(result.buffer->data()) + at * bytes.size(), bytes.size(), stream_);
    device_.synchronize(stream_);
    for (std::size_t e = 0; e < elements; ++e) values.push_back(decode(result.dtype, bytes.data() + e * size));
  }
  return values;
}

std::vector<std::vector<double>> Bench::resultsOf(const Launch& launch) {
  for (const Result& result : results_)
    device_.fill(result.buffer->data(), 0xff, result.buffer->bytes(), stream_);  // NaN in every float: what is not written is seen
  launch(stream_);
  std::vector<std::vector<double>> values;
  for (const Result& result : results_) values.push_back(valuesOf(result));
  return values;
}

std::optional<std::string> Bench::check(tuning::Trial& candidate, tuning::Trial& safe) {
  if (device_.capabilities().modelled) return std::nullopt;  // results are incomplete; what ran of them ran without a fault
  if (expected_.empty()) expected_ = resultsOf(dynamic_cast<BenchTrial&>(safe).launch());
  const std::vector<std::vector<double>> found = resultsOf(dynamic_cast<BenchTrial&>(candidate).launch());
  for (std::size_t r = 0; r < results_.size(); ++r) {
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < found[r].size(); ++i) {
      if (!std::isfinite(found[r][i])) return fmt::format("element {} is {}", i, found[r][i]);
      error += (found[r][i] - expected_[r][i]) * (found[r][i] - expected_[r][i]);
      norm += expected_[r][i] * expected_[r][i];
    }
    const double relative = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error), allowed = tuneTolerance(results_[r].dtype);
    if (relative > allowed)
      return fmt::format("the relative difference from the safe configuration is {:.2e}, {:.0e} is allowed", relative, allowed);
  }
  return std::nullopt;
}

}  // namespace fattn::kernels
