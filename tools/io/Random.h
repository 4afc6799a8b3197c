// SPDX-License-Identifier: Apache-2.0
// Seeded normal random numbers, the same bits on every platform and for every number of threads.
//
// Element pair i of stream s of seed x is computed from the 64-bit word
//     w = mix(mix(x + G * s) + G * (i + 1)),   G = 0x9e3779b97f4a7c15,
// where mix is SplitMix64's finalizer (Steele, Lea, Flood 2014: shifts 30, 27, 31, multipliers 0xbf58476d1ce4e5b9, 0x94d049bb133111eb), by
// Box-Muller: u = (high half of w + 1) / 2^32, t = 2 pi (low half of w) / 2^32,
//     element 2i = sqrt(-2 ln u) cos t,   element 2i + 1 = sqrt(-2 ln u) sin t,
// in double with own polynomials for ln, sin and cos (relative error below 1e-12), rounded to float. Only + - * / and sqrt are used and
// no contraction is allowed, so IEEE 754 fixes every bit. The largest magnitude is sqrt(64 ln 2) = 6.66.
#ifndef FATTN_TOOLS_IO_RANDOM_H
#define FATTN_TOOLS_IO_RANDOM_H

#include <cstdint>

#include "tools/io/HostTensor.h"

namespace fattn::io {

/// Elements [begin, begin + n) of a stream of standard normal numbers. Precondition: begin is even.
void normal(std::uint64_t seed, std::uint64_t stream, std::int64_t begin, float* target, std::int64_t n);

/// Fills a dense tensor in memory order with normal numbers, rounded to its type.
void fillNormal(HostTensor& tensor, std::uint64_t seed, std::uint64_t stream, int threads);

/// SplitMix64 as a sequence, for choices.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// Uniform in [0, bound); the bias of the multiplication is below bound / 2^64.
  std::int64_t below(std::int64_t bound);

 private:
  std::uint64_t state_;
};

}  // namespace fattn::io

#endif
