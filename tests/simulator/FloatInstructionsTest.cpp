// SPDX-License-Identifier: Apache-2.0
// Single instructions on floats, and conversions between formats.
#include <bit>
#include <cmath>
#include <limits>

#include "tests/simulator/InstructionFixture.h"

namespace fattn::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kNan = 0x7fc00000;
std::uint32_t f(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint32_t low(double value) { return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(value)); }
std::uint32_t high(double value) { return static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(value) >> 32); }
/// Two floats of 16 bits, by their bits.
std::uint32_t pair(std::uint32_t first, std::uint32_t second) { return first | second << 16; }
constexpr std::uint32_t kOne = 0x3c00, kTwo = 0x4000, kThree = 0x4200, kFour = 0x4400, kSix = 0x4600, kSeven = 0x4700, kMinusTwo = 0xc000;

TEST_P(Instructions, FloatArithmetic) {
  check({
      {"v_add_f32 v10, v2, v3", {f(1.5F), f(2.25F)}, {f(3.75F)}},
      {"v_sub_f32 v10, v2, v3", {f(1.5F), f(2.25F)}, {f(-0.75F)}},
      {"v_subrev_f32 v10, v2, v3", {f(1.5F), f(2.25F)}, {f(0.75F)}},
      {"v_mul_f32 v10, v2, v3", {f(1.5F), f(-2.0F)}, {f(-3.0F)}},
      {"v_mul_f32 v10, -v2, |v3|", {f(1.5F), f(-2.0F)}, {f(-3.0F)}},
      {"v_mul_f32 v10, v2, v3 mul:4", {f(1.5F), f(2.0F)}, {f(12.0F)}},
      {"v_add_f32 v10, v2, v3 clamp", {f(1.5F), f(2.0F)}, {f(1.0F)}},
      {"v_mul_f32 v10, 0.15915494, v2", {f(2.0F)}, {f(0.31830988F)}},
      {"v_mul_legacy_f32 v10, v2, v3", {f(0.0F), f(kInfinity)}, {0}, "v_mul_dx9_zero_f32 v10, v2, v3"},
      // With one rounding: 1 + 2^-23, squared, minus its first 24 bits.
      {"v_fma_f32 v10, v2, v3, v4", {0x3f800001, 0x3f800001, f(-1.0F - 0x1p-22F)}, {f(0x1p-46F)}},
      {"v_mov_b32 v10, v4\n v_fmac_f32 v10, v2, v3", {f(2.0F), f(3.0F), f(1.0F)}, {f(7.0F)}},
      {"v_fmaak_f32 v10, v2, v3, 0x3f800000", {f(2.0F), f(3.0F)}, {f(7.0F)}},
      {"v_fmamk_f32 v10, v2, 0x40400000, v3", {f(2.0F), f(1.0F)}, {f(7.0F)}},
      {"v_min_f32 v10, v2, v3", {kNan, f(3.0F)}, {f(3.0F)}},
      {"v_max_f32 v10, v2, v3", {f(-0.0F), f(0.0F)}, {f(0.0F)}},
      {"v_min3_f32 v10, v2, v3, v4", {f(4.0F), f(3.0F), f(5.0F)}, {f(3.0F)}},
      {"v_max3_f32 v10, v2, v3, v4", {f(4.0F), f(3.0F), f(5.0F)}, {f(5.0F)}},
      {"v_med3_f32 v10, v2, v3, v4", {f(4.0F), f(3.0F), f(5.0F)}, {f(4.0F)}},
      {"v_maxmin_f32 v10, v2, v3, v4", {f(1.0F), f(7.0F), f(5.0F)}, {f(5.0F)}, "", "-"},
      {"v_minmax_f32 v10, v2, v3, v4", {f(1.0F), f(7.0F), f(5.0F)}, {f(5.0F)}, "", "-"},
      {"v_ldexp_f32 v10, v2, v3", {f(1.5F), static_cast<std::uint32_t>(-3)}, {f(0.1875F)}},
      {"v_div_fixup_f32 v10, v2, v3, v4", {f(9.0F), f(0.0F), f(-2.0F)}, {f(-kInfinity)}},
      {"v_div_fixup_f32 v10, v2, v3, v4", {f(9.0F), f(1.0F), 0xff800001U}, {0xffc00001U}},  // a signaling NaN becomes a quiet one
  });
}

