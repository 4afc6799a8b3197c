// SPDX-License-Identifier: Apache-2.0
#include "simulator/FloatMode.h"

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "fattn/Error.h"

namespace fattn::simulator {

FloatMode::FloatMode(std::uint32_t mode) {
  if ((mode & 0xf) != 0)
    throw Error(ErrorCode::Unsupported, "the kernel rounds other than to the nearest even number, which the simulator does not");
  std::uint32_t denormals = mode >> 4 & 3;
  if (denormals == 1 || denormals == 2)
    throw Error(ErrorCode::Unsupported, "the kernel flushes only its inputs or only its results, which the simulator does not");
#ifdef __SSE2__
  saved_ = _mm_getcsr();
  constexpr std::uint32_t kFlush = 0x8040;  // results that are denormal, and sources
  _mm_setcsr(denormals == 0 ? saved_ | kFlush : saved_ & ~kFlush);
#else
  if (denormals == 0)
    throw Error(ErrorCode::Unsupported, "the kernel switches denormals off, which the simulator does on x86-64 hosts only");
#endif
}

FloatMode::~FloatMode() {
#ifdef __SSE2__
  _mm_setcsr(saved_);
#endif
}

}  // namespace fattn::simulator
