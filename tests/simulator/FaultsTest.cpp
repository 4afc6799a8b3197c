// SPDX-License-Identifier: Apache-2.0
// Programs with one mistake each, in assembly, and what the simulator says of it.
#include <gtest/gtest.h>

#include "tests/simulator/KernelFixture.h"
#include "tests/simulator/MakeCodeObject.h"

namespace fattn::test {
namespace {

using namespace simulator;

/// The chips' names for the same access.
std::string translated(std::string text, bool cdna) {
  if (cdna) return text;
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"s_load_dwordx4", "s_load_b128"},
                                                                             {"s_load_dwordx2", "s_load_b64"},
                                                                             {"global_load_dwordx2", "global_load_b64"},
                                                                             {"global_load_dword", "global_load_b32"},
                                                                             {"global_store_dword", "global_store_b32"},
                                                                             {"ds_read_b32", "ds_load_b32"},
                                                                             {"ds_write_b32", "ds_store_b32"},
                                                                             {"v_add_u32", "v_add_nc_u32"},
                                                                             {"buffer_load_dword", "buffer_load_b32"},
                                                                             {"s_mov_b64 exec", "s_mov_b32 exec_lo"},
                                                                             {"vcc,", "vcc_lo,"}};
  for (auto [from, to] : kNames)
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

constexpr const char* kPointers = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
)";

class Faults : public KernelFixture {
 protected:
  /// The fault of a body that has v1 = 4 * thread and the buffers' addresses in s[4:5] and s[6:7]; each buffer has 128 dwords.
  std::string fault(const std::string& body, std::uint32_t threads = 128, std::uint32_t lds = 1024,
                    LaunchOptions options = LaunchOptions()) {
    forgetBuffers();
    buffer("in", in_, Memory::Use::ReadOnly);
    buffer("out", out_);
    auto object = makeKernels(chip(), {{.name = "f", .body = translated(kPointers + body, isCdna()), .ldsBytes = lds}});
    return faultOf(*object, "f", threads, options);
  }
  std::vector<std::uint32_t> in_ = std::vector<std::uint32_t>(128, 5), out_ = std::vector<std::uint32_t>(128);
};
INSTANTIATE_TEST_SUITE_P(Chips, Faults, testing::Values("gfx942", "gfx1100"), [](const auto& info) { return std::string(info.param); });

#define EXPECT_SAYS(text, part) EXPECT_PRED_FORMAT2(testing::IsSubstring, part, text)

TEST_P(Faults, NothingWrong) {
  EXPECT_EQ(fault("global_load_dword v2, v1, s[4:5]\n s_waitcnt vmcnt(0)\n global_store_dword v1, v2, s[6:7]"), "");
  EXPECT_EQ(out_[127], 5U);
}

TEST_P(Faults, AVectorLoadWithoutAWait) {
  std::string text = fault("global_load_dword v2, v1, s[4:5]\n v_add_u32 v3, v2, v2");
  EXPECT_SAYS(text, "wave 0: reads v2, which \"global_load_");
  EXPECT_SAYS(text, "no wait covers that load");
  EXPECT_SAYS(fault("global_load_dword v2, v1, s[4:5]\n v_mov_b32 v2, 0"), "writes v2, which \"global_load_");
}

TEST_P(Faults, AWaitThatLeavesOneLoadTooMany) {
  std::string loads = "global_load_dword v2, v1, s[4:5]\n global_load_dword v3, v1, s[4:5]\n s_waitcnt vmcnt(1)\n";
  EXPECT_EQ(fault(loads + "v_mov_b32 v4, v2"), "");
  EXPECT_SAYS(fault(loads + "v_mov_b32 v4, v3"), "reads v3, which");
}

/// More loads than the counter counts: the chip issues none that it has no room for.
TEST_P(Faults, AWaitForAsManyAsTheCounterCounts) {
  auto loads = [](int count) {
    std::string text = "global_load_dword v2, v1, s[4:5]\n";
    for (int i = 0; i < count; ++i) text += "global_load_dword v3, v1, s[4:5]\n";
    return text + "s_waitcnt vmcnt(63)\n v_mov_b32 v4, v2";
  };
  EXPECT_EQ(fault(loads(63)), "");
  EXPECT_SAYS(fault(loads(62)), "reads v2, which");
}