TEST_P(Instructions, FloatFunctions) {
  check({
      {"v_exp_f32 v10, v2", {f(-3.0F)}, {f(0.125F)}},
      {"v_exp_f32 v10, v2", {f(-kInfinity)}, {0}},
      {"v_log_f32 v10, v2", {f(8.0F)}, {f(3.0F)}},
      {"v_rcp_f32 v10, v2", {f(-4.0F)}, {f(-0.25F)}},
      {"v_rcp_f32 v10, v2", {f(-0.0F)}, {f(-kInfinity)}},
      {"v_rsq_f32 v10, v2", {f(16.0F)}, {f(0.25F)}},
      {"v_sqrt_f32 v10, v2", {f(16.0F)}, {f(4.0F)}},
      {"v_floor_f32 v10, v2", {f(-1.5F)}, {f(-2.0F)}},
      {"v_ceil_f32 v10, v2", {f(-1.5F)}, {f(-1.0F)}},
      {"v_trunc_f32 v10, v2", {f(-1.5F)}, {f(-1.0F)}},
      {"v_rndne_f32 v10, v2", {f(2.5F)}, {f(2.0F)}},
      {"v_fract_f32 v10, v2", {f(-1.25F)}, {f(0.75F)}},
      {"v_frexp_exp_i32_f32 v10, v2", {f(12.0F)}, {4}},
      {"v_frexp_mant_f32 v10, v2", {f(12.0F)}, {f(0.75F)}},
      {"v_sin_f32 v10, v2", {f(0.25F)}, {f(1.0F)}},
      {"v_cos_f32 v10, v2", {f(0.5F)}, {f(-1.0F)}},
      {"v_min_f64 v[10:11], v[2:3], v[4:5]", {low(2.0), high(2.0), low(3.0), high(3.0)}, {low(2.0), high(2.0)}},
      {"v_ldexp_f64 v[10:11], v[2:3], v4", {low(1.5), high(1.5), 2}, {low(6.0), high(6.0)}},
      {"v_floor_f64 v[10:11], v[2:3]", {low(-1.5), high(-1.5)}, {low(-2.0), high(-2.0)}},
      {"v_ceil_f64 v[10:11], v[2:3]", {low(-1.5), high(-1.5)}, {low(-1.0), high(-1.0)}},
      {"v_trunc_f64 v[10:11], v[2:3]", {low(-1.5), high(-1.5)}, {low(-1.0), high(-1.0)}},
      {"v_rndne_f64 v[10:11], v[2:3]", {low(2.5), high(2.5)}, {low(2.0), high(2.0)}},
      {"v_mov_b32 v10, v6\n v_mov_b32 v11, v7\n v_fmac_f64 v[10:11], v[2:3], v[4:5]",
       {low(2.0), high(2.0), low(3.0), high(3.0), low(1.0), high(1.0)},
       {low(7.0), high(7.0)},
       "-"},
      {"v_add_f64 v[10:11], v[2:3], v[4:5]", {low(0.1), high(0.1), low(0.2), high(0.2)}, {low(0.1 + 0.2), high(0.1 + 0.2)}},
      {"v_mul_f64 v[10:11], v[2:3], -v[4:5]", {low(0.1), high(0.1), low(3.0), high(3.0)}, {low(0.1 * -3.0), high(0.1 * -3.0)}},
      {"v_fma_f64 v[10:11], v[2:3], v[4:5], 1.0", {low(2.0), high(2.0), low(3.0), high(3.0)}, {low(7.0), high(7.0)}},
      {"v_max_f64 v[10:11], v[2:3], v[4:5]", {low(2.0), high(2.0), low(3.0), high(3.0)}, {low(3.0), high(3.0)}},
  });
}

