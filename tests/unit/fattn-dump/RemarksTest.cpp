// SPDX-License-Identifier: Apache-2.0
// What machine code costs by source line: accesses found in text, addresses of shared memory followed for a warp, and the sentences.
#include <gtest/gtest.h>

#include "tools/fattn-dump/Accesses.h"
#include "tools/fattn-dump/LineTables.h"
#include "tools/fattn-dump/PtxAddresses.h"
#include "tools/fattn-dump/Remarks.h"

namespace fattn::dump {
namespace {

void expectIn(const std::string& text, const std::string& part) { EXPECT_NE(text.find(part), std::string::npos) << text; }

std::optional<Lanes> addressesBehind(std::initializer_list<const char*> lines, const char* operand) {
  PtxLanes lanes;
  for (const char* line : lines) lanes.execute(*parsePtx(line));
  return lanes.addresses(operand);
}

TEST(PtxInstructions, HaveGuardsOpcodesAndOperands) {
  const auto store = parsePtx("\t@%p3 st.shared.v2.b32 \t[%r1+2048], {%r2, %r3};  // why");
  ASSERT_TRUE(store);
  EXPECT_EQ(store->guard, "%p3");
  EXPECT_EQ(store->opcode, (std::vector<std::string_view>{"st", "shared", "v2", "b32"}));
  EXPECT_EQ(store->operands, (std::vector<std::string_view>{"[%r1+2048]", "{%r2, %r3}"}));
  for (const char* line : {"", "  ", "// text", "$L__BB0_1:", ".reg .b32 %r<3>;", "{", "}"}) EXPECT_FALSE(parsePtx(line)) << line;
}

TEST(PtxLanes, FollowThreadsToBytes) {
  const auto addresses =
      addressesBehind({"mov.u32 %r1, %tid.x;", "and.b32 %r2, %r1, 7;", "shl.b32 %r3, %r2, 4;", "bfe.u32 %r4, %r1, 3, 2;",
                       "mul.lo.s32 %r5, %r4, 256;", "xor.b32 %r6, %r3, %r5;", "mov.b32 %r7, fattn_shared;", "add.s32 %r8, %r7, %r6;"},
                      "[%r8+4096]");
  ASSERT_TRUE(addresses);
  for (int lane = 0; lane < kLanes; ++lane) EXPECT_EQ((*addresses)[lane], 4096 + lane % 8 * 16 + lane / 8 * 256) << lane;
}

TEST(PtxLanes, WhatIsTheSameForAllLanesMayBeAddedUnknown) {
  const std::initializer_list<const char*> known = {
      "ld.param.b32 %r1, [f_param_0];", "mul.lo.s32 %r2, %r1, 24;",  "mov.u32 %r3, %tid.x;",      "shl.b32 %r4, %r3, 2;",
      "add.s32 %r5, %r2, %r4;",         "mul.lo.s32 %r6, %r3, %r1;", "ld.shared.b32 %r7, [%r4];", "add.s32 %r8, %r7, %r4;"};
  ASSERT_TRUE(addressesBehind(known, "[%r5]"));
  EXPECT_EQ((*addressesBehind(known, "[%r5]"))[3] - (*addressesBehind(known, "[%r5]"))[0], 12);
  EXPECT_FALSE(addressesBehind(known, "[%r6]")) << "lanes an unknown distance apart";
  EXPECT_FALSE(addressesBehind(known, "[%r8]")) << "what memory holds";
  EXPECT_FALSE(addressesBehind(known, "[%r9]")) << "written nowhere";
}

// 32 lanes a row of 128 bytes apart read one bank each time; with 4 more bytes a row they read all 32.
TEST(Accesses, OfPtxKnowTheirBanks) {
  Stage stage{"kernel",
              "ptx",
              "\t.file 1 \"a.cpp\"\n\tmov.u32 %r1, %tid.x;\n\tmul.lo.s32 %r2, %r1, 128;\n\tmul.lo.s32 %r3, %r1, 132;\n"
              "\t.loc 1 7 3\n\tld.shared.b32 %r4, [%r2];\n\t.loc 1 8 3\n\tst.shared.b32 [%r3], %r4;\n"
              "\t.loc 1 9 3\n\tcp.async.cg.shared.global [%r2], [%rd1], 16;\n\tld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd1];\n"
              "\t@%p1 st.global.b16 [%rd1], %rs1;\n\tldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r9, %r10, %r11, %r12}, [%r3];\n",
              {}};
  readLineTables(stage);
  const std::vector<Access> accesses = accessesOf(stage, {});
  ASSERT_EQ(accesses.size(), 6u);
  ASSERT_TRUE(accesses[0].banks && accesses[1].banks && accesses[5].banks);
  EXPECT_EQ(accesses[0].banks->passes, 32);
  EXPECT_EQ(accesses[0].banks->ideal, 1);
  EXPECT_EQ(accesses[0].line, (compiler::SourceLine{"a.cpp", 7}));
  EXPECT_EQ(accesses[1].banks->passes, 1);
  EXPECT_EQ(accesses[2].move, Move::Copy);
  EXPECT_EQ(accesses[2].bytes, 16);
  EXPECT_EQ(accesses[3].bytes, 16);
  EXPECT_EQ(accesses[4].move, Move::Store);
  EXPECT_EQ(accesses[4].bytes, 2);
  EXPECT_EQ(accesses[5].bytes, 16);
  EXPECT_EQ(accesses[5].banks->ideal, 4);
}

std::vector<std::pair<Move, int>> movesIn(const char* extension, const char* text) {
  std::vector<std::pair<Move, int>> moves;
  for (const Access& access : accessesOf({"kernel", extension, text, {}}, {})) moves.emplace_back(access.move, access.bytes);
  return moves;
}

TEST(Accesses, OfAssemblyAndSass) {
  using Moves = std::vector<std::pair<Move, int>>;
  EXPECT_EQ(movesIn("s",
                    "\tglobal_load_dwordx4 v[0:3], v4, s[0:1]\n\tds_write_b16_d16_hi v1, v2\n\tds_read2st64_b64 v[0:3], v4\n"
                    "\tglobal_load_ubyte_d16 v1, v2, s[0:1]\n\tglobal_store_b128 v1, v[2:5], s[0:1]\n\tbuffer_atomic_add_f32 v1, v2\n"
                    "\tscratch_store_dwordx2 off, v[0:1], s32 ; 8-byte Folded Spill\n\tv_add_f32 v1, v2, v3\n"),
            (Moves{{Move::Load, 16},
                   {Move::SharedStore, 2},
                   {Move::SharedLoad, 16},
                   {Move::Load, 1},
                   {Move::Store, 16},
                   {Move::Atomic, 4},
                   {Move::SpillStore, 8}}));
  EXPECT_EQ(movesIn("s", "\tmovups %xmm0, 8(%rsp) # 16-byte Spill\n\tvaddps %ymm1, %ymm2, %ymm3\n\tmovq (%rsp), %rax # 8-byte Reload\n"),
            (Moves{{Move::SpillStore, 16}, {Move::SpillLoad, 8}}));
  EXPECT_EQ(movesIn("sass", "        /*0010*/ STL.64 [R1], R4 ;\n        /*0020*/ LDL R6, [R1] ;\n        /*0030*/ LDG.E R6, [R2] ;\n"),
            (Moves{{Move::SpillStore, 8}, {Move::SpillLoad, 4}}));
}

TEST(Remarks, GroupWhatALineDoes) {
  Options options;
  options.target = "nvidia:sm_90";
  Compilation compilation;
  compilation.undivided = {"x", "stride"};
  compilation.stages = {{"kernel",
                         "ptx",
                         "\t.file 1 \"a.cpp\"\n\tmov.u32 %r1, %tid.x;\n\tmul.lo.s32 %r2, %r1, 128;\n\t.loc 1 7 3\n"
                         "\tld.global.b32 %r4, [%rd1];\n\tld.global.b32 %r5, [%rd1+4];\n\tst.shared.b32 [%r2], %r4;\n",
                         {}}};
  const std::string text = remarksOf(options, compilation, {});
  expectIn(text, "a.cpp:7: 2 loads of 4 bytes a thread from global memory\n");
  expectIn(text, "a.cpp:7: 1 store of 4 bytes a thread to shared memory; 1 of them with bank conflicts: 32 passes where 1 would do\n");
  expectIn(text, "kernel: bank conflicts: 1 of 1 access\n");
  expectIn(text,
           "kernel: 2 accesses of global memory below 16 bytes; these arguments come without a divisibility, which wide "
           "accesses need of pointers and strides: x, stride\n");
  expectIn(text, "NVIDIA's ptxas is not in PATH");
}

TEST(Remarks, OfTheHostSayWhatSpills) {
  Compilation compilation;
  compilation.stages = {{"host",
                         "s",
                         "\t.file 1 \"a.cpp\"\n\t.loc 1 3 1\n\tmovups %xmm0, 8(%rsp) # 16-byte Spill\n\tmovq %rax, (%rsp) # 8-byte Spill\n",
                         {}}};
  const std::string text = remarksOf({}, compilation, {});
  expectIn(text, "a.cpp:3: 2 stores of registers that spill, 24 bytes\n");
  expectIn(text, "kernel: spills: 2 / 0 (");
  EXPECT_EQ(text.find("ptxas"), std::string::npos) << text;
}

}  // namespace
}  // namespace fattn::dump
