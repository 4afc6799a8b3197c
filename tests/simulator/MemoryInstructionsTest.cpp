// SPDX-License-Identifier: Apache-2.0
// Loads, stores and atomic operations in their forms.
#include <fmt/format.h>

#include <numeric>

#include "tests/simulator/KernelFixture.h"
#include "tests/simulator/MakeCodeObject.h"

namespace fattn::test {
namespace {

using namespace simulator;

/// A body on 64 threads: v1 is 16 * thread, s[4:5] and s[6:7] are the buffers `in` (bytes that count up) and `out`, of 64 * 16 bytes each;
/// v10 to v13 hold 0x77777777 and are stored at 16 * thread behind it.
class MemoryInstructions : public KernelFixture {
 protected:
  /// The first `count` dwords of thread `thread`.
  std::vector<std::uint32_t> after(const std::string& cdnaBody, const std::string& rdnaBody, std::size_t thread, std::size_t count) {
    std::string before = fmt::format("{} s[4:7], s[0:1], 0x0\n v_lshlrev_b32 v1, 4, v0\n", isCdna() ? "s_load_dwordx4" : "s_load_b128");
    for (int i = 10; i < 14; ++i) before += fmt::format("v_mov_b32 v{}, 0x77777777\n", i);
    std::string wait = isCdna() ? "\n s_waitcnt vmcnt(0) lgkmcnt(0)\n" : "\n s_waitcnt vmcnt(0) lgkmcnt(0)\n s_waitcnt_vscnt null, 0x0\n";
    std::string end = isCdna() ? "global_store_dwordx4 v1, v[10:13], s[6:7]" : "global_store_b128 v1, v[10:13], s[6:7]";
    auto object = makeKernels(
        chip(),
        {{.name = "f", .body = before + "s_waitcnt lgkmcnt(0)\n" + (isCdna() ? cdnaBody : rdnaBody) + wait + end, .ldsBytes = 4096}});
    EXPECT_EQ(object->unknownMnemonics(), std::vector<std::string>());
    std::vector<std::uint8_t> in(1024);
    std::iota(in.begin(), in.end(), std::uint8_t{0});
    std::vector<std::uint32_t> out(256);
    forgetBuffers();
    buffer("in", in, Memory::Use::ReadOnly);
    buffer("out", out);
    EXPECT_EQ(faultOf(*object, "f", 64), "") << cdnaBody;
    auto first = out.begin() + static_cast<std::ptrdiff_t>(thread * 4);
    return {first, first + static_cast<std::ptrdiff_t>(count)};
  }
  using Words = std::vector<std::uint32_t>;
};
INSTANTIATE_TEST_SUITE_P(Chips, MemoryInstructions, testing::Values("gfx942", "gfx1100"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(MemoryInstructions, GlobalLoadsOfAllSizes) {
  // Thread 9 reads from byte 144 on: 0x90, 0x91 ...
  EXPECT_EQ(after("global_load_ubyte v10, v1, s[4:5] offset:1", "global_load_u8 v10, v1, s[4:5] offset:1", 9, 2),
            (Words{0x91, 0x77777777}));
  EXPECT_EQ(after("global_load_sbyte v10, v1, s[4:5]", "global_load_i8 v10, v1, s[4:5]", 9, 1), Words{0xffffff90});
  EXPECT_EQ(after("global_load_ushort v10, v1, s[4:5]", "global_load_u16 v10, v1, s[4:5]", 9, 1), Words{0x9190});
  EXPECT_EQ(after("global_load_sshort v10, v1, s[4:5]", "global_load_i16 v10, v1, s[4:5]", 9, 1), Words{0xffff9190});
  EXPECT_EQ(after("global_load_dword v10, v1, s[4:5]", "global_load_b32 v10, v1, s[4:5]", 9, 1), Words{0x93929190});
  EXPECT_EQ(after("global_load_dwordx2 v[10:11], v1, s[4:5]", "global_load_b64 v[10:11], v1, s[4:5]", 9, 3),
            (Words{0x93929190, 0x97969594, 0x77777777}));
  EXPECT_EQ(after("global_load_dwordx3 v[10:12], v1, s[4:5]", "global_load_b96 v[10:12], v1, s[4:5]", 9, 4),
            (Words{0x93929190, 0x97969594, 0x9b9a9998, 0x77777777}));
  EXPECT_EQ(after("global_load_dwordx4 v[10:13], v1, s[4:5]", "global_load_b128 v[10:13], v1, s[4:5]", 9, 4),
            (Words{0x93929190, 0x97969594, 0x9b9a9998, 0x9f9e9d9c}));
  // The chip with error correction loses the other half.
  EXPECT_EQ(after("global_load_short_d16 v10, v1, s[4:5]", "global_load_d16_b16 v10, v1, s[4:5]", 9, 1),
            Words{isCdna() ? 0x9190U : 0x77779190U});
  EXPECT_EQ(after("global_load_short_d16_hi v10, v1, s[4:5]", "global_load_d16_hi_b16 v10, v1, s[4:5]", 9, 1),
            Words{isCdna() ? 0x91900000U : 0x91907777U});
  EXPECT_EQ(after("global_load_sbyte_d16 v10, v1, s[4:5]", "global_load_d16_i8 v10, v1, s[4:5]", 9, 1),
            Words{isCdna() ? 0xff90U : 0x7777ff90U});
  EXPECT_EQ(after("global_load_sbyte_d16_hi v10, v1, s[4:5]", "global_load_d16_hi_i8 v10, v1, s[4:5]", 9, 1),
            Words{isCdna() ? 0xff900000U : 0xff907777U});
}

TEST_P(MemoryInstructions, GlobalAccessesMayBeginAnywhere) {
  EXPECT_EQ(after("global_load_dwordx2 v[10:11], v1, s[4:5] offset:3", "global_load_b64 v[10:11], v1, s[4:5] offset:3", 9, 2),
            (Words{0x96959493, 0x9a999897}));
}

TEST_P(MemoryInstructions, AddressesOfAllForms) {
  std::string sum = "v_mov_b32 v3, s5\n v_mov_b32 v4, s4\n";
  EXPECT_EQ(
      after(sum + "v_add_co_u32 v2, vcc, v4, v1\n v_addc_co_u32 v3, vcc, 0, v3, vcc\n global_load_dword v10, v[2:3], off offset:4",
            sum + "v_add_co_u32 v2, vcc_lo, v4, v1\n v_add_co_ci_u32 v3, vcc_lo, 0, v3, vcc_lo\n global_load_b32 v10, v[2:3], off offset:4",
            9, 1),
      Words{0x97969594});
  EXPECT_EQ(after(sum + "v_add_co_u32 v2, vcc, v4, v1\n v_addc_co_u32 v3, vcc, 0, v3, vcc\n flat_load_dword v10, v[2:3]",
                  sum + "v_add_co_u32 v2, vcc_lo, v4, v1\n v_add_co_ci_u32 v3, vcc_lo, 0, v3, vcc_lo\n flat_load_b32 v10, v[2:3]", 9, 1),
            Words{0x93929190});
  std::string range = "s_mov_b32 s8, s4\n s_and_b32 s9, s5, 0xffff\n s_mov_b32 s10, 1024\n s_mov_b32 s11, 0x27000\n s_mov_b32 s12, 8\n";
  EXPECT_EQ(after(range + "buffer_load_dword v10, v1, s[8:11], s12 offen offset:4",
                  range + "buffer_load_b32 v10, v1, s[8:11], s12 offen offset:4", 9, 1),
            Words{0x9f9e9d9c});
  EXPECT_EQ(after(range + "buffer_load_dword v10, off, s[8:11], s12", range + "buffer_load_b32 v10, off, s[8:11], s12", 9, 1),
            Words{0x0b0a0908});
  EXPECT_EQ(after("s_load_dword s8, s[4:5], 0x10\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v10, s8",
                  "s_load_b32 s8, s[4:5], 0x10\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v10, s8", 9, 1),
            Words{0x13121110});
  std::string scalar = range + "s_buffer_load_dwordx2 s[12:13], s[8:11], 0x10\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v10, s13";
  EXPECT_EQ(after(scalar, std::string(scalar).replace(scalar.find("dwordx2"), 7, "b64"), 9, 1), Words{0x17161514});
}

TEST_P(MemoryInstructions, GlobalStoresOfParts) {
  EXPECT_EQ(
      after("v_mov_b32 v2, 0x11223344\n global_store_byte v1, v2, s[6:7]\n s_waitcnt vmcnt(0)\n global_load_dwordx4 v[10:13], v1, s[6:7]",
            "v_mov_b32 v2, 0x11223344\n global_store_b8 v1, v2, s[6:7]\n s_waitcnt_vscnt null, 0x0\n global_load_b128 v[10:13], v1, s[6:7]",
            9, 2),
      (Words{0x44, 0}));
  EXPECT_EQ(after("v_mov_b32 v2, 0x11223344\n global_store_short_d16_hi v1, v2, s[6:7] offset:4\n s_waitcnt vmcnt(0)\n global_load_dwordx4 "
                  "v[10:13], v1, s[6:7]",
                  "v_mov_b32 v2, 0x11223344\n global_store_d16_hi_b16 v1, v2, s[6:7] offset:4\n s_waitcnt_vscnt null, 0x0\n "
                  "global_load_b128 v[10:13], v1, s[6:7]",
                  9, 2),
            (Words{0, 0x1122}));
}

TEST_P(MemoryInstructions, LocalMemoryOfAllSizes) {
  std::string store = "v_mov_b32 v2, 0x81828384\n v_mov_b32 v3, 0x91929394\n v_mov_b32 v4, 0xa1a2a3a4\n v_mov_b32 v5, 0xb1b2b3b4\n";
  std::string cdna = store + "ds_write_b128 v1, v[2:5]\n", rdna = store + "ds_store_b128 v1, v[2:5]\n";
  auto loaded = [&](const std::string& onCdna, const std::string& onRdna, std::size_t count) {
    return after(cdna + onCdna, rdna + onRdna, 9, count);
  };
  EXPECT_EQ(loaded("ds_read_b128 v[10:13], v1", "ds_load_b128 v[10:13], v1", 4), (Words{0x81828384, 0x91929394, 0xa1a2a3a4, 0xb1b2b3b4}));
  EXPECT_EQ(loaded("ds_read_b64 v[10:11], v1 offset:8", "ds_load_b64 v[10:11], v1 offset:8", 3),
            (Words{0xa1a2a3a4, 0xb1b2b3b4, 0x77777777}));
  EXPECT_EQ(loaded("ds_read_u8 v10, v1 offset:1", "ds_load_u8 v10, v1 offset:1", 1), Words{0x83});
  EXPECT_EQ(loaded("ds_read_i8 v10, v1 offset:1", "ds_load_i8 v10, v1 offset:1", 1), Words{0xffffff83});
  EXPECT_EQ(loaded("ds_read_i16 v10, v1 offset:2", "ds_load_i16 v10, v1 offset:2", 1), Words{0xffff8182});
  EXPECT_EQ(loaded("ds_read_u16_d16_hi v10, v1", "ds_load_u16_d16_hi v10, v1", 1), Words{isCdna() ? 0x83840000U : 0x83847777U});
  EXPECT_EQ(loaded("ds_read2_b32 v[10:11], v1 offset0:3 offset1:1", "ds_load_2addr_b32 v[10:11], v1 offset0:3 offset1:1", 2),
            (Words{0xb1b2b3b4, 0x91929394}));
  EXPECT_EQ(loaded("ds_read2_b64 v[10:13], v1 offset0:1", "ds_load_2addr_b64 v[10:13], v1 offset0:1", 3),
            (Words{0xa1a2a3a4, 0xb1b2b3b4, 0x81828384}));
  EXPECT_EQ(loaded("ds_write_b16 v1, v3 offset:2\n ds_write_b8 v1, v5\n ds_write_b16_d16_hi v1, v4 offset:4\n ds_read_b64 v[10:11], v1",
                   "ds_store_b16 v1, v3 offset:2\n ds_store_b8 v1, v5\n ds_store_b16_d16_hi v1, v4 offset:4\n ds_load_b64 v[10:11], v1", 2),
            (Words{0x939483b4, 0x9192a1a2}));
  // 64 dwords further, for each thread of the lower half.
  EXPECT_EQ(
      loaded(
          "v_lshlrev_b32 v6, 2, v0\n ds_write2st64_b32 v6, v4, v5 offset0:8 offset1:9\n ds_read2st64_b32 v[10:11], v6 offset0:9 offset1:8",
          "v_lshlrev_b32 v6, 2, v0\n ds_store_2addr_stride64_b32 v6, v4, v5 offset0:8 offset1:9\n ds_load_2addr_stride64_b32 v[10:11], v6 "
          "offset0:9 offset1:8",
          2),
      (Words{0xb1b2b3b4, 0xa1a2a3a4}));
}

TEST_P(MemoryInstructions, AtomicOperations) {
  auto with = [&](const std::string& cdna, const std::string& rdna, const std::string& value) {
    std::string before = "v_mov_b32 v2, " + value + "\n v_mov_b32 v3, 3\n";
    return after(
        before + "global_atomic_" + cdna + "\n s_waitcnt vmcnt(0)\n global_load_dwordx2 v[12:13], v1, s[6:7]",
        before + "global_atomic_" + rdna + "\n s_waitcnt vmcnt(0)\n s_waitcnt_vscnt null, 0x0\n global_load_b64 v[12:13], v1, s[6:7]", 9,
        3);
  };
  EXPECT_EQ(with("add v10, v1, v2, s[6:7] sc0", "add_u32 v10, v1, v2, s[6:7] glc", "5"), (Words{0, 0x77777777, 5}));
  EXPECT_EQ(with("sub v1, v2, s[6:7]", "sub_u32 v1, v2, s[6:7]", "5"), (Words{0x77777777, 0x77777777, 0xfffffffb}));
  EXPECT_EQ(with("smin v1, v2, s[6:7]", "min_i32 v1, v2, s[6:7]", "-5"), (Words{0x77777777, 0x77777777, 0xfffffffb}));
  EXPECT_EQ(with("umax v1, v2, s[6:7]", "max_u32 v1, v2, s[6:7]", "-5"), (Words{0x77777777, 0x77777777, 0xfffffffb}));
  EXPECT_EQ(with("or v1, v2, s[6:7]", "or_b32 v1, v2, s[6:7]", "9"), (Words{0x77777777, 0x77777777, 9}));
  EXPECT_EQ(with("swap v10, v1, v2, s[6:7] sc0", "swap_b32 v10, v1, v2, s[6:7] glc", "9"), (Words{0, 0x77777777, 9}));
  EXPECT_EQ(with("cmpswap v1, v[2:3], s[6:7]", "cmpswap_b32 v1, v[2:3], s[6:7]", "9"), (Words{0x77777777, 0x77777777, 0}));
  EXPECT_EQ(with("add_f32 v1, v2, s[6:7]", "add_f32 v1, v2, s[6:7]", "1.0"), (Words{0x77777777, 0x77777777, 0x3f800000}));
  EXPECT_EQ(with("add_x2 v1, v[2:3], s[6:7]", "add_u64 v1, v[2:3], s[6:7]", "9"), (Words{0x77777777, 0x77777777, 9}));
}

class LoadsToLocalMemory : public MemoryInstructions {};
INSTANTIATE_TEST_SUITE_P(Chips, LoadsToLocalMemory, testing::Values("gfx942"), [](const auto& info) { return std::string(info.param); });

TEST_P(LoadsToLocalMemory, GoFromM0OnLaneByLane) {
  std::string range =
      "s_mov_b32 s8, s4\n s_and_b32 s9, s5, 0xffff\n s_mov_b32 s10, 1024\n s_mov_b32 s11, 0x27000\n s_mov_b32 m0, 512\n v_lshlrev_b32 v2, "
      "2, v0\n";
  EXPECT_EQ(after(range + "buffer_load_dword v1, s[8:11], 0 offen lds\n s_waitcnt vmcnt(0)\n ds_read_b32 v10, v2 offset:512", "", 9, 1),
            Words{0x93929190});
  EXPECT_EQ(after(range + "global_load_lds_dword v1, s[4:5] offset:4\n s_waitcnt vmcnt(0)\n ds_read_b32 v10, v2 offset:516", "", 9, 1),
            Words{0x97969594});
}

TEST_P(LoadsToLocalMemory, ReadsNeedAWaitEvenOfTheirOwnWave) {
  std::vector<std::uint32_t> in(256), out(256);
  buffer("in", in);
  buffer("out", out);
  auto object = makeKernels(
      chip(), {{.name = "f",
                .body = "s_load_dwordx4 s[4:7], s[0:1], 0x0\n s_mov_b32 m0, 0\n v_lshlrev_b32 v1, 2, v0\n s_waitcnt lgkmcnt(0)\n"
                        "global_load_lds_dword v1, s[4:5]\n ds_read_b32 v10, v1",
                .ldsBytes = 4096}});
  std::string text = faultOf(*object, "f", 64);
  EXPECT_NE(text.find("reads LDS byte 0 while a write of wave 0 to it may be on its way: a wait in that wave is missing"),
            std::string::npos)
      << text;
}

TEST_P(LoadsToLocalMemory, ABarrierIsNoWaitForThem) {
  std::vector<std::uint32_t> in(256), out(256);
  buffer("in", in);
  buffer("out", out);
  // Each wave brings 256 bytes, and reads the other one's.
  auto kernel = [&](const std::string& wait) {
    return makeKernels(chip(), {{.name = "f",
                                 .body = "s_load_dwordx4 s[4:7], s[0:1], 0x0\n v_lshlrev_b32 v1, 2, v0\n v_xor_b32 v2, 256, v1\n"
                                         "v_readfirstlane_b32 s8, v1\n s_mov_b32 m0, s8\n s_waitcnt lgkmcnt(0)\n"
                                         "global_load_lds_dword v1, s[4:5]\n" +
                                         wait + "s_barrier\n ds_read_b32 v10, v2\n s_waitcnt vmcnt(0) lgkmcnt(0)",
                                 .ldsBytes = 4096}});
  };
  EXPECT_EQ(faultOf(*kernel("s_waitcnt vmcnt(0)\n"), "f", 128), "");
  std::string text = faultOf(*kernel(""), "f", 128);
  EXPECT_NE(text.find("may be on its way: a wait in that wave before the barrier is missing"), std::string::npos) << text;
}

class WideLoadsToLocalMemory : public MemoryInstructions {};
INSTANTIATE_TEST_SUITE_P(Chips, WideLoadsToLocalMemory, testing::Values("gfx950"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(WideLoadsToLocalMemory, FillSixteenBytesALane) {
  // Lanes fetch from the end on: the place is the lane's, whatever it fetches.
  const std::string load =
      "s_mov_b32 m0, 512\n v_sub_u32 v3, 0x3f0, v1\n global_load_lds_dwordx4 v3, s[4:5]\n s_waitcnt vmcnt(0)\n ds_read_b128 v[10:13], v1 "
      "offset:512";
  EXPECT_EQ(after(load, "", 5, 4), (Words{0xa3a2a1a0, 0xa7a6a5a4, 0xabaaa9a8, 0xafaeadac}));
}

}  // namespace
}  // namespace fattn::test