TEST_P(Instructions, DenormalsAreAsTheDescriptorSays) {
  std::vector<InstructionRow> rows = {{"v_add_f32 v10, v2, v3", {1, 1}, {2}}, {"v_mul_f32 v10, 0.5, v2", {0x00800000}, {0x00400000}}};
  check(rows);
  for (InstructionRow& row : rows) row.results = {0};
  check(rows, true);
}

TEST_P(Instructions, FloatsOf16Bits) {
  check({
      {"v_pk_add_f16 v10, v2, v3", {pair(kOne, kTwo), pair(kTwo, kFour)}, {pair(kThree, kSix)}},
      {"v_pk_mul_f16 v10, v2, v3 neg_lo:[1,0] neg_hi:[0,0]", {pair(kOne, kTwo), pair(kTwo, kTwo)}, {pair(kMinusTwo, kFour)}},
      {"v_pk_fma_f16 v10, v2, v3, v4", {pair(kTwo, kOne), pair(kThree, kTwo), pair(kOne, kFour)}, {pair(kSeven, kSix)}},
      {"v_pk_max_f16 v10, v2, v3", {pair(kOne, kTwo), pair(kTwo, kOne)}, {pair(kTwo, kTwo)}},
      {"v_pk_min_f16 v10, v2, v3", {pair(kOne, kTwo), pair(kTwo, kOne)}, {pair(kOne, kOne)}},
      {"v_pk_add_f16 v10, v2, v3 op_sel:[1,0] op_sel_hi:[0,1]", {pair(kOne, kTwo), pair(kTwo, kOne)}, {pair(kFour, kTwo)}},
      {"v_pk_add_f16 v10, v2, 1.0 op_sel_hi:[1,0]", {pair(kOne, kTwo)}, {pair(kTwo, kThree)}},
      {"v_fma_mix_f32 v10, v2, v3, v4 op_sel:[0,1,0] op_sel_hi:[1,1,0]", {kTwo, pair(kOne, kThree), f(1.0F)}, {f(7.0F)}},
      {"v_fma_mixlo_f16 v10, v2, v3, v4", {f(2.0F), f(3.0F), f(1.0F)}, {pair(kSeven, 0xeeee)}},
      {"v_fma_mixhi_f16 v10, v2, v3, v4", {f(2.0F), f(3.0F), f(1.0F)}, {pair(0xeeee, kSeven)}},
      {"v_dot2_f32_f16 v10, v2, v3, v4", {pair(kOne, kTwo), pair(kTwo, kTwo), f(1.0F)}, {f(7.0F)}},
      {"v_dot2_f32_bf16 v10, v2, v3, v4", {pair(0x3f80, 0x4000), pair(0x4000, 0x4000), f(1.0F)}, {f(7.0F)}, "", "-"},
      {"v_mov_b32 v10, v4\n v_dot2c_f32_f16 v10, v2, v3",
       {pair(kOne, kTwo), pair(kTwo, kTwo), f(1.0F)},
       {f(7.0F)},
       "v_mov_b32 v10, v4\n v_dot2acc_f32_f16 v10, v2, v3"},
      {"v_sub_f16 v10, v2, v3", {kOne, kThree}, {kMinusTwo}, "-"},
      {"v_min3_f16 v10, v2, v3, v4", {kThree, kOne, kTwo}, {pair(kOne, 0xeeee)}, "v_min3_f16 v10.l, v2.l, v3.l, v4.l"},
      {"v_max3_f16 v10, v2, v3, v4", {kThree, kOne, kTwo}, {pair(kThree, 0xeeee)}, "v_max3_f16 v10.l, v2.l, v3.l, v4.l"},
      {"v_maxmin_f16 v10.l, v2.l, v3.l, v4.l", {kThree, kOne, kTwo}, {pair(kTwo, 0xeeee)}, "", "-"},
      {"v_minmax_f16 v10.l, v2.l, v3.l, v4.l", {kThree, kOne, kTwo}, {pair(kTwo, 0xeeee)}, "", "-"},
      {"v_med3_f16 v10, v2, v3, v4", {kThree, kOne, kTwo}, {pair(kTwo, 0xeeee)}, "v_med3_f16 v10.l, v2.l, v3.l, v4.l"},
      {"v_div_fixup_f16 v10, v2, v3, v4", {kTwo, 0, kOne}, {pair(0x7c00, 0xeeee)}, "v_div_fixup_f16 v10.l, v2.l, v3.l, v4.l"},
      {"v_sqrt_f16 v10, v2", {kFour}, {kTwo}, "-"},
      {"v_rsq_f16 v10, v2", {kFour}, {0x3800}, "-"},
      {"v_log_f16 v10, v2", {kFour}, {kTwo}, "-"},
      {"v_floor_f16 v10, v2", {0xbe00}, {kMinusTwo}, "-"},
      {"v_ceil_f16 v10, v2", {0xbe00}, {0xbc00}, "-"},
      {"v_trunc_f16 v10, v2", {0xbe00}, {0xbc00}, "-"},
      {"v_rndne_f16 v10, v2", {0x4100}, {kTwo}, "-"},
      {"v_add_f16 v10.l, v2.h, -v3.l", {pair(0, kOne), kThree}, {pair(kMinusTwo, 0xeeee)}, "", "-"},
      {"v_mul_f16 v10.h, v2.l, v3.l", {kTwo, kTwo}, {pair(0xeeee, kFour)}, "", "-"},
      {"v_add_f16 v10, v2, v3", {kOne, kTwo}, {kThree}, "-"},
      {"v_fma_f16 v10, v2, v3, v4", {kTwo, kThree, kOne}, {pair(kSeven, 0xeeee)}, "-"},
      {"v_max_f16 v10, v2, v3", {kOne, kTwo}, {kTwo}, "-"},
      {"v_exp_f16 v10, v2", {kOne}, {kTwo}, "-"},
      {"v_rcp_f16 v10, v2", {kTwo}, {0x3800}, "-"},
      {"v_pk_fma_f32 v[10:11], v[2:3], v[4:5], v[6:7]", {f(1.0F), f(2.0F), f(3.0F), f(4.0F), f(5.0F), f(6.0F)}, {f(8.0F), f(14.0F)}, "-"},
      {"v_pk_mul_f32 v[10:11], v[2:3], v[4:5] op_sel_hi:[1,0]", {f(1.0F), f(2.0F), f(3.0F), f(4.0F)}, {f(3.0F), f(6.0F)}, "-"},
      {"v_pk_add_f32 v[10:11], v[2:3], v[4:5] op_sel:[1,0] neg_hi:[1,0]", {f(1.0F), f(2.0F), f(3.0F), f(4.0F)}, {f(5.0F), f(2.0F)}, "-"},
      {"v_pk_mov_b32 v[10:11], v[2:3], v[4:5] op_sel:[1,0]", {1, 2, 3, 4}, {2, 3}, "-"},
  });
}

