// SPDX-License-Identifier: Apache-2.0
// Instructions whose lanes take other lanes' values, or parts of registers: every lane is checked.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "tests/simulator/KernelFixture.h"
#include "tests/simulator/MakeCodeObject.h"

namespace fattn::test {
namespace {

/// v2 is 128 + lane, v3 is 4 * lane; v10 is 7 before.
struct LaneRow {
  std::string text;
  std::function<int(int)> result;
};

class CrossLane : public KernelFixture {
 protected:
  void check(const std::vector<LaneRow>& rows) {
    std::vector<AssemblyKernel> kernels;
    for (const LaneRow& row : rows)
      kernels.push_back({.name = fmt::format("k{}", kernels.size()),
                         .body = fmt::format("s_load_{0} s[4:5], s[0:1], 0x0\n v_lshlrev_b32 v3, 2, v0\n v_or_b32 v2, 0x80, v0\n v_mov_b32 "
                                             "v10, 7\n s_waitcnt lgkmcnt(0)\n{1}\n"
                                             "s_waitcnt lgkmcnt(0)\n s_mov_b{2}\n global_store_{3} v3, v10, s[4:5]",
                                             isCdna() ? "dwordx2" : "b64", row.text, isCdna() ? "64 exec, -1" : "32 exec_lo, -1",
                                             isCdna() ? "dword" : "b32"),
                         .pointers = 1,
                         .ldsBytes = 512});
    auto object = makeKernels(chip(), kernels);
    EXPECT_EQ(object->unknownMnemonics(), std::vector<std::string>());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      SCOPED_TRACE(rows[i].text);
      std::vector<std::uint32_t> out(static_cast<std::size_t>(lanes()));
      forgetBuffers();
      buffer("out", out);
      EXPECT_EQ(faultOf(*object, kernels[i].name, static_cast<std::uint32_t>(lanes())), "");
      for (int lane = 0; lane < lanes(); ++lane)
        ASSERT_EQ(out[static_cast<std::size_t>(lane)], static_cast<std::uint32_t>(rows[i].result(lane))) << "lane " << lane;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Chips, CrossLane, testing::Values("gfx942", "gfx1100"), [](const auto& info) { return std::string(info.param); });

/// What v2 holds in a lane.
int v2(int lane) { return 128 | lane; }

TEST_P(CrossLane, Dpp) {
  int last = lanes() - 1;
  auto row = [](const std::string& how, std::function<int(int)> result) {
    return LaneRow{"v_mov_b32_dpp v10, v2 " + how, std::move(result)};
  };
  std::vector<LaneRow> rows = {
      row("quad_perm:[3,0,1,2] row_mask:0xf bank_mask:0xf", [](int l) { return v2((l & ~3) | ((l + 3) & 3)); }),
      row("row_shl:1 row_mask:0xf bank_mask:0xf", [](int l) { return (l & 15) < 15 ? v2(l + 1) : 7; }),
      row("row_shr:3 row_mask:0xf bank_mask:0xf bound_ctrl:1", [](int l) { return (l & 15) >= 3 ? v2(l - 3) : 0; }),
      row("row_ror:5 row_mask:0xf bank_mask:0xf", [](int l) { return v2((l & ~15) | ((l - 5) & 15)); }),
      row("row_mirror row_mask:0xf bank_mask:0xf", [](int l) { return v2(l ^ 15); }),
      row("row_half_mirror row_mask:0xf bank_mask:0xf", [](int l) { return v2(l ^ 7); }),
      row("row_mirror row_mask:0x1 bank_mask:0x3", [](int l) { return l < 8 ? v2(l ^ 15) : 7; }),
      // The destination is the source.
      {"v_mov_b32 v10, v2\n v_add_u32_dpp v10, v10, v10 row_shr:1 row_mask:0xf bank_mask:0xf",
       [](int l) { return (l & 15) >= 1 ? v2(l - 1) + v2(l) : v2(l); }},
  };
  if (!isCdna()) rows.back().text = "v_mov_b32 v10, v2\n v_add_nc_u32_dpp v10, v10, v10 row_shr:1 row_mask:0xf bank_mask:0xf";
  if (isCdna()) {
    rows.push_back(row("row_bcast:15 row_mask:0xf bank_mask:0xf", [](int l) { return l >= 16 ? v2((l & ~15) - 1) : 7; }));
    rows.push_back(row("row_bcast:31 row_mask:0xc bank_mask:0xf", [](int l) { return l >= 32 ? v2(31) : 7; }));
    rows.push_back(row("wave_shr:1 row_mask:0xf bank_mask:0xf", [](int l) { return l >= 1 ? v2(l - 1) : 7; }));
    rows.push_back(row("wave_rol:1 row_mask:0xf bank_mask:0xf", [last](int l) { return v2(l == last ? 0 : l + 1); }));
    rows.push_back(row("row_newbcast:3 row_mask:0xf bank_mask:0xf", [](int l) { return v2((l & ~15) | 3); }));
  } else {
    rows.push_back(row("row_share:3 row_mask:0xf bank_mask:0xf", [](int l) { return v2((l & ~15) | 3); }));
    rows.push_back(row("row_xmask:5 row_mask:0xf bank_mask:0xf", [](int l) { return v2(l ^ 5); }));
    rows.push_back(row("dpp8:[7,6,5,4,3,2,1,0]", [](int l) { return v2(l ^ 7); }));
  }
  // Lanes that are switched off give nothing: their takers keep what they have, or get zero.
  std::string off = isCdna() ? "s_mov_b64 exec, -2\n" : "s_mov_b32 exec_lo, -2\n";
  rows.push_back(
      {off + "v_mov_b32_dpp v10, v2 row_shr:1 row_mask:0xf bank_mask:0xf", [](int l) { return (l & 15) >= 1 && l != 1 ? v2(l - 1) : 7; }});
  rows.push_back({off + "v_mov_b32_dpp v10, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", [](int l) {
                    return l == 0 ? 7 : (l & 15) >= 1 && l != 1 ? v2(l - 1) : 0;
                  }});
  check(rows);
}

TEST_P(CrossLane, PermutesThroughLocalMemory) {
  int count = lanes();
  std::string off = isCdna() ? "s_mov_b64 exec, -2\n" : "s_mov_b32 exec_lo, -2\n";
  check({
      {"v_xor_b32 v4, 0x14, v3\n ds_bpermute_b32 v10, v4, v2", [](int l) { return v2(l ^ 5); }},
      {"ds_bpermute_b32 v10, v3, v2 offset:4", [count](int l) { return v2((l + 1) % count); }},
      {off + "v_xor_b32 v4, 4, v3\n ds_bpermute_b32 v10, v4, v2", [](int l) { return l == 0   ? 7
                                                                                     : l == 1 ? 0
                                                                                              : v2(l ^ 1); }},
      {"v_xor_b32 v4, 0x14, v3\n ds_permute_b32 v10, v4, v2", [](int l) { return v2(l ^ 5); }},
      {"v_and_b32 v4, 0xfffffff8, v3\n ds_permute_b32 v10, v4, v2", [](int l) { return l % 2 == 0 ? v2(l + 1) : 0; }},
      {"ds_swizzle_b32 v10, v2 offset:swizzle(QUAD_PERM, 3,2,1,0)", [](int l) { return v2(l ^ 3); }},
      {"ds_swizzle_b32 v10, v2 offset:swizzle(SWAP, 8)", [](int l) { return v2(l ^ 8); }},
      {"ds_swizzle_b32 v10, v2 offset:swizzle(BROADCAST, 8, 2)", [](int l) { return v2((l & ~7) | 2); }},
  });
}

TEST_P(CrossLane, ExecSavedAndChanged) {
  std::vector<LaneRow> rows;
  struct Case {
    const char *cdna, *rdna;
    int expected;  ///< of EXEC 0xff and the source 0xf0f, in the lanes 0 to 11: a bit each
  };
  for (const Case& test :
       {Case{"and", "and", 0x00f}, Case{"or", "or", 0xfff}, Case{"xor", "xor", 0xff0}, Case{"andn2", "and_not1", 0xf00}}) {
    std::string text =
        isCdna() ? fmt::format("s_mov_b64 s[10:11], 0xf0f\n s_mov_b64 exec, 0xff\n s_{}_saveexec_b64 s[8:9], s[10:11]\n", test.cdna)
                 : fmt::format("s_mov_b32 s10, 0xf0f\n s_mov_b32 exec_lo, 0xff\n s_{}_saveexec_b32 s8, s10\n", test.rdna);
    rows.push_back(
        {text + "v_mov_b32 v10, s8", [expected = test.expected](int l) { return (expected >> std::min(l, 12) & 1) != 0 ? 0xff : 7; }});
    rows.push_back({text + "s_cselect_b32 s8, 1, 0\n v_mov_b32 v10, s8",
                    [expected = test.expected](int l) { return (expected >> std::min(l, 12) & 1) != 0 ? 1 : 7; }});
  }
  check(rows);
}

TEST_P(CrossLane, Branches) {
  std::string none = isCdna() ? "s_mov_b64 exec, 0\n" : "s_mov_b32 exec_lo, 0\n",
              all = isCdna() ? "s_mov_b64 exec, -1\n" : "s_mov_b32 exec_lo, -1\n";
  auto five = [](int) { return 5; };
  auto seven = [](int) { return 7; };
  check({
      {none + "s_cbranch_execz OVER0\n" + all + "v_mov_b32 v10, 5\nOVER0:\n", seven},
      {none + "s_cbranch_execnz OVER1\n" + all + "v_mov_b32 v10, 5\nOVER1:\n", five},
      {"s_cbranch_execz OVER2\n v_mov_b32 v10, 5\nOVER2:\n", five},
      {"s_branch OVER3\n v_mov_b32 v10, 5\nOVER3:\n", seven},
      {"s_getpc_b64 s[8:9]\ns_getpc_b64 s[10:11]\n s_sub_u32 s8, s10, s8\n v_mov_b32 v10, s8", [](int) { return 4; }},
  });
}

TEST_P(CrossLane, LanesAndScalars) {
  check({
      {"v_readlane_b32 s8, v2, 5\n v_mov_b32 v10, s8", [](int) { return v2(5); }},
      {"v_readfirstlane_b32 s8, v2\n v_mov_b32 v10, s8", [](int) { return v2(0); }},
      {std::string(isCdna() ? "s_mov_b64 exec, 0x30" : "s_mov_b32 exec_lo, 0x30") + "\n v_readfirstlane_b32 s8, v2\n v_mov_b32 v10, s8",
       [](int l) { return l == 4 || l == 5 ? v2(4) : 7; }},
      {"s_mov_b32 s8, 99\n v_writelane_b32 v10, s8, 3", [](int l) { return l == 3 ? 99 : 7; }},
      {std::string("v_mbcnt_lo_u32_b32 v10, -1, 0") + (isCdna() ? "\n v_mbcnt_hi_u32_b32 v10, -1, v10" : ""), [](int l) { return l; }},
      {"s_mov_b32 s8, 0x55555555\n v_mbcnt_lo_u32_b32 v10, s8, 1", [](int l) { return 1 + (l < 32 ? (l + 1) / 2 : 16); }},
      {"v_swap_b32 v10, v2", [](int l) { return v2(l); }},
  });
}

class CrossLaneOfRdna : public CrossLane {};
INSTANTIATE_TEST_SUITE_P(Chips, CrossLaneOfRdna, testing::Values("gfx1100"), [](const auto& info) { return std::string(info.param); });

TEST_P(CrossLaneOfRdna, Rows) {
  std::string select = "s_mov_b32 s8, 0x01234567\n s_mov_b32 s9, 0x89abcdef\n";
  check({
      {select + "v_permlane16_b32 v10, v2, s8, s9", [](int l) { return v2((l & ~15) | ((l & 8) != 0 ? 15 - (l & 7) : 7 - (l & 7))); }},
      {select + "v_permlanex16_b32 v10, v2, s8, s9",
       [](int l) { return v2(((l & ~15) ^ 16) | ((l & 8) != 0 ? 15 - (l & 7) : 7 - (l & 7))); }},
      {"s_mov_b32 s8, 0x76543210\n v_permlanex16_b32 v10, v2, s8, 0xfedcba98", [](int l) { return v2(l ^ 16); }},
      {"s_mov_b32 s8, 0x76543210\n s_mov_b32 exec_lo, 0xffff\n v_permlanex16_b32 v10, v2, s8, 0xfedcba98", [](int) { return 7; }},
      {"s_mov_b32 s8, 0x76543210\n s_mov_b32 exec_lo, 0xffff\n v_permlanex16_b32 v10, v2, s8, 0xfedcba98 op_sel:[1,0]",
       [](int l) { return l < 16 ? v2(l ^ 16) : 7; }},
  });
}

class CrossLaneOfCdna : public CrossLane {};
INSTANTIATE_TEST_SUITE_P(Chips, CrossLaneOfCdna, testing::Values("gfx942"), [](const auto& info) { return std::string(info.param); });

TEST_P(CrossLaneOfCdna, PartsOfRegisters) {
  check({
      {"v_mov_b32 v4, 0x80c0\n v_mov_b32_sdwa v10, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1", [](int) { return 0x80; }},
      {"v_mov_b32 v4, 0x80c0\n v_mov_b32_sdwa v10, sext(v4) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0",
       [](int) { return static_cast<int>(0xffffffc0); }},
      {"v_mov_b32 v4, 0x80c0\n v_mov_b32_sdwa v10, v4 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0",
       [](int) { return static_cast<int>(0x80c00007); }},
      {"v_mov_b32 v4, 0x80c0\n v_mov_b32_sdwa v10, v4 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0", [](int) { return 0xc000; }},
      {"v_mov_b32 v4, 0x80c0\n v_add_u32_sdwa v10, v2, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:BYTE_1",
       [](int l) { return v2(l) + 0x80; }},
  });
}

class CrossLaneOfGfx950 : public CrossLane {};
INSTANTIATE_TEST_SUITE_P(Chips, CrossLaneOfGfx950, testing::Values("gfx950"), [](const auto& info) { return std::string(info.param); });

TEST_P(CrossLaneOfGfx950, SwapsAndTransposedLoads) {
  // Into local memory each lane writes its number four times, as 16 bits, with the place added: 4 * lane + place.
  std::string store =
      "v_lshlrev_b32 v4, 3, v0\n v_lshlrev_b32 v5, 2, v0\n v_add_u32 v6, 1, v5\n v_lshl_or_b32 v6, v6, 16, v5\n v_add_u32 v7, 0x20002, v6\n"
      "ds_write_b64 v4, v[6:7]\n s_waitcnt lgkmcnt(0)\n ds_read_b64_tr_b16 v[8:9], v4\n s_waitcnt lgkmcnt(0)\n";
  auto element = [](int l, int j) { return 4 * ((l & ~15) + 4 * j + (l & 15) / 4) + l % 4; };
  check({
      {"v_mov_b32 v10, v3\n v_permlane32_swap_b32 v10, v2", [](int l) { return l < 32 ? 4 * l : v2(l - 32); }},
      {"v_mov_b32 v10, v3\n v_permlane32_swap_b32 v2, v10", [](int l) { return l < 32 ? v2(l + 32) : 4 * l; }},
      {"v_mov_b32 v10, v3\n v_permlane16_swap_b32 v10, v2", [](int l) { return l % 32 < 16 ? 4 * l : v2(l - 16); }},
      {store + "v_mov_b32 v10, v8", [&](int l) { return element(l, 0) | element(l, 1) << 16; }},
      {store + "v_mov_b32 v10, v9", [&](int l) { return element(l, 2) | element(l, 3) << 16; }},
  });
}

}  // namespace
}  // namespace fattn::test