TEST_P(Faults, AScalarLoadWithoutAWait) {
  EXPECT_SAYS(fault("s_load_dwordx2 s[8:9], s[0:1], 0x8\n s_mov_b32 s10, s9"), "reads s9, which \"s_load_");
  // Scalar loads come in any order: only a wait for all of them helps.
  std::string loads = "s_load_dwordx2 s[8:9], s[0:1], 0x0\n s_load_dwordx2 s[12:13], s[0:1], 0x8\n";
  EXPECT_SAYS(fault(loads + "s_waitcnt lgkmcnt(1)\n s_mov_b32 s10, s8"), "reads s8, which \"s_load_");
  EXPECT_EQ(fault(loads + "s_waitcnt lgkmcnt(0)\n s_mov_b32 s10, s8"), "");
}

TEST_P(Faults, ALocalLoadWithoutAWait) {
  EXPECT_SAYS(fault("ds_write_b32 v1, v0\n ds_read_b32 v2, v1\n v_mov_b32 v3, v2"), "reads v2, which \"ds_");
}

TEST_P(Faults, AMissingBarrierInEveryOrderOfWaves) {
  // Each thread reads what the other wave has written.
  std::string body =
      "v_xor_b32 v2, 0x100, v1\n ds_write_b32 v1, v0\n s_waitcnt lgkmcnt(0)\n %BARRIER%\n ds_read_b32 v3, v2\n s_waitcnt lgkmcnt(0)";
  auto with = [&](const std::string& barrier) { return std::string(body).replace(body.find("%BARRIER%"), 9, barrier); };
  using Order = LaunchOptions::Order;
  for (Order order : {Order::Forward, Order::Reversed}) {
    EXPECT_EQ(fault(with("s_barrier"), 128, 1024, {.order = order}), "");
    EXPECT_SAYS(fault(with(""), 128, 1024, {.order = order}), "reads LDS byte ");
  }
  // The first wave finds nothing yet; the second would find what the first has written.
  EXPECT_SAYS(fault(with("")), "which nobody has written");
  std::string late =
      "v_cmp_gt_u32 vcc, 64, v0\n s_cbranch_vccz READ\n ds_write_b32 v1, v0\n s_waitcnt lgkmcnt(0)\n s_branch END\nREAD:\n"
      "v_xor_b32 v2, 0x100, v1\n ds_read_b32 v3, v2\nEND:";
  EXPECT_SAYS(fault(late), "which wave 0 has written since the last barrier");
}

/// What all waves hold, each of them may write.
TEST_P(Faults, WavesMayWriteTheSameToTheSamePlace) {
  std::string place = "v_and_b32 v2, 0xfc, v1\n";
  std::string readOwn = "\n s_waitcnt lgkmcnt(0)\n ds_read_b32 v3, v2\n s_waitcnt lgkmcnt(0)";
  EXPECT_EQ(fault(place + "ds_write_b32 v2, v2" + readOwn), "");
  EXPECT_SAYS(fault(place + "ds_write_b32 v2, v1" + readOwn), "has written since the last barrier");
  // A third wave has to wait for a barrier all the same.
  std::string third =
      "v_cmp_gt_u32 vcc, 128, v0\n s_cbranch_vccz READ\n ds_write_b32 v2, v2\n s_branch END\nREAD:\n ds_read_b32 v3, v2\nEND:";
  EXPECT_SAYS(fault(place + third, 192), "has written since the last barrier");
}

TEST_P(Faults, ABarrierBeforeWhatWasReadIsOverwritten) {
  std::string body =
      "ds_write_b32 v1, v0\n s_waitcnt lgkmcnt(0)\n s_barrier\n v_xor_b32 v2, 0x100, v1\n ds_read_b32 v3, v2\n s_waitcnt lgkmcnt(0)\n";
  // The upper half of the threads overwrites what the lower half has read.
  std::string overwrite = "v_cmp_gt_u32 vcc, 64, v0\n s_cbranch_vccnz END\n ds_write_b32 v1, v0\nEND:";
  EXPECT_SAYS(fault(body + overwrite), "read since the last barrier");
  EXPECT_EQ(fault(body + "s_barrier\n" + overwrite), "");
}

TEST_P(Faults, ABarrierWithoutTheWaitBeforeIt) {
  std::string body = "v_xor_b32 v2, 0x100, v1\n ds_write_b32 v1, v0\n s_barrier\n ds_read_b32 v3, v2\n s_waitcnt lgkmcnt(0)";
  EXPECT_SAYS(fault(body), "may be on its way: a wait in that wave before the barrier is missing");
}

