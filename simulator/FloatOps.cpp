// SPDX-License-Identifier: Apache-2.0
// Arithmetic of floats of 32 and 64 bits. The transcendental functions are the exact ones, rounded; hardware's are within one unit in the
// last place.
#include <bit>
#include <cmath>
#include <limits>

#include "simulator/Lanes.h"

namespace fattn::simulator {
namespace {

using U = std::uint32_t;
using I = std::int32_t;

float median(float a, float b, float c) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(c)) return minimumNumber(minimumNumber(a, b), c);
  return maximumNumber(minimumNumber(a, b), minimumNumber(maximumNumber(a, b), c));
}

float fraction(float value) { return std::fmin(value - std::floor(value), 0x1.fffffep-1F); }

I frexpExponent(float value) {
  int exponent = 0;
  if (!std::isfinite(value) || value == 0) return 0;
  std::frexp(value, &exponent);
  return exponent;
}
float frexpMantissa(float value) {
  int exponent = 0;
  return std::isfinite(value) ? std::frexp(value, &exponent) : value;
}

void addArithmetic32(std::vector<Row>& rows) {
  rows.push_back(laneRow<[](float a, float b) { return a + b; }>("v_add_f32"));
  rows.push_back(laneRow<[](float a, float b) { return a - b; }>("v_sub_f32"));
  rows.push_back(laneRow<[](float a, float b) { return b - a; }>("v_subrev_f32"));
  rows.push_back(laneRow<[](float a, float b) { return a * b; }>("v_mul_f32"));
  rows.push_back(laneRow<[](float a, float b) { return a == 0 || b == 0 ? 0.0F : a * b; }>("v_mul_legacy_f32"));
  rows.push_back(laneRow<[](float a, float b, float c) { return std::fma(a, b, c); }>("v_fma_f32"));
  rows.push_back(laneRow<[](float a, float b, float c) { return std::fma(a, b, c); }>("v_fmaak_f32"));
  rows.push_back(laneRow<[](float a, float b, float c) { return std::fma(a, b, c); }>("v_fmamk_f32"));
  rows.push_back(accumulatingRow<[](float a, float b, float c) { return std::fma(a, b, c); }>("v_fmac_f32"));
  rows.push_back(laneRow<[](float a, float b) { return minimumNumber(a, b); }>("v_min_f32"));
  rows.push_back(laneRow<[](float a, float b) { return maximumNumber(a, b); }>("v_max_f32"));
  rows.push_back(laneRow<[](float a, float b) { return minimum(a, b); }>("v_minimum_f32"));
  rows.push_back(laneRow<[](float a, float b) { return maximum(a, b); }>("v_maximum_f32"));
  rows.push_back(laneRow<[](float a, float b, float c) { return minimumNumber(minimumNumber(a, b), c); }>("v_min3_f32"));
  rows.push_back(laneRow<[](float a, float b, float c) { return maximumNumber(maximumNumber(a, b), c); }>("v_max3_f32"));
  rows.push_back(laneRow<[](float a, float b, float c) { return minimum(minimum(a, b), c); }>("v_minimum3_f32"));
  rows.push_back(laneRow<[](float a, float b, float c) { return maximum(maximum(a, b), c); }>("v_maximum3_f32"));
  rows.push_back(laneRow<[](float a, float b, float c) { return minimumNumber(maximumNumber(a, b), c); }>("v_maxmin_f32"));
  rows.push_back(laneRow<[](float a, float b, float c) { return maximumNumber(minimumNumber(a, b), c); }>("v_minmax_f32"));
  rows.push_back(laneRow<[](float a, float b, float c) { return median(a, b, c); }>("v_med3_f32"));
  rows.push_back(laneRow<[](float a, I b) { return std::ldexp(a, b); }>("v_ldexp_f32"));
  rows.push_back(laneRow<[](float q, float d, float n) { return fixQuotient(q, d, n); }>("v_div_fixup_f32"));
}

void addFunctions(std::vector<Row>& rows) {
  rows.push_back(laneRow<[](float a) { return flush(std::exp2(flush(a))); }>("v_exp_f32"));
  rows.push_back(laneRow<[](float a) { return std::log2(flush(a)); }>("v_log_f32"));
  rows.push_back(laneRow<[](float a) { return flush(1.0F / flush(a)); }>("v_rcp_f32"));
  rows.push_back(laneRow<[](float a) { return flush(1.0F / flush(a)); }>("v_rcp_iflag_f32"));
  rows.push_back(laneRow<[](float a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(flush(a)))); }>("v_rsq_f32"));
  rows.push_back(laneRow<[](float a) { return std::sqrt(flush(a)); }>("v_sqrt_f32"));
  rows.push_back(laneRow<[](float a) { return static_cast<float>(std::sin(6.283185307179586 * static_cast<double>(a))); }>("v_sin_f32"));
  rows.push_back(laneRow<[](float a) { return static_cast<float>(std::cos(6.283185307179586 * static_cast<double>(a))); }>("v_cos_f32"));
  rows.push_back(laneRow<[](float a) { return std::floor(a); }>("v_floor_f32"));
  rows.push_back(laneRow<[](float a) { return std::ceil(a); }>("v_ceil_f32"));
  rows.push_back(laneRow<[](float a) { return std::trunc(a); }>("v_trunc_f32"));
  rows.push_back(laneRow<[](float a) { return std::nearbyint(a); }>("v_rndne_f32"));
  rows.push_back(laneRow<[](float a) { return fraction(a); }>("v_fract_f32"));
  rows.push_back(laneRow<[](float a) { return frexpExponent(a); }>("v_frexp_exp_i32_f32"));
  rows.push_back(laneRow<[](float a) { return frexpMantissa(a); }>("v_frexp_mant_f32"));
}

void addDouble(std::vector<Row>& rows) {
  rows.push_back(laneRow<[](double a, double b) { return a + b; }>("v_add_f64"));
  rows.push_back(laneRow<[](double a, double b) { return a * b; }>("v_mul_f64"));
  rows.push_back(laneRow<[](double a, double b, double c) { return std::fma(a, b, c); }>("v_fma_f64"));
  rows.push_back(accumulatingRow<[](double a, double b, double c) { return std::fma(a, b, c); }>("v_fmac_f64"));
  rows.push_back(laneRow<[](double a, double b) { return minimumNumber(a, b); }>("v_min_f64"));
  rows.push_back(laneRow<[](double a, double b) { return maximumNumber(a, b); }>("v_max_f64"));
  rows.push_back(laneRow<[](double a, I b) { return std::ldexp(a, b); }>("v_ldexp_f64"));
  rows.push_back(laneRow<[](double a) { return std::floor(a); }>("v_floor_f64"));
  rows.push_back(laneRow<[](double a) { return std::ceil(a); }>("v_ceil_f64"));
  rows.push_back(laneRow<[](double a) { return std::trunc(a); }>("v_trunc_f64"));
  rows.push_back(laneRow<[](double a) { return std::nearbyint(a); }>("v_rndne_f64"));
}

}  // namespace

std::vector<Row> floatRows() {
  std::vector<Row> rows;
  addArithmetic32(rows);
  addFunctions(rows);
  addDouble(rows);
  return rows;
}

}  // namespace fattn::simulator
