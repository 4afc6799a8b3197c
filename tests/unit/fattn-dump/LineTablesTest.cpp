// SPDX-License-Identifier: Apache-2.0
// Line tables in the text of LLVM IR, assembly, PTX and SASS.
#include <gtest/gtest.h>

#include <sstream>

#include "tools/fattn-dump/LineTables.h"

namespace fattn::dump {
namespace {

/// The text with the sources of each line in front: "a.cpp:3|text".
std::string read(const std::string& extension, const std::string& text) {
  compiler::Stage stage{"stage", extension, text, {}};
  readLineTables(stage);
  std::istringstream lines(stage.text);
  std::string line, result;
  for (std::size_t i = 0; std::getline(lines, line); ++i) {
    for (const auto& source : stage.lines.at(i)) result += source.file + ":" + std::to_string(source.line);
    result += "|" + line + "\n";
  }
  return result;
}

TEST(TextLineTables, OfLlvmIR) {
  EXPECT_EQ(
      read("ll",
           "define void @f() !dbg !4 {\n  %1 = add i32 1, 2, !dbg !7\n  %2 = add i32 1, 2\n  ret void, !dbg !9, !x !3\n}\n"
           "!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1)\n!1 = !DIFile(filename: \"k.cpp\", directory: \"dir\")\n"
           "!2 = !DIFile(filename: \"h.h\", directory: \"\")\n!3 = !{i32 1}\n"
           "!4 = distinct !DISubprogram(name: \"f\", scope: !1, file: !1, line: 5)\n"
           "!6 = !DILexicalBlockFile(scope: !4, file: !2, discriminator: 0)\n!7 = !DILocation(line: 7, column: 1, scope: !4)\n"
           "!9 = !DILocation(line: 9, column: 2, scope: !6)\n"),
      "|define void @f() {\ndir/k.cpp:7|  %1 = add i32 1, 2\n|  %2 = add i32 1, 2\nh.h:9|  ret void, !x !3\n|}\n|!3 = !{i32 1}\n");
}

TEST(TextLineTables, OfAssembly) {
  EXPECT_EQ(
      read("s",
           "\t.text\n\t.file\t\"module\"\n\t.file\t1 \"kernels\" \"k.cpp\"\nf:\n.Lfunc_begin0:\n\t.loc\t1 5 0\n\tpushq\t%rbp\n.Ltmp0:\n"
           "\t.loc\t1 7 3 prologue_end\n\taddq\t%rax, %rbx\n\t.loc\t1 0 3\n\tnop\n\t.cfi_endproc\n\tnop\n"
           "\t.section\t.debug_line,\"\",@progbits\n\t.long\t1\n\t.section\t.rodata\n\t.long\t2\n"),
      "|\t.text\n|\t.file\t\"module\"\n|f:\n|.Lfunc_begin0:\nkernels/k.cpp:5|\tpushq\t%rbp\nkernels/k.cpp:7|\taddq\t%rax, %rbx\n|\tnop\n"
      "|\t.cfi_endproc\n|\tnop\n|\t.section\t.rodata\n|\t.long\t2\n");
}

TEST(TextLineTables, OfPtxWhoseFilesStandAtTheEnd) {
  EXPECT_EQ(read("ptx",
                 ".version 8.6\n.visible .entry f()\n{\n\t.reg .b32 \t%r<2>;\n$L__func_begin0:\n\t.loc\t1 5 0\n\tmov.u32 \t%r1, 0;\n"
                 "$L__tmp1:\n\t.loc\t1 6 1\n\tret;\n}\n\t.file\t1 \"kernels/k.cpp\"\n"),
            "|.version 8.6\n|.visible .entry f()\n|{\n|\t.reg .b32 \t%r<2>;\n|$L__func_begin0:\nkernels/k.cpp:5|\tmov.u32 \t%r1, 0;\n"
            "kernels/k.cpp:6|\tret;\n|}\n");
}

TEST(TextLineTables, OfSass) {
  EXPECT_EQ(read("sass",
                 ".text.f:\n\t//## File \"kernels/k.cpp\", line 7\n        /*0000*/                   MOV R1, c[0x0][0x28] ;\n"
                 "\t//## File \"kernels/k.cpp\", line 8 inlined at \"kernels/k.cpp\", line 9\n        /*0010*/                   EXIT ;\n"),
            "|.text.f:\nkernels/k.cpp:7|        /*0000*/                   MOV R1, c[0x0][0x28] ;\nkernels/k.cpp:8|        /*0010*/"
            "                   EXIT ;\n");
}

TEST(TextLineTables, AbsentOnesAndBrokenOnesTieNothing) {
  EXPECT_EQ(read("s", "f:\n\tret\n"), "|f:\n|\tret\n");
  EXPECT_EQ(read("ll", "  ret void, !dbg !5\n"), "|  ret void\n");
  EXPECT_EQ(read("ll", "  ret void, !dbg !\n!5 = !DILocation(line: 99999999999)\n"), "|  ret void\n");
  EXPECT_EQ(read("s", "\t.loc\t\n\t.loc\t7 1 1\n\t.file\t3\n\tret\n"), "|\tret\n");
  EXPECT_EQ(read("sass", "\t//## File \n/*0000*/ NOP\n"), "|/*0000*/ NOP\n");
}

TEST(TextLineTables, LeaveWhatHasSourcesAlone) {
  compiler::Stage stage{"tile", "mlir", "a\n", {{{"k.cpp", 3}}}};
  readLineTables(stage);
  EXPECT_EQ(stage.text, "a\n");
  EXPECT_EQ(stage.lines[0][0].line, 3u);
}

}  // namespace
}  // namespace fattn::dump
