// SPDX-License-Identifier: Apache-2.0
// Compiled without contraction to fused multiply-adds (see CMakeLists.txt): the bits are part of the contract.
#include "tools/io/Random.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tools/io/Convert.h"
#include "tools/io/Parallel.h"

namespace fattn::io {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Natural logarithm of a positive normal number: 2 artanh((m - 1) / (m + 1)) for a mantissa m in [sqrt 1/2, sqrt 2), plus the exponent.
double logarithm(double x) {
  constexpr double kLn2 = 0.693147180559945309417;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t shifted = bits - 0x3fe6a09e667f3bcdu;  // the bits of sqrt 1/2
  const std::int64_t exponent = static_cast<std::int64_t>(shifted) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << 52));
  const double s = (m - 1) / (m + 1), z = s * s;
  double series = 0;
#pragma GCC unroll 9
  for (int odd = 17; odd >= 1; odd -= 2) series = series * z + 1.0 / odd;
  return static_cast<double>(exponent) * kLn2 + 2 * s * series;
}

struct SinCos {
  double sin, cos;
};

/// Of 2 pi turn / 2^32: the nearest quarter turn is taken off, the rest is below pi/4.
SinCos sinCos(std::uint32_t turn) {
  constexpr double kScale = 6.28318530717958647692 / 4294967296.0;
  const std::uint32_t quarter = (turn + 0x20000000u) >> 30;
  const double x = static_cast<double>(static_cast<std::int32_t>(turn - (quarter << 30))) * kScale, z = x * x;
  double s = 1, c = 1;
#pragma GCC unroll 7
  for (int k = 14; k >= 2; k -= 2) {
    s = 1 - s * z * (1.0 / (k * (k + 1)));
    c = 1 - c * z * (1.0 / (k * (k - 1)));
  }
  s *= x;
  const double a = (quarter & 1) != 0 ? c : s, b = (quarter & 1) != 0 ? s : c;
  return {(quarter & 2) != 0 ? -a : a, ((quarter + 1) & 2) != 0 ? -b : b};
}

}  // namespace

void normal(std::uint64_t seed, std::uint64_t stream, std::int64_t begin, float* target, std::int64_t n) {
  const std::uint64_t key = mix(seed + kGolden * stream);
  for (std::int64_t i = 0; i < n; i += 2) {
    const std::uint64_t w = mix(key + kGolden * (static_cast<std::uint64_t>(begin + i) / 2 + 1));
    const double u = (static_cast<double>(w >> 32) + 1) / 4294967296.0, radius = std::sqrt(-2 * logarithm(u));
    const SinCos angle = sinCos(static_cast<std::uint32_t>(w));
    target[i] = static_cast<float>(radius * angle.cos);
    if (i + 1 < n) target[i + 1] = static_cast<float>(radius * angle.sin);
  }
}

void fillNormal(HostTensor& tensor, std::uint64_t seed, std::uint64_t stream, int threads) {
  constexpr std::int64_t kChunk = 4096;
  const std::int64_t chunks = (tensor.elements() + kChunk - 1) / kChunk;
  parallelFor(chunks, threads, [&](std::int64_t chunk) {
    float values[kChunk];
    const std::int64_t at = chunk * kChunk, n = std::min(kChunk, tensor.elements() - at);
    normal(seed, stream, at, values, n);
    fromFloat(tensor.dtype(), values, tensor.data() + at * sizeInBytes(tensor.dtype()), static_cast<std::size_t>(n));
  });
}

std::uint64_t SplitMix64::next() { return mix(state_ += kGolden); }

std::int64_t SplitMix64::below(std::int64_t bound) {
  return static_cast<std::int64_t>((static_cast<unsigned __int128>(next()) * static_cast<std::uint64_t>(bound)) >> 64);
}

}  // namespace fattn::io