TEST_P(Instructions, Conversions) {
  check({
      {"v_cvt_i32_f32 v10, v2", {f(-3.9F)}, {static_cast<std::uint32_t>(-3)}},
      {"v_cvt_i32_f32 v10, v2", {f(1e20F)}, {0x7fffffff}},
      {"v_cvt_i32_f32 v10, v2", {kNan}, {0}},
      {"v_cvt_u32_f32 v10, v2", {f(-3.9F)}, {0}},
      {"v_cvt_f32_i32 v10, v2", {static_cast<std::uint32_t>(-3)}, {f(-3.0F)}},
      {"v_cvt_f32_u32 v10, v2", {0xffffffff}, {f(4294967296.0F)}},
      {"v_cvt_f32_ubyte2 v10, v2", {0x00c80000}, {f(200.0F)}},
      {"v_cvt_f64_f32 v[10:11], v2", {f(0.5F)}, {low(0.5), high(0.5)}},
      {"v_cvt_f32_f64 v10, v[2:3]", {low(0.1), high(0.1)}, {f(0.1F)}},
      {"v_cvt_f16_f32 v10, v2", {f(1.0F + 0x1p-11F)}, {0x3c00}, "-"},  // a tie, to even
      {"v_cvt_f16_f32 v10, v2", {f(65520.0F)}, {0x7c00}, "-"},
      {"v_cvt_f16_f32 v10, v2", {f(0x1p-25F)}, {0}, "-"},
      {"v_cvt_f16_f32 v10, v2", {f(0x1.8p-24F)}, {2}, "-"},
      {"v_cvt_f32_f16 v10, v2", {0x0001}, {f(0x1p-24F)}, "-"},
      {"v_cvt_f32_f16 v10, v2", {0xfc00}, {f(-kInfinity)}, "-"},
      {"v_cvt_pkrtz_f16_f32 v10, v2, v3", {f(1.0F + 0x1.fp-11F), f(-65535.0F)}, {pair(kOne, 0xfbff)}, "v_cvt_pk_rtz_f16_f32 v10, v2, v3"},
      {"v_cvt_pk_i16_i32 v10, v2, v3", {70000, static_cast<std::uint32_t>(-5)}, {pair(0x7fff, 0xfffb)}},
      {"v_cvt_pk_u16_u32 v10, v2, v3", {70000, 5}, {pair(0xffff, 5)}},
      {"v_cvt_f16_f32 v10.h, v2", {f(1.0F)}, {pair(0xeeee, kOne)}, "", "-"},
      {"v_cvt_f32_f16 v10, v2.h", {pair(0, kTwo)}, {f(2.0F)}, "", "-"},
      {"v_cvt_flr_i32_f32 v10, v2", {f(-1.5F)}, {0xfffffffe}, "v_cvt_floor_i32_f32 v10, v2"},
      {"v_cvt_rpi_i32_f32 v10, v2", {f(1.5F)}, {2}, "v_cvt_nearest_i32_f32 v10, v2"},
      {"v_cvt_f32_ubyte0 v10, v2", {0x04030201}, {f(1.0F)}},
      {"v_cvt_f32_ubyte1 v10, v2", {0x04030201}, {f(2.0F)}},
      {"v_cvt_f32_ubyte3 v10, v2", {0x04030201}, {f(4.0F)}},
      {"v_cvt_f64_i32 v[10:11], v2", {0xffffffff}, {low(-1.0), high(-1.0)}},
      {"v_cvt_f64_u32 v[10:11], v2", {0xffffffff}, {low(4294967295.0), high(4294967295.0)}},
      {"v_cvt_i32_f64 v10, v[2:3]", {low(-2.9), high(-2.9)}, {0xfffffffe}},
      {"v_cvt_u32_f64 v10, v[2:3]", {low(2.9), high(2.9)}, {2}},
      {"v_cvt_f16_i16 v10, v2", {0xfffe}, {kMinusTwo}, "-"},
      {"v_cvt_f16_u16 v10, v2", {4}, {kFour}, "-"},
      {"v_cvt_i16_f16 v10, v2", {kMinusTwo}, {0xfffe}, "-"},
      {"v_cvt_u16_f16 v10, v2", {kFour}, {4}, "-"},
      {"v_cvt_i32_i16 v10, v2.l", {0xffff}, {0xffffffff}, "", "-"},
      {"v_cvt_u32_u16 v10, v2.h", {0xffff0000}, {0xffff}, "", "-"},
      {"v_cvt_pk_i16_f32 v10, v2, v3", {f(-2.5F), f(1e9F)}, {pair(0xfffe, 0x7fff)}, "", "-"},
      // gfx942's own formats: 0x80 is no number, the bias of E4M3 is 8 and that of E5M2 16; the largest numbers are 240 and 57344.
      {"v_cvt_f32_fp8 v10, v2", {0x40}, {f(1.0F)}, "-"},
      {"v_cvt_f32_fp8 v10, v2", {0x7f}, {f(240.0F)}, "-"},
      {"v_cvt_f32_fp8 v10, v2", {0x01}, {f(0x1p-10F)}, "-"},
      {"v_cvt_f32_bf8 v10, v2", {0x7f}, {f(57344.0F)}, "-"},
      {"v_cvt_f32_fp8 v10, v2 src0_sel:BYTE_2", {0x00c00000}, {f(-1.0F)}, "-"},
      {"v_cvt_pk_f32_fp8 v[10:11], v2", {0x4840}, {f(1.0F), f(2.0F)}, "-"},
      {"v_cvt_pk_fp8_f32 v10, v2, v3", {f(1.0F), f(-2.0F)}, {0xeeeec840}, "-"},
      {"v_cvt_pk_fp8_f32 v10, v2, v3 op_sel:[0,0,1]", {f(1.0F), f(1e9F)}, {0x8040eeee}, "-"},
      {"v_cvt_pk_bf8_f32 v10, v2, v3", {f(1.0F), f(1.125F)}, {0xeeee4040}, "-"},
  });
}