TEST_P(Faults, AReadThatABarrierDoesNotCover) {
  std::string body =
      "ds_write_b32 v1, v0\n s_waitcnt lgkmcnt(0)\n s_barrier\n v_xor_b32 v2, 0x100, v1\n ds_read_b32 v3, v2\n s_barrier\n ds_write_b32 "
      "v1, v0";
  EXPECT_SAYS(fault(body), "or before it without a wait behind the read");
}

TEST_P(Faults, UndefinedRegisters) {
  EXPECT_SAYS(fault("global_store_dword v1, v9, s[6:7]"),
              "lane 0: what is stored is undefined: v9 depends on a register that nobody has written");
  // The value is followed through arithmetic; what no lane uses does no harm.
  EXPECT_SAYS(fault("v_add_u32 v8, v9, v1\n v_mov_b32 v7, v8\n global_store_dword v1, v7, s[6:7]"),
              "v7 depends on a register that nobody has written");
  EXPECT_EQ(fault("v_add_u32 v8, v9, v1"), "");
  EXPECT_SAYS(fault("v_add_u32 v8, s30, v1\n global_load_dword v2, v8, s[4:5]"), "the address is undefined");
  EXPECT_SAYS(fault("s_cmp_eq_u32 s30, 0\n s_cbranch_scc0 OUT\nOUT:"),
              "branches on SCC, which depends on a register that nobody has written");
  EXPECT_SAYS(fault("v_cmp_eq_u32 vcc, v9, v1\n s_cbranch_vccz OUT\nOUT:"), "the condition is undefined: vcc_lo");
}

/// What compilers leave unwritten, because what they use does not depend on it.
TEST_P(Faults, AnUnwrittenUpperHalfOfAnAddendLeavesTheLowerResultDefined) {
  std::string body = (isCdna() ? "v_mad_u64_u32 v[10:11], vcc, v1, v1, v[8:9]\n" : "v_mad_u64_u32 v[10:11], vcc_lo, v1, v1, v[8:9]\n");
  auto with = [&](const char* written, const char* stored) {
    return fault(std::string("v_mov_b32 ") + written + ", 1\n" + body + "global_store_dword v1, " + stored + ", s[6:7]");
  };
  EXPECT_EQ(with("v8", "v10"), "");
  EXPECT_EQ(out_[3], 145U);
  EXPECT_SAYS(with("v8", "v11"), "v11 depends on a register that nobody has written");
  EXPECT_SAYS(with("v9", "v10"), "v10 depends on a register that nobody has written");
}

TEST_P(Faults, UnwrittenHalvesOfPairsThatAreMoved) {
  if (!isCdna()) GTEST_SKIP() << "v_mov_b64 is an instruction of CDNA";
  auto with = [&](const char* written, const char* moved, const char* stored) {
    return fault(std::string(written) + "\n v_mov_b64 v[10:11], " + moved + "\n global_store_dword v1, " + stored + ", s[6:7]");
  };
  EXPECT_EQ(with("s_mov_b32 s30, 5", "s[30:31]", "v10"), "");
  EXPECT_EQ(out_[3], 5U);
  EXPECT_SAYS(with("s_mov_b32 s30, 5", "s[30:31]", "v11"), "v11 depends on a register that nobody has written");
  EXPECT_EQ(with("v_mov_b32 v9, 6", "v[8:9]", "v11"), "");
  EXPECT_EQ(out_[3], 6U);
  EXPECT_SAYS(with("v_mov_b32 v9, 6", "v[8:9]", "v10"), "v10 depends on a register that nobody has written");
}

TEST_P(Faults, UnwrittenBitsOutsideOfAFieldLeaveItDefined) {
  auto with = [&](const std::string& written, const std::string& field) {
    return fault("s_mov_b32 " + written + ", 0x81\n" + field + "\n v_mov_b32 v2, s12\n v_mov_b32 v3, s13\n" +
                 "global_store_dword v1, v3, s[6:7]\n global_store_dword v1, v2, s[6:7]");
  };
  EXPECT_EQ(with("s10", "s_bfe_i64 s[12:13], s[10:11], 0x80000"), "");
  EXPECT_EQ(out_[0], 0xffffff81U);
  EXPECT_EQ(with("s10", "s_bfe_u64 s[12:13], s[10:11], 0x40004"), "");
  EXPECT_EQ(out_[0], 8U);
  EXPECT_SAYS(with("s10", "s_bfe_i64 s[12:13], s[10:11], 0x90018"), "v3 depends on a register that nobody has written");
  EXPECT_SAYS(with("s11", "s_bfe_i64 s[12:13], s[10:11], 0x80000"), "v3 depends on a register that nobody has written");
  EXPECT_SAYS(with("s10", "s_bfe_i64 s[12:13], s[10:11], s14"), "v3 depends on a register that nobody has written");
}

