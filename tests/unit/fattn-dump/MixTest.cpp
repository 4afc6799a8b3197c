// SPDX-License-Identifier: Apache-2.0
// Instructions by kind, and the inner loop that machine code's text has.
#include <gtest/gtest.h>

#include "tools/fattn-dump/CodeLoops.h"
#include "tools/fattn-dump/Mix.h"

namespace fattn::dump {
namespace {

int countOf(const Counts& counts, Work work) { return counts.of[static_cast<std::size_t>(work)]; }

TEST(CodeLoops, AreWhatBranchesBackToALabelThatDominates) {
  // entry; A: B: (back to B) (back to A), where a block of A lies before its head in the text.
  const std::vector<CodeLine> code = {{"", "A", false}, {"rotated", "", true}, {"A", "", true}, {"B", "", true},
                                      {"", "B", true},  {"", "rotated", true}, {"", "", true}};
  const std::vector<CodeLoop> loops = loopsOf(code);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].label, "A");
  EXPECT_EQ(loops[0].lines, (std::vector<int>{1, 2, 3, 4, 5}));
  EXPECT_EQ(loops[1].label, "B");
  EXPECT_EQ(loops[1].lines, (std::vector<int>{3, 4}));
  EXPECT_TRUE(loopsOf({}).empty());
}

TEST(Mix, OfPtxCountsInlineCodeAndKnowsTheInnerLoop) {
  const compiler::Stage stage = {"kernel",
                                 "ptx",
                                 ".visible .entry f(\n\t.param .u64 p\n)\n{\n\t.reg .b32 %r<9>;\n\tld.param.b64 %rd1, [p];\n"
                                 "$L__BB0_1:\n\tex2.approx.ftz.f32 %r1, %r2;\n\tadd.s32 %r3, %r3, 1;\n"
                                 "\t{ .reg .b32 low; wgmma.fence.sync.aligned; mov.b64 da, {low, 7}; "
                                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%f1, %f2}, da, db, 1; }\n"
                                 "\t{ .reg .pred done; again: mbarrier.try_wait.b64 done, [%r1], %r2; @!done bra again; }\n"
                                 "\tsetp.lt.s32 %p1, %r3, %r4;\n\t@%p1 bra \t$L__BB0_1;\n"
                                 "$L__BB0_2:\n\tmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32\n\t\t{%r2147, %r2148},\n\t\t{%r1};\n"
                                 "\tmma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32\n\t\t{%r2147, %r2148},\n\t\t{%r1};\n"
                                 "\t@%p2 bra \t$L__BB0_2;\n\tst.global.b32 [%rd1], %r1;\n\tret;\n}\n",
                                 {}};
  const std::optional<Mix> mix = mixOf(stage, "nvidia:sm_90a");
  ASSERT_TRUE(mix);
  EXPECT_EQ(mix->code, "PTX");
  EXPECT_EQ(mix->loop, "$L__BB0_1") << "one dot of 64 x 128 x 16 is more than two of 16 x 8 x 16";
  EXPECT_EQ(countOf(mix->inLoop, Work::Matrix), 1);
  EXPECT_EQ(countOf(mix->inLoop, Work::Special), 1);
  EXPECT_EQ(countOf(mix->inLoop, Work::Wait), 2);
  EXPECT_EQ(countOf(mix->inLoop, Work::Integer), 1);
  EXPECT_EQ(countOf(mix->inLoop, Work::Branch), 2);
  EXPECT_EQ(mix->inLoop.total(), 9);
  EXPECT_EQ(countOf(mix->kernel, Work::Matrix), 3);
  EXPECT_EQ(countOf(mix->kernel, Work::Global), 1);
  EXPECT_EQ(countOf(mix->kernel, Work::Other), 1) << "the argument's load";
  EXPECT_EQ(mix->kernel.total(), 15);
}

TEST(Mix, OfAmdsAndTheHostsAssembly) {
  const compiler::Stage amd = {"kernel",
                               "s",
                               "f:\n; %bb.0:\n\ts_load_dwordx2 s[0:1], s[4:5], 0x0\n.LBB0_1:  ; =>This Inner Loop\n"
                               "\tv_mfma_f32_32x32x8_bf16 a[0:15], v[0:1], v[2:3], a[0:15]\n\tds_read_b128 v[0:3], v4 ; comment\n"
                               "\tv_mov_b32_dpp v1, v2 row_shr:1\n\tv_dual_mul_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v4\n"
                               "\ts_waitcnt lgkmcnt(0)\n\ts_cbranch_scc1 .LBB0_1\n\ts_endpgm\n\t.amdgpu_metadata\nv_add_f32:\n  v_add: 1\n",
                               {}};
  const std::optional<Mix> gcn = mixOf(amd, "amd:gfx942");
  ASSERT_TRUE(gcn);
  EXPECT_EQ(gcn->loop, ".LBB0_1");
  for (const Work work : {Work::Matrix, Work::Shared, Work::Exchange, Work::Float, Work::Wait, Work::Branch})
    EXPECT_EQ(countOf(gcn->inLoop, work), 1) << name(work);
  EXPECT_EQ(gcn->kernel.total(), 8);
  const compiler::Stage host = {"host",
                                "s",
                                "f:  # @f\n\tpushq %rbx\n.LBB0_1:\n\tvfmadd231ps (%rax), %ymm0, %ymm1\n\tvmovups (%rax), %ymm2\n"
                                "\tvmovaps %ymm1, %ymm3\n\taddq $8, %rax\n\tcmpq %rax, %rcx\n\tjl .LBB0_1\n\tretq\n",
                                {}};
  const std::optional<Mix> x86 = mixOf(host, "host:avx2");
  ASSERT_TRUE(x86);
  for (const Work work : {Work::Float, Work::Global, Work::Move, Work::Integer, Work::Select, Work::Branch})
    EXPECT_EQ(countOf(x86->inLoop, work), 1) << name(work);
  EXPECT_EQ(x86->kernel.total(), 8);
  EXPECT_EQ(mixLine(x86->inLoop),
            "6 instructions: 1 float arithmetic; 1 integers, addresses; 1 compare, select; 1 moves; 1 memory; 1 branches");
  EXPECT_FALSE(mixOf({"tile", "mlir", "module {}\n", {}}, "host:avx2"));
}

TEST(Mix, TextHasARowAKindAndSaysWhereThereIsNoLoop) {
  const std::string text = mixText(*mixOf({"k", "ptx", "\tadd.s32 %r1, %r2, 1;\n\tret;\n", {}}, "nvidia:sm_80"));
  EXPECT_EQ(text,
            "instructions in PTX, each counted once\nno loop has dots or arithmetic\n"
            "                          inner loop     %  whole kernel     %\n"
            "integers, addresses                0     0             1    50\n"
            "branches                           0     0             1    50\n"
            "all                                0     0             2   100\n");
}

}  // namespace
}  // namespace fattn::dump