TEST_P(Instructions, Comparisons) {
  std::vector<InstructionRow> rows;
  auto add = [&](const std::string& name, std::uint32_t a, std::uint32_t b, bool holds) {
    std::uint32_t chosen = holds ? 7 : 8;
    rows.push_back({name + " vcc, v2, v3\n v_cndmask_b32 v10, v5, v4, vcc",
                    {a, b, 7, 8},
                    {chosen},
                    name + " vcc_lo, v2, v3\n v_cndmask_b32 v10, v5, v4, vcc_lo"});
  };
  std::uint32_t one = f(1.0F), two = f(2.0F), minus = 0xffffffff;
  add("v_cmp_lt_f32", one, two, true), add("v_cmp_lt_f32", kNan, two, false), add("v_cmp_nlt_f32", kNan, two, true);
  add("v_cmp_ge_f32", two, two, true), add("v_cmp_nge_f32", one, two, true), add("v_cmp_gt_f32", two, one, true),
      add("v_cmp_ngt_f32", two, one, false);
  add("v_cmp_eq_f32", f(0.0F), f(-0.0F), true), add("v_cmp_neq_f32", kNan, kNan, true), add("v_cmp_lg_f32", kNan, one, false),
      add("v_cmp_nlg_f32", one, one, true);
  add("v_cmp_o_f32", one, kNan, false), add("v_cmp_u_f32", one, kNan, true), add("v_cmp_le_f32", two, one, false),
      add("v_cmp_nle_f32", two, one, true);
  add("v_cmp_lt_i32", minus, 1, true), add("v_cmp_lt_u32", minus, 1, false), add("v_cmp_ne_u32", 1, 1, false),
      add("v_cmp_ge_i32", 1, minus, true);
  add("v_cmp_gt_i16", 0x1ffff, 0, false), add("v_cmp_gt_u16", 0x1ffff, 0, true), add("v_cmp_lt_f16", pair(kOne, 0), kTwo, true);
  add("v_cmp_class_f32", f(-kInfinity), 1 << 2, true), add("v_cmp_class_f32", kNan, 3, true), add("v_cmp_class_f32", 1, 1 << 7, true);
  add("v_cmp_class_f16", pair(0x7c00, kOne), 1 << 9, true), add("v_cmp_class_f16", pair(0xfc00, 0), 1 << 9, false);
  add("v_cmp_class_f16", 0x7e00, 3, true), add("v_cmp_class_f16", 0x83ff, 1 << 4, true), add("v_cmp_class_f16", kOne, 1 << 8, true);
  rows.push_back({"v_cmp_lt_u64 vcc, v[2:3], v[4:5]\n v_cndmask_b32 v10, 1, 2, vcc",
                  {9, 1, 1, 2},
                  {2},
                  "v_cmp_lt_u64 vcc_lo, v[2:3], v[4:5]\n v_cndmask_b32 v10, 1, 2, vcc_lo"});
  rows.push_back({"v_cndmask_b32 v10, -v2, |v3|, s[30:31]", {one, f(-2.0F)}, {f(-1.0F)}, "v_cndmask_b32 v10, -v2, |v3|, s30"});
  rows.back().text = "s_mov_b64 s[30:31], 0\n v_cndmask_b32 v10, -v2, |v3|, s[30:31]";
  rows.back().rdna = "s_mov_b32 s30, 0\n v_cndmask_b32 v10, -v2, |v3|, s30";
  for (InstructionRow& row : rows)
    if (row.text.starts_with("s_")) row.text.insert(0, " "), row.rdna.insert(0, " ");
  check(rows);
}