TEST_P(Faults, OneUnwrittenHalfOfWhatIsPackedLeavesTheOther) {
  auto with = [&](const std::string& sources) {
    return fault("v_cvt_pkrtz_f16_f32 v10, " + sources + "\n v_lshlrev_b32 v10, 16, v10\n global_store_dword v1, v10, s[6:7]");
  };
  EXPECT_EQ(with("1.0, v9"), "");
  EXPECT_EQ(out_[0], 0x3c000000U);
  EXPECT_SAYS(with("v8, v9"), "v10 depends on a register that nobody has written");
}

TEST_P(Faults, UnwrittenHalvesOfPairsThatAreNotSelected) {
  if (!isCdna()) GTEST_SKIP() << "gfx1100 has no instructions on pairs of floats of 32 bits";
  std::string body = "v_mov_b32 v8, 1.0\n v_mov_b32 v4, 2.0\n v_mov_b32 v5, 3.0\n";
  auto with = [&](const std::string& instruction, const char* stored) {
    return fault(body + instruction + "\n global_store_dword v1, " + stored + ", s[6:7]");
  };
  EXPECT_EQ(with("v_pk_mul_f32 v[10:11], v[4:5], v[8:9] op_sel_hi:[1,0]", "v11"), "");
  EXPECT_EQ(out_[0], 0x40400000U);
  EXPECT_EQ(with("v_pk_add_f32 v[10:11], v[4:5], v[8:9]", "v10"), "");
  EXPECT_SAYS(with("v_pk_add_f32 v[10:11], v[4:5], v[8:9]", "v11"), "v11 depends on a register that nobody has written");
  EXPECT_SAYS(with("v_pk_fma_f32 v[10:11], v[4:5], v[4:5], v[8:9] op_sel:[0,0,1]", "v10"), "v10 depends on");
  EXPECT_EQ(with("v_pk_mov_b32 v[10:11], v[8:9], v[4:5] op_sel:[0,1]", "v10"), "");
  EXPECT_SAYS(with("v_pk_mov_b32 v[10:11], v[8:9], v[4:5] op_sel:[1,0]", "v10"), "v10 depends on");
}

TEST_P(Faults, RegistersThatTheKernelDoesNotHave) {
  EXPECT_SAYS(fault("v_mov_b32 v64, 0"), "names v64, where the kernel's descriptor gives it 64 vector registers");
}

TEST_P(Faults, AccessesOutsideOfBuffers) {
  std::string past = fault("global_load_dword v2, v1, s[4:5] offset:4");
  EXPECT_SAYS(past, "lane ");
  EXPECT_SAYS(past, "reads 4 bytes at 0x");
  EXPECT_SAYS(past, "which ends 4 bytes past the end of in (512 bytes)");
  EXPECT_SAYS(fault("global_load_dword v2, v1, s[4:5] offset:-4"), "lane 0: reads 4 bytes at 0x");
  EXPECT_SAYS(fault("global_load_dword v2, v1, s[4:5] offset:-4"), "4 bytes before the begin of in (512 bytes)");
  EXPECT_SAYS(fault("global_store_dword v1, v0, s[4:5]"), "in in, which may only be read");
  EXPECT_SAYS(fault("v_mov_b32 v2, 64\n v_mov_b32 v3, 0\n global_load_dword v4, v[2:3], off"), "where no buffer is");
  EXPECT_SAYS(fault("ds_write_b32 v1, v0 offset:2"), "accesses 4 bytes at 0x2, which is no multiple of 4");
  EXPECT_SAYS(fault("ds_write_b32 v1, v0 offset:1000"), "lane 6: accesses 4 bytes of LDS at 1024, of 1024 that the workgroup has");
}

