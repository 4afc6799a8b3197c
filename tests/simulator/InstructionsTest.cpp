// SPDX-License-Identifier: Apache-2.0
// Single instructions on values whose results are known: each row of a table is a kernel.
#include "tests/simulator/InstructionFixture.h"

namespace fattn::test {
namespace {

TEST_P(Instructions, ScalarArithmetic) {
  check({
      {"s_add_u32 s20, s8, s9", {0xffffffff, 2}, {1, 0, 1}},
      {"s_sub_u32 s20, s8, s9", {1, 2}, {0xffffffff, 0, 1}},
      {"s_cmp_eq_u32 s8, s8\n s_addc_u32 s20, s8, s9", {5, 6}, {12, 0, 0}},
      {"s_cmp_eq_u32 s8, s8\n s_subb_u32 s20, s8, s9", {5, 5}, {0xffffffff, 0, 1}},
      {"s_add_i32 s20, s8, s9", {0x7fffffff, 1}, {0x80000000, 0, 1}},
      {"s_sub_i32 s20, s8, s9", {3, 5}, {0xfffffffe, 0, 0}},
      {"s_mov_b32 s20, s8\n s_addk_i32 s20, 0xfffe", {7}, {5, 0, 0}},
      {"s_mul_i32 s20, s8, s9", {0x10001, 0x10001}, {0x00020001}},
      {"s_mul_hi_u32 s20, s8, s9", {0x80000000, 6}, {3}},
      {"s_mul_hi_i32 s20, s8, s9", {0x80000000, 6}, {0xfffffffd}},
      {"s_mov_b32 s20, s8\n s_mulk_i32 s20, -3", {7}, {static_cast<std::uint32_t>(-21)}},
      {"s_min_u32 s20, s8, s9", {3, 0xffffffff}, {3, 0, 1}},
      {"s_max_u32 s20, s8, s9", {3, 0xffffffff}, {0xffffffff, 0, 0}},
      {"s_min_i32 s20, s8, s9", {3, 0xffffffff}, {0xffffffff, 0, 0}},
      {"s_max_i32 s20, s8, s9", {3, 0xffffffff}, {3, 0, 1}},
      {"s_abs_i32 s20, s8", {0xfffffff9}, {7, 0, 1}},
      {"s_absdiff_i32 s20, s8, s9", {3, 10}, {7, 0, 1}},
      {"s_lshl2_add_u32 s20, s8, s9", {5, 3}, {23, 0, 0}},
      {"s_movk_i32 s20, 0x8000", {}, {0xffff8000}},
      {"s_cmp_eq_u32 s8, s8\n s_cselect_b32 s20, s9, s10", {1, 2, 3}, {2}},
      {"s_cmp_lg_u32 s8, s8\n s_cselect_b64 s[20:21], s[8:9], s[10:11]", {1, 2, 3, 4}, {3, 4}},
      {"s_cmp_eq_u32 s8, s8\n s_cmov_b32 s20, s9", {1, 2}, {2}},
      {"s_mov_b64 s[20:21], s[8:9]", {1, 2}, {1, 2}},
      {"s_mov_b64 s[20:21], -2", {}, {0xfffffffe, 0xffffffff}},
      {"s_mov_b32 s20, 1.0", {}, {0x3f800000}},
  });
}

TEST_P(Instructions, ScalarComparisons) {
  std::vector<InstructionRow> rows;
  auto add = [&](const std::string& name, std::uint32_t a, std::uint32_t b, bool holds) {
    rows.push_back({name + " s8, s9", {a, b}, {kKept, 0, holds ? 1U : 0U}});
  };
  constexpr std::uint32_t kMinus = 0xffffffff;
  for (const char* type : {"u32", "i32"}) {
    bool less = std::string(type) == "i32";  // -1 < 1
    auto name = [&](const char* relation) { return std::string("s_cmp_") + relation + "_" + type; };
    add(name("eq"), 4, 4, true), add(name("eq"), 4, 5, false), add(name("lg"), 4, 5, true);
    add(name("lt"), kMinus, 1, less), add(name("lt"), 1, 1, false);
    add(name("le"), kMinus, 1, less), add(name("le"), 1, 1, true);
    add(name("gt"), kMinus, 1, !less), add(name("gt"), 1, 1, false);
    add(name("ge"), kMinus, 1, !less), add(name("ge"), 1, 1, true);
  }
  rows.push_back({"s_cmpk_lt_i32 s8, -5", {static_cast<std::uint32_t>(-6)}, {kKept, 0, 1}});
  rows.push_back({"s_cmpk_ge_u32 s8, 0xfff0", {0xfff0}, {kKept, 0, 1}});
  rows.push_back({"s_cmpk_eq_i32 s8, -1", {0xffff}, {kKept, 0, 0}});
  rows.push_back({"s_cmp_eq_u64 s[8:9], s[10:11]", {1, 2, 1, 2}, {kKept, 0, 1}});
  rows.push_back({"s_cmp_lg_u64 s[8:9], s[10:11]", {1, 2, 1, 3}, {kKept, 0, 1}});
  auto constant = [&](const char* relation, std::uint32_t a, const char* b, bool holds) {
    rows.push_back({std::string("s_cmpk_") + relation + " s8, " + b, {a}, {kKept, 0, holds ? 1U : 0U}});
  };
  constant("lg_i32", 5, "5", false), constant("gt_i32", 5, "-5", true), constant("ge_i32", kMinus, "-1", true),
      constant("le_i32", kMinus, "-2", false);
  constant("eq_u32", 0xfff0, "0xfff0", true), constant("lg_u32", 5, "0xfff0", true), constant("gt_u32", 0x10000, "0xfff0", true);
  constant("lt_u32", 5, "0xfff0", true), constant("le_u32", 0xfff1, "0xfff0", false);
  rows.push_back({"s_bitcmp1_b64 s[8:9], s10", {0, 8, 35}, {kKept, 0, 1}});
  rows.push_back({"s_bitcmp0_b64 s[8:9], s10", {0, 8, 35}, {kKept, 0, 0}});
  rows.push_back({"s_bitcmp1_b32 s8, s9", {8, 3}, {kKept, 0, 1}});
  rows.push_back({"s_bitcmp0_b32 s8, s9", {8, 3}, {kKept, 0, 0}});
  check(rows);
}

TEST_P(Instructions, ScalarBits) {
  check({
      {"s_and_b32 s20, s8, s9", {12, 10}, {8, 0, 1}},
      {"s_or_b64 s[20:21], s[8:9], s[10:11]", {1, 2, 4, 8}, {5, 10, 1}},
      {"s_xor_b32 s20, s8, s9", {12, 12}, {0, 0, 0}},
      {"s_nand_b32 s20, s8, s9", {12, 10}, {0xfffffff7, 0, 1}},
      {"s_nor_b32 s20, s8, s9", {12, 10}, {0xfffffff1, 0, 1}},
      {"s_xnor_b32 s20, s8, s9", {12, 10}, {0xfffffff9, 0, 1}},
      {"s_andn2_b32 s20, s8, s9", {12, 10}, {4, 0, 1}, "s_and_not1_b32 s20, s8, s9"},
      {"s_orn2_b32 s20, s8, s9", {12, 10}, {0xfffffffd, 0, 1}, "s_or_not1_b32 s20, s8, s9"},
      {"s_not_b32 s20, s8", {0xffffffff}, {0, 0, 0}},
      {"s_not_b64 s[20:21], s[8:9]", {0, 1}, {0xffffffff, 0xfffffffe, 1}},
      {"s_lshl_b32 s20, s8, s9", {3, 33}, {6, 0, 1}},
      {"s_lshr_b32 s20, s8, s9", {1, 1}, {0, 0, 0}},
      {"s_ashr_i32 s20, s8, s9", {0x80000000, 4}, {0xf8000000, 0, 1}},
      {"s_lshl_b64 s[20:21], s[8:9], s10", {0x80000001, 0, 1}, {2, 1, 1}},
      {"s_lshr_b64 s[20:21], s[8:9], s10", {0, 3, 1}, {0x80000000, 1, 1}},
      {"s_ashr_i64 s[20:21], s[8:9], s10", {0, 0x80000000, 60}, {0xfffffff8, 0xffffffff, 1}},
      {"s_bfm_b32 s20, s8, s9", {4, 8}, {0xf00}},
      {"s_bfe_u32 s20, s8, s9", {0x12345678, 0x80008}, {0x56, 0, 1}},
      {"s_bfe_i32 s20, s8, s9", {0x12348678, 0x80008}, {0xffffff86, 0, 1}},
      {"s_bfe_u64 s[20:21], s[8:9], s10", {0, 0x12345678, 0x100024}, {0x4567, 0, 1}},
      {"s_pack_ll_b32_b16 s20, s8, s9", {0x11112222, 0x33334444}, {0x44442222}},
      {"s_pack_lh_b32_b16 s20, s8, s9", {0x11112222, 0x33334444}, {0x33332222}},
      {"s_pack_hh_b32_b16 s20, s8, s9", {0x11112222, 0x33334444}, {0x33331111}},
      {"s_sext_i32_i8 s20, s8", {0x80}, {0xffffff80}},
      {"s_sext_i32_i16 s20, s8", {0x8001}, {0xffff8001}},
      {"s_bcnt1_i32_b32 s20, s8", {0xf0f}, {8, 0, 1}},
      {"s_bcnt1_i32_b64 s20, s[8:9]", {0xf, 0x30}, {6, 0, 1}},
      {"s_ff1_i32_b32 s20, s8", {0x50}, {4}, "s_ctz_i32_b32 s20, s8"},
      {"s_ff1_i32_b64 s20, s[8:9]", {0, 4}, {34}, "s_ctz_i32_b64 s20, s[8:9]"},
      {"s_flbit_i32_b32 s20, s8", {0x50}, {25}, "s_clz_i32_u32 s20, s8"},
      {"s_flbit_i32 s20, s8", {0xffffffef}, {27}, "s_cls_i32 s20, s8"},
      {"s_and_b64 s[20:21], s[8:9], s[10:11]", {3, 5, 6, 12}, {2, 4, 1}},
      {"s_xor_b64 s[20:21], s[8:9], s[10:11]", {3, 5, 6, 12}, {5, 9, 1}},
      {"s_nand_b64 s[20:21], s[8:9], s[10:11]", {3, 5, 6, 12}, {0xfffffffd, 0xfffffffb, 1}},
      {"s_nor_b64 s[20:21], s[8:9], s[10:11]", {3, 5, 6, 12}, {0xfffffff8, 0xfffffff2, 1}},
      {"s_xnor_b64 s[20:21], s[8:9], s[10:11]", {3, 5, 6, 12}, {0xfffffffa, 0xfffffff6, 1}},
      {"s_andn2_b64 s[20:21], s[8:9], s[10:11]", {3, 5, 6, 12}, {1, 1, 1}, "s_and_not1_b64 s[20:21], s[8:9], s[10:11]"},
      {"s_orn2_b64 s[20:21], s[8:9], s[10:11]", {3, 5, 6, 12}, {0xfffffffb, 0xfffffff7, 1}, "s_or_not1_b64 s[20:21], s[8:9], s[10:11]"},
      {"s_bfm_b64 s[20:21], s8, s9", {8, 28}, {0xf0000000, 0xf}},
      {"s_bfe_i64 s[20:21], s[8:9], s10", {0, 0x800, 0x080024}, {0xffffff80, 0xffffffff, 1}},
      {"s_flbit_i32_b64 s20, s[8:9]", {1, 0}, {63}, "s_clz_i32_u64 s20, s[8:9]"},
      {"s_cmp_eq_u32 s8, s8\n s_cmov_b64 s[20:21], s[8:9]", {1, 2}, {1, 2, 1}},
      {"s_brev_b32 s20, s8", {0x3}, {0xc0000000}},
      {"s_mov_b32 s20, s8\n s_bitset1_b32 s20, s9", {1, 4}, {17}},
      {"s_mov_b32 s20, s8\n s_bitset0_b32 s20, s9", {17, 4}, {1}},
  });
}

TEST_P(Instructions, IntegersOfLanes) {
  check({
      {"v_add_u32 v10, v2, v3", {0xffffffff, 2}, {1}, "v_add_nc_u32 v10, v2, v3"},
      {"v_sub_u32 v10, v2, v3", {1, 2}, {0xffffffff}, "v_sub_nc_u32 v10, v2, v3"},
      {"v_subrev_u32 v10, v2, v3", {1, 2}, {1}, "v_subrev_nc_u32 v10, v2, v3"},
      {"v_mul_lo_u32 v10, v2, v3", {0x10001, 0x10001}, {0x20001}},
      {"v_mul_hi_u32 v10, v2, v3", {0x80000000, 6}, {3}},
      {"v_mul_hi_i32 v10, v2, v3", {0x80000000, 6}, {0xfffffffd}},
      {"v_mul_u32_u24 v10, v2, v3", {0xff000003, 5}, {15}},
      {"v_mul_i32_i24 v10, v2, v3", {0x00ffffff, 5}, {0xfffffffb}},
      {"v_mad_u32_u24 v10, v2, v3, v4", {3, 5, 7}, {22}},
      {"v_mad_i32_i24 v10, v2, v3, v4", {0xffffffff, 5, 7}, {2}},
      {"v_add3_u32 v10, v2, v3, v4", {1, 2, 3}, {6}},
      {"v_sad_u32 v10, v2, v3, v4", {3, 10, 1}, {8}},
      {"v_lshl_add_u64 v[10:11], v[2:3], 2, v[4:5]", {0x40000000, 0, 1, 1}, {1, 2}, "-"},
      {"v_add_i32 v10, v2, v3", {3, 0xfffffffe}, {1}, "v_add_nc_i32 v10, v2, v3"},
      {"v_sub_i32 v10, v2, v3", {3, 5}, {0xfffffffe}, "v_sub_nc_i32 v10, v2, v3"},
      {"v_max3_u32 v10, v2, v3, v4", {3, 9, 5}, {9}},
      {"v_min3_i32 v10, v2, v3, v4", {3, 0xffffffff, 5}, {0xffffffff}},
      {"v_maxmin_u32 v10, v2, v3, v4", {1, 7, 5}, {5}, "", "-"},
      {"v_minmax_i32 v10, v2, v3, v4", {1, 7, 0xffffffff}, {1}, "", "-"},
      {"v_subrev_co_u32 v10, vcc, v2, v3\n v_subbrev_co_u32 v11, vcc, v4, v5, vcc",
       {1, 0, 2, 5},
       {0xffffffff, 2},
       "v_subrev_co_u32 v10, vcc_lo, v2, v3\n v_subrev_co_ci_u32 v11, vcc_lo, v4, v5, vcc_lo"},
      {"v_lshl_add_u32 v10, v2, v3, v4", {5, 2, 3}, {23}},
      {"v_add_lshl_u32 v10, v2, v3, v4", {1, 2, 3}, {24}},
      {"v_xad_u32 v10, v2, v3, v4", {12, 10, 3}, {9}},
      {"v_mad_u64_u32 v[10:11], vcc, v2, v3, v[4:5]", {0xffffffff, 2, 3, 1}, {1, 3}, "v_mad_u64_u32 v[10:11], vcc_lo, v2, v3, v[4:5]"},
      {"v_mad_i64_i32 v[10:11], vcc, v2, v3, v[4:5]", {0xffffffff, 2, 3, 0}, {1, 0}, "v_mad_i64_i32 v[10:11], vcc_lo, v2, v3, v[4:5]"},
      {"v_min_u32 v10, v2, v3", {3, 0xffffffff}, {3}},
      {"v_max_u32 v10, v2, v3", {3, 0xffffffff}, {0xffffffff}},
      {"v_min_i32 v10, v2, v3", {3, 0xffffffff}, {0xffffffff}},
      {"v_max_i32 v10, v2, v3", {3, 0xffffffff}, {3}},
      {"v_min3_u32 v10, v2, v3, v4", {3, 2, 9}, {2}},
      {"v_max3_i32 v10, v2, v3, v4", {3, 0xffffffff, 1}, {3}},
      {"v_med3_i32 v10, v2, v3, v4", {3, 0xffffffff, 1}, {1}},
      {"v_mul_hi_i32_i24 v10, v2, v3", {0xffffff, 0x100000}, {0xffffffff}},
      {"v_med3_u32 v10, v2, v3, v4", {3, 0xffffffff, 1}, {3}},
      {"v_add_co_u32 v10, vcc, v2, v3\n v_addc_co_u32 v11, vcc, v4, v5, vcc",
       {0xffffffff, 1, 5, 6},
       {0, 12},
       "v_add_co_u32 v10, vcc_lo, v2, v3\n v_add_co_ci_u32 v11, vcc_lo, v4, v5, vcc_lo"},
      {"v_sub_co_u32 v10, vcc, v2, v3\n v_subb_co_u32 v11, vcc, v4, v5, vcc",
       {0, 1, 5, 2},
       {0xffffffff, 2},
       "v_sub_co_u32 v10, vcc_lo, v2, v3\n v_sub_co_ci_u32 v11, vcc_lo, v4, v5, vcc_lo"},
  });
}

TEST_P(Instructions, BitsOfLanes) {
  check({
      {"v_and_b32 v10, v2, v3", {12, 10}, {8}},
      {"v_or_b32 v10, v2, v3", {12, 10}, {14}},
      {"v_xor_b32 v10, v2, v3", {12, 10}, {6}},
      {"v_xnor_b32 v10, v2, v3", {12, 10}, {0xfffffff9}},
      {"v_not_b32 v10, v2", {12}, {0xfffffff3}},
      {"v_and_or_b32 v10, v2, v3, v4", {12, 10, 1}, {9}},
      {"v_or3_b32 v10, v2, v3, v4", {1, 2, 4}, {7}},
      {"v_bfi_b32 v10, v2, v3, v4", {0xff00, 0x1234, 0x5678}, {0x1278}},
      {"v_bfm_b32 v10, v2, v3", {4, 8}, {0xf00}},
      {"v_bfe_u32 v10, v2, v3, v4", {0x12345678, 8, 8}, {0x56}},
      {"v_bfe_i32 v10, v2, v3, v4", {0x12348678, 8, 8}, {0xffffff86}},
      {"v_xor3_b32 v10, v2, v3, v4", {1, 3, 7}, {5}, "", "-"},
      {"v_accvgpr_write_b32 a3, v2\n v_accvgpr_mov_b32 a4, a3\n s_nop 1\n v_accvgpr_read_b32 v10, a4", {9}, {9}, "-"},
      {"v_bfrev_b32 v10, v2", {3}, {0xc0000000}},
      {"v_bcnt_u32_b32 v10, v2, v3", {0xf0f, 5}, {13}},
      {"v_ffbl_b32 v10, v2", {0x50}, {4}, "v_ctz_i32_b32 v10, v2"},
      {"v_ffbh_u32 v10, v2", {0x50}, {25}, "v_clz_i32_u32 v10, v2"},
      {"v_ffbh_i32 v10, v2", {0xffffffef}, {27}, "v_cls_i32 v10, v2"},
      {"v_perm_b32 v10, v2, v3, v4", {0x77665544, 0x33221100, 0x070c0005}, {0x77000055}},
      {"v_perm_b32 v10, v2, v3, v4", {0x80665544, 0x33228100, 0x0d0b0809}, {0xffffff00}},
      {"v_lshlrev_b32 v10, v2, v3", {33, 3}, {6}},
      {"v_lshrrev_b32 v10, v2, v3", {4, 0x80000000}, {0x08000000}},
      {"v_ashrrev_i32 v10, v2, v3", {4, 0x80000000}, {0xf8000000}},
      {"v_lshlrev_b64 v[10:11], v2, v[4:5]", {1, 0, 0x80000001, 0}, {2, 1}},
      {"v_lshrrev_b64 v[10:11], v2, v[4:5]", {1, 0, 0, 3}, {0x80000000, 1}},
      {"v_ashrrev_i64 v[10:11], v2, v[4:5]", {60, 0, 0, 0x80000000}, {0xfffffff8, 0xffffffff}},
      {"v_lshl_or_b32 v10, v2, v3, v4", {5, 4, 1}, {0x51}},
      {"v_alignbit_b32 v10, v2, v3, v4", {0x12345678, 0x9abcdef0, 8}, {0x789abcde}},
      {"v_alignbyte_b32 v10, v2, v3, v4", {0x12345678, 0x9abcdef0, 1}, {0x789abcde}},
      {"v_mov_b32 v10, 0.5", {}, {0x3f000000}},
      {"v_mov_b64 v[10:11], v[2:3]", {3, 4}, {3, 4}, "-"},
  });
}

TEST_P(Instructions, SixteenBits) {
  check({
      {"v_add_u16 v10, v2, v3", {0xaaaaffff, 2}, {1}, "-"},
      {"v_mul_lo_u16 v10, v2, v3", {0x0101, 0x0101}, {0x0201}, "-"},
      {"v_lshlrev_b16 v10, v2, v3", {4, 0x1234}, {0x2340}, "-"},
      {"v_ashrrev_i16 v10, v2, v3", {4, 0x8000}, {0xf800}, "-"},
      {"v_max_i16 v10, v2, v3", {0xffff, 1}, {1}, "-"},
      {"v_min_u16 v10, v2, v3", {0xffff, 1}, {1}, "-"},
      {"v_max3_i16 v10, v2, v3, v4", {0xffff, 1, 0xfff0}, {0xeeee0001}, "v_max3_i16 v10.l, v2.l, v3.l, v4.l"},
      {"v_max3_u16 v10, v2, v3, v4", {0xffff, 1, 0xfff0}, {0xeeeeffff}, "v_max3_u16 v10.l, v2.l, v3.l, v4.l"},
      {"v_min3_i16 v10, v2, v3, v4", {0xffff, 1, 0xfff0}, {0xeeeefff0}, "v_min3_i16 v10.l, v2.l, v3.l, v4.l"},
      {"v_min3_u16 v10, v2, v3, v4", {0xffff, 1, 0xfff0}, {0xeeee0001}, "v_min3_u16 v10.l, v2.l, v3.l, v4.l"},
      {"v_med3_i16 v10, v2, v3, v4", {0xffff, 1, 0xfff0}, {0xeeeeffff}, "v_med3_i16 v10.l, v2.l, v3.l, v4.l"},
      {"v_med3_u16 v10, v2, v3, v4", {0xffff, 1, 0xfff0}, {0xeeeefff0}, "v_med3_u16 v10.l, v2.l, v3.l, v4.l"},
      {"v_pk_add_u16 v10, v2, v3", {0x0001ffff, 0x00010001}, {0x00020000}},
      {"v_pk_sub_i16 v10, v2, v3", {0x00010001, 0x00020001}, {0xffff0000}},
      {"v_pk_mul_lo_u16 v10, v2, v3", {0x00030002, 0x00050004}, {0x000f0008}},
      {"v_pk_mad_u16 v10, v2, v3, v4", {0x00030002, 0x00050004, 0x00010001}, {0x00100009}},
      {"v_pk_lshlrev_b16 v10, v2, v3", {0x00040008, 0x00010001}, {0x00100100}},
      {"v_pk_lshrrev_b16 v10, v2, v3", {0x00040008, 0x80008000}, {0x08000080}},
      {"v_pk_ashrrev_i16 v10, v2, v3", {0x00040008, 0x80008000}, {0xf800ff80}},
      {"v_pk_max_i16 v10, v2, v3", {0x0001ffff, 0xffff0001}, {0x00010001}},
      {"v_pk_min_u16 v10, v2, v3", {0x0001ffff, 0xffff0001}, {0x00010001}},
      {"v_pk_add_u16 v10, v2, v3 op_sel:[1,0] op_sel_hi:[0,0]", {0x00050007, 0x00010002}, {0x00090007}},
      {"v_mad_u32_u16 v10, v2, v3, v4", {0xaaaa0100, 0xaaaa0100, 3}, {0x10003}},
      {"v_pack_b32_f16 v10, v2, v3", {0x11112222, 0x33334444}, {0x44442222}, "v_pack_b32_f16 v10, v2.l, v3.l"},
      {"v_pack_b32_f16 v10, |v2|, -v3", {0x1111a222, 0x33334444}, {0xc4442222}, "v_pack_b32_f16 v10, |v2.l|, -v3.l"},
      {"v_pk_add_i16 v10, v2, v3", {0x0001ffff, 0x00010001}, {0x00020000}},
      {"v_pk_sub_u16 v10, v2, v3", {0x00010001, 0x00020001}, {0xffff0000}},
      {"v_pk_mad_i16 v10, v2, v3, v4", {0x00030002, 0x0005ffff, 0x00010001}, {0x0010ffff}},
      {"v_pk_max_u16 v10, v2, v3", {0x0001ffff, 0xffff0001}, {0xffffffff}},
      {"v_pk_min_i16 v10, v2, v3", {0x0001ffff, 0xffff0001}, {0xffffffff}},
      {"v_sub_u16 v10, v2, v3", {1, 2}, {0xffff}, "-"},
      {"v_subrev_u16 v10, v2, v3", {1, 3}, {2}, "-"},
      {"v_max_u16 v10, v2, v3", {0xffff, 1}, {0xffff}, "-"},
      {"v_min_i16 v10, v2, v3", {0xffff, 1}, {0xffff}, "-"},
      {"v_lshrrev_b16 v10, v2, v3", {4, 0x8000}, {0x0800}, "-"},
      {"v_mad_u16 v10, v2, v3, v4", {3, 5, 1}, {0xeeee0010}, "v_mad_u16 v10.l, v2.l, v3.l, v4.l"},
      {"v_mad_i16 v10, v2, v3, v4", {3, 0xffff, 1}, {0xeeeefffe}, "v_mad_i16 v10.l, v2.l, v3.l, v4.l"},
      // Halves that gfx11 names: the other one stays.
      {"v_mov_b16 v10.h, v2.l", {0x1234}, {0x1234eeee}, "", "-"},
      {"v_not_b16 v10.l, v2.h", {0x00ff0000}, {0xeeeeff00}, "", "-"},
      {"v_and_b16 v10.l, v2.l, v3.h", {0x0ff0, 0x00ff0000}, {0xeeee00f0}, "", "-"},
      {"v_or_b16 v10.h, v2.l, v3.h", {0x0ff0, 0x00ff0000}, {0x0fffeeee}, "", "-"},
      {"v_xor_b16 v10.l, v2.l, v3.l", {12, 10}, {0xeeee0006}, "", "-"},
      {"v_add_nc_u16 v10.h, v2.h, v3.l", {0x00050000, 7}, {0x000ceeee}, "", "-"},
      {"v_cndmask_b16 v10.h, v2.l, v3.h, vcc_lo",
       {1, 0x00020000},
       {0x0002eeee},
       "s_mov_b32 vcc_lo, -1\n v_cndmask_b16 v10.h, v2.l, v3.h, vcc_lo",
       "-"},
  });
}

}  // namespace
}  // namespace fattn::test