class InstructionsOfRdna : public Instructions {};
INSTANTIATE_TEST_SUITE_P(Chips, InstructionsOfRdna, testing::Values("gfx1100"), [](const auto& info) { return std::string(info.param); });

TEST_P(InstructionsOfRdna, PairsReadBeforeTheyWrite) {
  check({
      {"v_mov_b32 v10, v2\n v_mov_b32 v11, v3\n v_dual_mov_b32 v10, v11 :: v_dual_mov_b32 v11, v10", {1, 2}, {2, 1}},
      {"v_cmp_lt_u32 vcc_lo, v2, v3\n v_dual_cndmask_b32 v10, v2, v3 :: v_dual_mov_b32 v11, v4", {1, 2, 7}, {2, 7}},
      {"v_add_nc_u32 v10, lit(0x10), v2", {1}, {17}},
      {"v_dual_add_f32 v10, v2, v3 :: v_dual_add_nc_u32 v11, v5, v4", {f(1.0F), f(2.0F), 3, 4}, {f(3.0F), 7}},
      {"v_mov_b32 v10, v4\n v_dual_fmac_f32 v10, v2, v3 :: v_dual_mul_f32 v11, v3, v2", {f(2.0F), f(3.0F), f(1.0F)}, {f(7.0F), f(6.0F)}},
  });
}