TEST_P(Faults, RangesOfBufferAccesses) {
  std::string describe = "s_mov_b32 s8, s4\n s_and_b32 s9, s5, 0xffff\n s_mov_b32 s11, 0x27000\n";
  std::string load = "buffer_load_dword v2, v1, s[8:11], 0 offen\n s_waitcnt vmcnt(0)\n global_store_dword v1, v2, s[6:7]";
  EXPECT_EQ(fault(describe + "s_mov_b32 s10, 256\n" + load), "");
  EXPECT_EQ(out_[63], 5U);
  EXPECT_EQ(out_[64], 0U) << "past the range, zeros are read";
  EXPECT_SAYS(fault(describe + "s_mov_b32 s10, 258\n" + load), "across the end of a buffer's range of 258 bytes");
  EXPECT_SAYS(fault(describe + "s_mov_b32 s10, 0x1000\n" + load + "\n buffer_load_dword v3, v1, s[8:11], 0 offen offset:4"),
              "past the end of in (512 bytes)");
  EXPECT_SAYS(fault(describe + "s_mov_b32 s10, 0x1000\n s_mov_b32 s12, -4\n buffer_load_dword v3, v1, s[8:11], s12 offen"),
              "uses the scalar offset 0xfffffffc, which is negative");
  EXPECT_SAYS(fault(describe + "s_mov_b32 s10, 256\n s_or_b32 s9, s9, 0x40000\n" + load), "with a stride or a swizzle");
}

TEST_P(Faults, BarriersThatNotAllReach) {
  EXPECT_SAYS(fault("s_mov_b64 exec, 0xff\n s_barrier"), "meets a barrier with lanes switched off");
  EXPECT_SAYS(fault("v_cmp_gt_u32 vcc, 64, v0\n s_cbranch_vccz OUT\n s_barrier\nOUT:"), "never meets: it has ended");
}

TEST_P(Faults, ProgramsThatDoNotEnd) {
  EXPECT_SAYS(fault("AGAIN:\n s_branch AGAIN", 128, 0, {.mostInstructions = 1000}), "has executed 1000 instructions without an end");
}

TEST_P(Faults, UnknownInstructionsAreNamed) {
  auto object = makeKernels(chip(), {{.name = "f", .body = "s_trap 2"}});
  EXPECT_EQ(object->unknownMnemonics(), std::vector<std::string>{"s_trap"});
  EXPECT_SAYS(fault("s_trap 2"), ": s_trap 2: workgroup (0, 0, 0), wave 0: the simulator does not know the instruction s_trap");
}

TEST_P(Faults, NamesItsPlace) {
  // Behind the three instructions of the prologue, of 8, 4 and 4 bytes.
  std::string text = fault("v_mov_b32 v2, 0\n global_store_dword v1, v9, s[6:7]");
  EXPECT_TRUE(text.starts_with("kernel+0x14: global_store_")) << text;
  EXPECT_SAYS(text, "workgroup (0, 0, 0), wave 0, lane 0: ");
}

class FaultsOfGfx12 : public KernelFixture {};
INSTANTIATE_TEST_SUITE_P(Chips, FaultsOfGfx12, testing::Values("gfx1201"), [](const auto& info) { return std::string(info.param); });

TEST_P(FaultsOfGfx12, LocalMemoryBetweenTheHalvesOfABarrier) {
  std::string store = "v_lshlrev_b32 v1, 2, v0\n v_xor_b32 v2, 0x80, v1\n ds_store_b32 v1, v0\n s_wait_dscnt 0x0\n s_barrier_signal -1\n";
  auto object =
      makeKernels(chip(), {{.name = "right", .body = store + "s_barrier_wait -1\n ds_load_b32 v3, v2", .pointers = 0, .ldsBytes = 1024},
                           {.name = "early", .body = store + "ds_load_b32 v3, v2\n s_barrier_wait -1", .pointers = 0, .ldsBytes = 1024},
                           {.name = "alone", .body = "s_barrier_wait -1", .pointers = 0}});
  EXPECT_EQ(faultOf(*object, "right", 64), "");
  EXPECT_SAYS(faultOf(*object, "early", 64), "accesses LDS between the two halves of a barrier");
  EXPECT_SAYS(faultOf(*object, "alone", 64), "waits for a barrier that it has not signaled");
}

TEST_P(FaultsOfGfx12, CountersOfTheirOwn) {
  auto object = makeKernels(chip(), {{.name = "right", .body = "s_load_b64 s[4:5], s[0:1], 0x0\n s_wait_kmcnt 0x0\n s_mov_b32 s6, s4"},
                                     {.name = "wrong", .body = "s_load_b64 s[4:5], s[0:1], 0x0\n s_wait_dscnt 0x0\n s_mov_b32 s6, s4"}});
  std::vector<std::uint32_t> in(1), out(1);
  buffer("in", in);
  buffer("out", out);
  EXPECT_EQ(faultOf(*object, "right", 32), "");
  EXPECT_SAYS(faultOf(*object, "wrong", 32), "reads s4, which \"s_load_b64");
}

}  // namespace
}  // namespace fattn::test
