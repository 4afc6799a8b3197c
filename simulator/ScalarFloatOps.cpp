// SPDX-License-Identifier: Apache-2.0
// Floats in scalar registers (gfx12).
#include <cmath>

#include "simulator/Float.h"
#include "simulator/ScalarFunctions.h"

namespace fattn::simulator {
namespace {

using U = std::uint32_t;
using I = std::int32_t;

void addScalarComparisons(std::vector<Row>& rows) {
  constexpr Scc kScc = Scc::Result;
  rows.push_back(scalarRow<[](float a, float b) { return a == b; }, kScc>("s_cmp_eq_f32"));
  rows.push_back(scalarRow<[](float a, float b) { return !(a == b); }, kScc>("s_cmp_neq_f32"));
  rows.push_back(scalarRow<[](float a, float b) { return a < b; }, kScc>("s_cmp_lt_f32"));
  rows.push_back(scalarRow<[](float a, float b) { return !(a < b); }, kScc>("s_cmp_nlt_f32"));
  rows.push_back(scalarRow<[](float a, float b) { return a <= b; }, kScc>("s_cmp_le_f32"));
  rows.push_back(scalarRow<[](float a, float b) { return !(a <= b); }, kScc>("s_cmp_nle_f32"));
  rows.push_back(scalarRow<[](float a, float b) { return (a > b); }, kScc>("s_cmp_gt_f32"));
  rows.push_back(scalarRow<[](float a, float b) { return !(a > b); }, kScc>("s_cmp_ngt_f32"));
  rows.push_back(scalarRow<[](float a, float b) { return (a >= b); }, kScc>("s_cmp_ge_f32"));
  rows.push_back(scalarRow<[](float a, float b) { return !(a >= b); }, kScc>("s_cmp_nge_f32"));
  rows.push_back(scalarRow<[](float a, float b) { return std::isunordered(a, b); }, kScc>("s_cmp_u_f32"));
  rows.push_back(scalarRow<[](float a, float b) { return !std::isunordered(a, b); }, kScc>("s_cmp_o_f32"));
}

using H = ScalarHalf;

void addHalves(std::vector<Row>& rows) {
  constexpr Scc kScc = Scc::Result;
  rows.push_back(scalarRow<[](H a, H b) { return H{a.value + b.value}; }>("s_add_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return H{a.value - b.value}; }>("s_sub_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return H{a.value * b.value}; }>("s_mul_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return H{minimumNumber(a.value, b.value)}; }>("s_min_num_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return H{maximumNumber(a.value, b.value)}; }>("s_max_num_f16"));
  rows.push_back(scalarRow<[](H a) { return H{std::floor(a.value)}; }>("s_floor_f16"));
  rows.push_back(scalarRow<[](H a) { return H{std::ceil(a.value)}; }>("s_ceil_f16"));
  rows.push_back(scalarRow<[](H a) { return H{std::trunc(a.value)}; }>("s_trunc_f16"));
  rows.push_back(scalarRow<[](H a) { return H{std::nearbyint(a.value)}; }>("s_rndne_f16"));
  rows.push_back(scalarRow<[](float a) { return H{a}; }>("s_cvt_f16_f32"));
  rows.push_back(scalarRow<[](H a) { return a.value; }>("s_cvt_f32_f16"));
  rows.push_back(scalarRow<[](U a) { return halfToFloat(a >> 16); }>("s_cvt_hi_f32_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return a.value == b.value; }, kScc>("s_cmp_eq_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return !(a.value == b.value); }, kScc>("s_cmp_neq_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return a.value < b.value; }, kScc>("s_cmp_lt_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return !(a.value < b.value); }, kScc>("s_cmp_nlt_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return a.value <= b.value; }, kScc>("s_cmp_le_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return !(a.value <= b.value); }, kScc>("s_cmp_nle_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return (a.value > b.value); }, kScc>("s_cmp_gt_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return !(a.value > b.value); }, kScc>("s_cmp_ngt_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return (a.value >= b.value); }, kScc>("s_cmp_ge_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return !(a.value >= b.value); }, kScc>("s_cmp_nge_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return std::isunordered(a.value, b.value); }, kScc>("s_cmp_u_f16"));
  rows.push_back(scalarRow<[](H a, H b) { return !std::isunordered(a.value, b.value); }, kScc>("s_cmp_o_f16"));
}

/// What is computed in double precision, rounded once.
H rounded(double value) { return {roundToOdd(value)}; }

/// The vector unit's functions on one scalar.
void addTranscendental(std::vector<Row>& rows) {
  rows.push_back(scalarRow<[](float a) { return flush(std::exp2(flush(a))); }>("v_s_exp_f32"));
  rows.push_back(scalarRow<[](float a) { return std::log2(flush(a)); }>("v_s_log_f32"));
  rows.push_back(scalarRow<[](float a) { return flush(1.0F / flush(a)); }>("v_s_rcp_f32"));
  rows.push_back(scalarRow<[](float a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(flush(a)))); }>("v_s_rsq_f32"));
  rows.push_back(scalarRow<[](float a) { return std::sqrt(flush(a)); }>("v_s_sqrt_f32"));
  rows.push_back(scalarRow<[](H a) { return rounded(std::exp2(static_cast<double>(a.value))); }>("v_s_exp_f16"));
  rows.push_back(scalarRow<[](H a) { return rounded(std::log2(static_cast<double>(a.value))); }>("v_s_log_f16"));
  rows.push_back(scalarRow<[](H a) { return rounded(1.0 / static_cast<double>(a.value)); }>("v_s_rcp_f16"));
  rows.push_back(scalarRow<[](H a) { return rounded(1.0 / std::sqrt(static_cast<double>(a.value))); }>("v_s_rsq_f16"));
  rows.push_back(scalarRow<[](H a) { return rounded(std::sqrt(static_cast<double>(a.value))); }>("v_s_sqrt_f16"));
}

}  // namespace

std::vector<Row> scalarFloatRows() {
  std::vector<Row> rows;
  addScalarComparisons(rows);
  addTranscendental(rows);
  addHalves(rows);
  rows.push_back(scalarRow<[](float a, float b) { return a + b; }>("s_add_f32"));
  rows.push_back(scalarRow<[](float a, float b) { return a - b; }>("s_sub_f32"));
  rows.push_back(scalarRow<[](float a, float b) { return a * b; }>("s_mul_f32"));
  rows.push_back(scalarRow<[](float a, float b, float c) { return std::fma(a, b, c); }>("s_fmaak_f32"));
  rows.push_back(scalarRow<[](float a, float b, float c) { return std::fma(a, b, c); }>("s_fmamk_f32"));
  Row accumulated = scalarRow<[](float a, float b, float c) { return std::fma(a, b, c); }>("s_fmac_f32");
  Row halves = scalarRow<[](H a, H b, H c) {
    return rounded(std::fma(static_cast<double>(a.value), static_cast<double>(b.value), static_cast<double>(c.value)));
  }>("s_fmac_f16");
  for (Row* row : {&accumulated, &halves}) {
    row->readsDestination = true;
    rows.push_back(*row);
  }
  rows.push_back(scalarRow<[](float a, float b) { return minimumNumber(a, b); }>("s_min_num_f32"));
  rows.push_back(scalarRow<[](float a, float b) { return maximumNumber(a, b); }>("s_max_num_f32"));
  rows.push_back(scalarRow<[](float a) { return std::floor(a); }>("s_floor_f32"));
  rows.push_back(scalarRow<[](float a) { return std::ceil(a); }>("s_ceil_f32"));
  rows.push_back(scalarRow<[](float a) { return std::trunc(a); }>("s_trunc_f32"));
  rows.push_back(scalarRow<[](float a) { return std::nearbyint(a); }>("s_rndne_f32"));
  rows.push_back(scalarRow<[](I a) { return static_cast<float>(a); }>("s_cvt_f32_i32"));
  rows.push_back(scalarRow<[](U a) { return static_cast<float>(a); }>("s_cvt_f32_u32"));
  rows.push_back(scalarRow<[](float a) { return toSigned(static_cast<double>(a)); }>("s_cvt_i32_f32"));
  rows.push_back(scalarRow<[](float a) { return toUnsigned(static_cast<double>(a)); }>("s_cvt_u32_f32"));
  return rows;
}

}  // namespace fattn::simulator