class InstructionsOfGfx12 : public Instructions {};
INSTANTIATE_TEST_SUITE_P(Chips, InstructionsOfGfx12, testing::Values("gfx1201"), [](const auto& info) { return std::string(info.param); });

TEST_P(InstructionsOfGfx12, FloatsInScalarRegisters) {
  check({
      {"s_add_f32 s20, s8, s9", {f(1.5F), f(2.25F)}, {f(3.75F)}},
      {"s_sub_f32 s20, s8, 1.0", {f(1.5F)}, {f(0.5F)}},
      {"s_mul_f32 s20, s8, s9", {f(1.5F), f(-2.0F)}, {f(-3.0F)}},
      {"s_mov_b32 s20, s10\n s_fmac_f32 s20, s8, s9", {f(2.0F), f(3.0F), f(1.0F)}, {f(7.0F)}},
      {"s_min_num_f32 s20, s8, s9", {kNan, f(2.0F)}, {f(2.0F)}},
      {"s_max_num_f32 s20, s8, s9", {f(-1.0F), f(2.0F)}, {f(2.0F)}},
      {"s_floor_f32 s20, s8", {f(-1.5F)}, {f(-2.0F)}},
      {"s_cvt_f32_i32 s20, s8", {0xfffffffd}, {f(-3.0F)}},
      {"s_cvt_u32_f32 s20, s8", {f(3.9F)}, {3}},
      {"v_s_exp_f32 s20, s8\n v_mov_b32 v10, s20", {f(3.0F)}, {f(8.0F)}},
      {"v_s_log_f32 s20, s8\n v_mov_b32 v10, s20", {f(32.0F)}, {f(5.0F)}},
      {"v_s_rcp_f32 s20, -s8\n v_mov_b32 v10, s20", {f(4.0F)}, {f(-0.25F)}},
      {"v_s_rsq_f32 s20, |s8|\n v_mov_b32 v10, s20", {f(-16.0F)}, {f(0.25F)}},
      {"v_s_sqrt_f32 s20, s8\n v_mov_b32 v10, s20", {f(9.0F)}, {f(3.0F)}},
      {"v_s_exp_f16 s20, s8\n v_mov_b32 v10, s20", {kOne}, {kTwo}},
      {"v_s_log_f16 s20, s8\n v_mov_b32 v10, s20", {kTwo}, {kOne}},
      {"v_s_rcp_f16 s20, -s8\n v_mov_b32 v10, s20", {kTwo}, {0xb800}},
      {"v_s_rsq_f16 s20, |s8|\n v_mov_b32 v10, s20", {0xc400}, {0x3800}},
      {"v_s_sqrt_f16 s20, s8\n v_mov_b32 v10, s20", {0x4400}, {kTwo}},
      {"s_mov_b32 s20, s10\n s_fmac_f16 s20, s8, s9", {kTwo, kThree, kOne}, {kSeven}},
      {"s_cmp_lt_f32 s8, s9", {f(-1.0F), f(2.0F)}, {kKept, 0, 1}},
      {"s_cmp_nge_f32 s8, s9", {kNan, f(2.0F)}, {kKept, 0, 1}},
      {"s_add_f16 s20, s8, s9", {pair(kOne, 0x1234), kTwo}, {kThree}},
      {"s_sub_f16 s20, s8, 1.0", {kThree}, {kTwo}},
      {"s_mul_f16 s20, s8, s9", {kTwo, kThree}, {kSix}},
      {"s_min_num_f16 s20, s8, s9", {kTwo, kOne}, {kOne}},
      {"s_max_num_f16 s20, s8, s9", {kTwo, kOne}, {kTwo}},
      {"s_floor_f16 s20, s8", {0xbe00}, {kMinusTwo}},
      {"s_ceil_f16 s20, s8", {0xbe00}, {0xbc00}},
      {"s_trunc_f16 s20, s8", {0xbe00}, {0xbc00}},
      {"s_rndne_f16 s20, s8", {0x4100}, {kTwo}},
      {"s_cvt_f16_f32 s20, s8", {f(7.0F)}, {kSeven}},
      {"s_cvt_f32_f16 s20, s8", {kSeven}, {f(7.0F)}},
      {"s_cvt_hi_f32_f16 s20, s8", {pair(0, kSeven)}, {f(7.0F)}},
      {"s_load_u16 s20, s[4:5], 0x2\n s_wait_kmcnt 0x0", {pair(1, 0x9000)}, {0x9000}},
      {"s_load_i8 s20, s[4:5], 0x1\n s_wait_kmcnt 0x0", {0x8000}, {0xffffff80}},
      {"s_cmp_lt_f16 s8, s9", {kOne, kTwo}, {kKept, 0, 1}},
      {"s_cmp_o_f16 s8, s9", {0x7e00, kTwo}, {kKept, 0, 0}},
      {"s_add_nc_u64 s[20:21], s[8:9], s[10:11]", {0xffffffff, 1, 2, 3}, {1, 5}},
      {"s_mul_u64 s[20:21], s[8:9], s[10:11]", {0xffffffff, 0, 2, 0}, {0xfffffffe, 1}},
      {"v_max_num_f32 v10, v2, v3", {kNan, f(3.0F)}, {f(3.0F)}},
      {"v_maximum_f32 v10, v2, v3", {kNan, f(3.0F)}, {kNan}},
  });
}

