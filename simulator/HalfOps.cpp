// SPDX-License-Identifier: Apache-2.0
// Arithmetic of floats of 16 bits. Sums, products, quotients and roots of two of them round once when they are computed with 24 bits; where
// they are added to a product, 53 bits are taken and rounded to odd in between.
#include <cmath>

#include "simulator/Lanes.h"

namespace fattn::simulator {
namespace {

Half minimumHalf(Half a, Half b) { return {minimumNumber(a.value, b.value)}; }
Half maximumHalf(Half a, Half b) { return {maximumNumber(a.value, b.value)}; }
Half minimumOrNan(Half a, Half b) { return {minimum(a.value, b.value)}; }
Half maximumOrNan(Half a, Half b) { return {maximum(a.value, b.value)}; }
WideHalf fusedHalf(Half a, Half b, Half c) {
  return {std::fma(static_cast<double>(a.value), static_cast<double>(b.value), static_cast<double>(c.value))};
}

Half median(Half a, Half b, Half c) {
  if (std::isnan(a.value) || std::isnan(b.value) || std::isnan(c.value)) return minimumHalf(minimumHalf(a, b), c);
  return maximumHalf(minimumHalf(a, b), minimumHalf(maximumHalf(a, b), c));
}

void addHalfArithmetic(std::vector<Row>& rows) {
  rows.push_back(laneRow<[](Half a, Half b) { return Half{a.value + b.value}; }>("v_add_f16"));
  rows.push_back(laneRow<[](Half a, Half b) { return Half{a.value - b.value}; }>("v_sub_f16"));
  rows.push_back(laneRow<[](Half a, Half b) { return Half{b.value - a.value}; }>("v_subrev_f16"));
  rows.push_back(laneRow<[](Half a, Half b) { return Half{a.value * b.value}; }>("v_mul_f16"));
  rows.push_back(keepingHigh(laneRow<[](Half a, Half b, Half c) { return fusedHalf(a, b, c); }>("v_fma_f16")));
  rows.push_back(accumulatingRow<[](Half a, Half b, Half c) { return fusedHalf(a, b, c); }>("v_fmac_f16"));
  rows.push_back(laneRow<[](Half a, Half b) { return minimumHalf(a, b); }>("v_min_f16"));
  rows.push_back(laneRow<[](Half a, Half b) { return maximumHalf(a, b); }>("v_max_f16"));
  rows.push_back(laneRow<[](Half a, Half b) { return minimumOrNan(a, b); }>("v_minimum_f16"));
  rows.push_back(laneRow<[](Half a, Half b) { return maximumOrNan(a, b); }>("v_maximum_f16"));
  rows.push_back(keepingHigh(laneRow<[](Half a, Half b, Half c) { return minimumHalf(minimumHalf(a, b), c); }>("v_min3_f16")));
  rows.push_back(keepingHigh(laneRow<[](Half a, Half b, Half c) { return maximumHalf(maximumHalf(a, b), c); }>("v_max3_f16")));
  rows.push_back(keepingHigh(laneRow<[](Half a, Half b, Half c) { return median(a, b, c); }>("v_med3_f16")));
  rows.push_back(keepingHigh(laneRow<[](Half a, Half b, Half c) { return minimumHalf(maximumHalf(a, b), c); }>("v_maxmin_f16")));
  rows.push_back(keepingHigh(laneRow<[](Half a, Half b, Half c) { return maximumHalf(minimumHalf(a, b), c); }>("v_minmax_f16")));
  rows.push_back(
      keepingHigh(laneRow<[](Half a, Half b, Half c) { return Half{fixQuotient(a.value, b.value, c.value)}; }>("v_div_fixup_f16")));
  rows.push_back(laneRow<[](Half a, std::int16_t b) { return Half{std::ldexp(a.value, b)}; }>("v_ldexp_f16"));
}

void addHalfFunctions(std::vector<Row>& rows) {
  rows.push_back(laneRow<[](Half a) { return WideHalf{std::exp2(static_cast<double>(a.value))}; }>("v_exp_f16"));
  rows.push_back(laneRow<[](Half a) { return WideHalf{std::log2(static_cast<double>(a.value))}; }>("v_log_f16"));
  rows.push_back(laneRow<[](Half a) { return WideHalf{1.0 / static_cast<double>(a.value)}; }>("v_rcp_f16"));
  rows.push_back(laneRow<[](Half a) { return WideHalf{1.0 / std::sqrt(static_cast<double>(a.value))}; }>("v_rsq_f16"));
  rows.push_back(laneRow<[](Half a) { return WideHalf{std::sqrt(static_cast<double>(a.value))}; }>("v_sqrt_f16"));
  rows.push_back(laneRow<[](Half a) { return Half{std::floor(a.value)}; }>("v_floor_f16"));
  rows.push_back(laneRow<[](Half a) { return Half{std::ceil(a.value)}; }>("v_ceil_f16"));
  rows.push_back(laneRow<[](Half a) { return Half{std::trunc(a.value)}; }>("v_trunc_f16"));
  rows.push_back(laneRow<[](Half a) { return Half{std::nearbyint(a.value)}; }>("v_rndne_f16"));
}

}  // namespace

std::vector<Row> halfRows() {
  std::vector<Row> rows;
  addHalfArithmetic(rows);
  addHalfFunctions(rows);
  return rows;
}

}  // namespace fattn::simulator
