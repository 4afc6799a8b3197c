// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/Symbols.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "runtime/host/DevicePrint.h"

namespace fattn::host {
namespace {

template <typename Function>
void* address(Function* function) noexcept {
  return reinterpret_cast<void*>(function);
}

#if defined(__x86_64__)
// Conversions LLVM calls where the processor has no instruction for them. libgcc 12 lacks the bfloat16 ones, and its f16
// ones are not visible to a linker, so these are our own.
float extendF16(_Float16 value) { return static_cast<float>(value); }
_Float16 truncateToF16(float value) { return static_cast<_Float16>(value); }
_Float16 truncateDoubleToF16(double value) { return static_cast<_Float16>(value); }

// A bfloat16 travels in the low 16 bits of a vector register, as this float does. Round to nearest even; NaN stays NaN.
float truncateToBF16(float value) {
  auto bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t rounded = std::isnan(value) ? (bits >> 16) | 0x40 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return std::bit_cast<float>(rounded);
}
// To odd first (inexact results get an odd last bit), so that the second rounding cannot round twice.
float truncateDoubleToBF16(double value) {
  auto narrow = static_cast<float>(value);
  auto bits = std::bit_cast<std::uint32_t>(narrow);
  if (std::isfinite(narrow) && static_cast<double>(narrow) != value && (bits & 1) == 0)
    bits += std::fabs(static_cast<double>(narrow)) < std::fabs(value) ? 1 : -1;
  return truncateToBF16(std::bit_cast<float>(bits));
}
#endif

// The casts pick the overload for double or float where <cmath> has several.
#define FATTN_F32(function) {#function, address(static_cast<float (*)(float)>(&::function))}
#define FATTN_F64(function) {#function, address(static_cast<double (*)(double)>(&::function))}
#define FATTN_F32X2(function) {#function, address(static_cast<float (*)(float, float)>(&::function))}
#define FATTN_F64X2(function) {#function, address(static_cast<double (*)(double, double)>(&::function))}
#define FATTN_F32X3(function) {#function, address(static_cast<float (*)(float, float, float)>(&::function))}
#define FATTN_F64X3(function) {#function, address(static_cast<double (*)(double, double, double)>(&::function))}

const Symbol kSymbols[] = {
    {"memcpy", address(&std::memcpy)},
    {"memmove", address(&std::memmove)},
    {"memset", address(&std::memset)},
    {"memcmp", address(&std::memcmp)},
    {"bcmp", address(&std::memcmp)},
    {"fattn_device_print", address(&fattn_device_print)},
    FATTN_F32(expf),
    FATTN_F32(exp2f),
    FATTN_F32(expm1f),
    FATTN_F32(logf),
    FATTN_F32(log2f),
    FATTN_F32(log10f),
    FATTN_F32(log1pf),
    FATTN_F32(sqrtf),
    FATTN_F32(cbrtf),
    FATTN_F32(sinf),
    FATTN_F32(cosf),
    FATTN_F32(tanf),
    FATTN_F32(asinf),
    FATTN_F32(acosf),
    FATTN_F32(atanf),
    FATTN_F32(sinhf),
    FATTN_F32(coshf),
    FATTN_F32(tanhf),
    FATTN_F32(erff),
    FATTN_F32(erfcf),
    FATTN_F32(fabsf),
    FATTN_F32(floorf),
    FATTN_F32(ceilf),
    FATTN_F32(truncf),
    FATTN_F32(roundf),
    FATTN_F32(rintf),
    FATTN_F32(nearbyintf),
    FATTN_F32X2(powf),
    FATTN_F32X2(fmodf),
    FATTN_F32X2(fmaxf),
    FATTN_F32X2(fminf),
    FATTN_F32X2(atan2f),
    FATTN_F32X2(copysignf),
    FATTN_F32X3(fmaf),
    FATTN_F64(exp),
    FATTN_F64(exp2),
    FATTN_F64(expm1),
    FATTN_F64(log),
    FATTN_F64(log2),
    FATTN_F64(log10),
    FATTN_F64(log1p),
    FATTN_F64(sqrt),
    FATTN_F64(cbrt),
    FATTN_F64(sin),
    FATTN_F64(cos),
    FATTN_F64(tan),
    FATTN_F64(asin),
    FATTN_F64(acos),
    FATTN_F64(atan),
    FATTN_F64(sinh),
    FATTN_F64(cosh),
    FATTN_F64(tanh),
    FATTN_F64(erf),
    FATTN_F64(erfc),
    FATTN_F64(fabs),
    FATTN_F64(floor),
    FATTN_F64(ceil),
    FATTN_F64(trunc),
    FATTN_F64(round),
    FATTN_F64(rint),
    FATTN_F64(nearbyint),
    FATTN_F64X2(pow),
    FATTN_F64X2(fmod),
    FATTN_F64X2(fmax),
    FATTN_F64X2(fmin),
    FATTN_F64X2(atan2),
    FATTN_F64X2(copysign),
    FATTN_F64X3(fma),
    {"ldexp", address(static_cast<double (*)(double, int)>(&::ldexp))},
    {"ldexpf", address(static_cast<float (*)(float, int)>(&::ldexpf))},
#if defined(__x86_64__)
    {"__extendhfsf2", address(&extendF16)},
    {"__gnu_h2f_ieee", address(&extendF16)},
    {"__truncsfhf2", address(&truncateToF16)},
    {"__gnu_f2h_ieee", address(&truncateToF16)},
    {"__truncdfhf2", address(&truncateDoubleToF16)},
    {"__truncsfbf2", address(&truncateToBF16)},
    {"__truncdfbf2", address(&truncateDoubleToBF16)},
#endif
};

}  // namespace

std::span<const Symbol> symbols() { return kSymbols; }

}  // namespace fattn::host