class InstructionsOfGfx950 : public Instructions {};
INSTANTIATE_TEST_SUITE_P(Chips, InstructionsOfGfx950, testing::Values("gfx950"), [](const auto& info) { return std::string(info.param); });

TEST_P(InstructionsOfGfx950, ItsOwn) {
  check({
      {"v_bitop3_b32 v10, v2, v3, v4 bitop3:0x6c", {12, 10, 3}, {(12 & 3) ^ 10}},
      {"v_bitop3_b32 v10, v2, v3, v4 bitop3:0x1", {12, 10, 3}, {0xfffffff0}},
      {"v_bitop3_b16 v10, v2, v3, v4 bitop3:0x6c", {12, 10, 3}, {pair((12 & 3) ^ 10, 0xeeee)}},
      {"v_cvt_pk_bf16_f32 v10, v2, v3", {f(1.0F + 0x1p-8F), f(1.0F + 0x3p-8F)}, {pair(0x3f80, 0x3f82)}},  // ties, to even
      // The formats of 8 bits are OCP's here: the bias of E4M3 is 7, its largest number 448.
      {"v_cvt_f32_fp8 v10, v2", {0x38}, {f(1.0F)}},
      {"v_cvt_f32_fp8 v10, v2", {0x7e}, {f(448.0F)}},
      {"v_cvt_pk_fp8_f32 v10, v2, v3", {f(-0.0F), f(2.0F)}, {0xeeee4080}},
      {"v_mov_b32 v10, v2\n v_mov_b32 v11, v3\n v_swap_b32 v10, v11", {1, 2}, {2, 1}},
  });
}

}  // namespace
}  // namespace fattn::test
