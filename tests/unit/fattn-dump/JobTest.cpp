// SPDX-License-Identifier: Apache-2.0
// fattn-dump from the command line to files, output and exit codes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fattn/Error.h"
#include "fattn/dsl/Dsl.h"
#include "tools/common/CommandLine.h"
#include "tools/fattn-dump/Job.h"
#include "tools/fattn-dump/Process.h"
#include "tools/fattn-dump/Sass.h"

namespace fattn::dump {
namespace {

struct Result {
  int code = -1;
  std::string out, err;
};

Result run(const std::string& line) {
  std::istringstream words(line);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Result result;
  result.code = runJob({std::istream_iterator<std::string>(words), {}});
  result.out = testing::internal::GetCapturedStdout();
  result.err = testing::internal::GetCapturedStderr();
  return result;
}

std::string readFile(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

constexpr const char* kKernel = "--target host:avx2 --dtype f32 --head-dim 16 --config BLOCK_M=16,BLOCK_N=16";

constexpr const char* kModule = R"(module {
  func.func @twice(%p: !tile.ptr<f32>) attributes {tile.kernel} {
    %i = tile.arange 0 : tensor<16xi32>
    %s = tile.splat %p : !tile.ptr<f32> -> tensor<16x!tile.ptr<f32>>
    %a = tile.addptr %s, %i : tensor<16x!tile.ptr<f32>>, tensor<16xi32>
    %x = tile.gather %a : tensor<16x!tile.ptr<f32>> -> tensor<16xf32>
    %y = arith.addf %x, %x : tensor<16xf32>
    tile.scatter %a, %y : tensor<16x!tile.ptr<f32>>, tensor<16xf32>
    return
  }
}
)";

TEST(Dump, OneStageIsPrintedAsItIs) {
  const Result tile = run(std::string(kKernel) + " --emit tile");
  EXPECT_EQ(tile.code, tool::kOk) << tile.err;
  EXPECT_TRUE(tile.out.starts_with("module {")) << tile.out.substr(0, 100);
  EXPECT_NE(tile.out.find("tile.dot"), std::string::npos);
  const Result dsl = run(std::string(kKernel) + " --emit dsl");
  EXPECT_NE(dsl.out.find("Tile products = dot(q, trans(load("), std::string::npos) << "the source is built in";
}

TEST(Dump, SeveralStagesGetHeadings) {
  const Result r = run(std::string(kKernel) + " --emit tile,llvm,asm");
  EXPECT_EQ(r.code, tool::kOk) << r.err;
  const std::size_t tile = r.out.find("// ---- tile.mlir\n"), llvm = r.out.find("; ---- optimized.ll\n"),
                    assembly = r.out.find("# ---- host.s\n");
  ASSERT_NE(assembly, std::string::npos);
  EXPECT_TRUE(tile < llvm && llvm < assembly);
  EXPECT_EQ(r.out.find("!dbg"), std::string::npos) << "no line tables unless asked for";
}

TEST(Dump, LineTablesComeWithTheirOption) {
  const Result r = run(std::string(kKernel) + " --emit llvm,asm -g");
  EXPECT_NE(r.out.find("!DILocation("), std::string::npos);
  EXPECT_NE(r.out.find("\t.loc\t"), std::string::npos);
  EXPECT_NE(r.out.find("AttentionForward.cpp"), std::string::npos);
}

TEST(Dump, APassIsShownAndAMisspelledOneNamed) {
  const Result r = run(std::string(kKernel) + " --after tile-split-loops");
  EXPECT_EQ(r.code, tool::kOk) << r.err;
  EXPECT_TRUE(r.out.starts_with("module {"));
  const Result wrong = run(std::string(kKernel) + " --after tile-split-loop");
  EXPECT_EQ(wrong.code, tool::kUsage);
  EXPECT_EQ(wrong.err,
            "fattn-dump: error: --after: no pass of host:avx2 is called 'tile-split-loop'\n  hint: did you mean tile-split-loops?\n");
  const Result none = run(std::string(kKernel) + " --after nothing-like-it");
  EXPECT_NE(none.err.find("its passes are canonicalize, cse, tile-fold-advances"), std::string::npos) << none.err;
}

TEST(Dump, APassThatRunsOftenNeedsTheNumberOfItsRun) {
  const Result often = run(std::string(kKernel) + " --after canonicalize");
  EXPECT_EQ(often.code, tool::kUsage);
  EXPECT_NE(often.err.find("--after: canonicalize runs "), std::string::npos) << often.err;
  EXPECT_NE(often.err.find("say which one: --after canonicalize:1 to --after canonicalize:"), std::string::npos) << often.err;
  const Result first = run(std::string(kKernel) + " --after canonicalize:1");
  EXPECT_EQ(first.code, tool::kOk) << first.err;
  EXPECT_TRUE(first.out.starts_with("module {"));
  for (const char* wrong : {"canonicalize:0", "canonicalize:99", "canonicalize:x", "tile-split-loops:2"}) {
    const Result r = run(fmt::format("{} --after {}", kKernel, wrong));
    EXPECT_EQ(r.code, tool::kUsage) << wrong;
    EXPECT_NE(r.err.find(" has no run '"), std::string::npos) << r.err;
  }
}

TEST(Dump, ADiffShowsWhatAPassChanged) {
  const TemporaryFile file("twice.mlir", kModule);
  const Result lowered = run(file.path() + " --target host:avx2 --after cpu-lower-tiles --diff");
  EXPECT_EQ(lowered.code, tool::kOk) << lowered.err;
  EXPECT_NE(lowered.out.find("\n-    %4 = arith.addf %3, %3"), std::string::npos) << lowered.out;
  const Result nothing = run(file.path() + " --target host:avx2 --after cse:1 --diff");
  EXPECT_EQ(nothing.out, "no change\n");
  const Result alone = run(file.path() + " --diff");
  EXPECT_EQ(alone.code, tool::kUsage);
  EXPECT_NE(alone.err.find("--diff shows what passes changed"), std::string::npos) << alone.err;
}

TEST(Dump, TheMixCountsInstructions) {
  const Result r = run(std::string(kKernel) + " --emit mix");
  EXPECT_EQ(r.code, tool::kOk) << r.err;
  EXPECT_TRUE(r.out.starts_with("instructions in x86-64 assembly, each counted once\ninner loop: the one at .LBB0_")) << r.out;
  EXPECT_NE(r.out.find("\nfloat arithmetic "), std::string::npos) << r.out;
}

TEST(Dump, TheTimeSaysWhatAModelOfTheChipDoes) {
  const Result r = run("--target amd:gfx942 --head-dim 64 --emit time");
  EXPECT_EQ(r.code, tool::kOk) << r.err;
  EXPECT_TRUE(r.out.starts_with("attention_forward, bf16, head dimension 64, BLOCK_M=128")) << r.out;
  EXPECT_NE(r.out.find("\nshape           heads=32,seq_k=2048,seq_q=2048\n"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("\nbusy            matrix unit "), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("  v_mfma_f32_32x32x8_bf16 "), std::string::npos) << r.out;
  const Result product = run("--target amd:gfx1201 --template row_softmax --emit time");
  EXPECT_EQ(product.code, tool::kOk) << product.err;
  EXPECT_NE(product.out.find("; memory takes "), std::string::npos) << product.out;
}

TEST(Dump, AFolderGetsNumberedFilesAndThePage) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / fmt::format("fattn-dump-{}", ::getpid());
  const Result r = run(fmt::format("{} --emit dsl,obj --all-passes --html -o {}", kKernel, folder.string()));
  ASSERT_EQ(r.code, tool::kOk) << r.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "00-dsl.cpp")) << r.out;
  EXPECT_TRUE(readFile(folder / "01-tile.mlir").starts_with("module {"));
  EXPECT_NE(r.out.find("cpu-lower-tiles.mlir\n"), std::string::npos) << "what was written is listed";
  bool object = false;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    object |= file.path().extension() == ".o" && readFile(file.path())
                                                     .starts_with(
                                                         "\x7f"
                                                         "ELF");
  EXPECT_TRUE(object);
  const std::string page = readFile(folder / "index.html");
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_EQ(page.find("@DATA@"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(Dump, ThePagesDataTiesLinesToSources) {
  const Result r = run(std::string(kKernel) + " --html");
  ASSERT_EQ(r.code, tool::kOk) << r.err;
  const std::string open = "<script id=\"data\" type=\"application/json\">";
  const std::size_t begin = r.out.find(open) + open.size();
  const auto data = nlohmann::json::parse(r.out.substr(begin, r.out.find("</script>", begin) - begin));
  EXPECT_EQ(data["title"], "attention_forward, f32, head dimension 16");
  for (const auto& stage : data["stages"]) {
    if (stage.contains("same")) continue;
    long tied = 0, lines = 0;
    for (std::size_t i = 0; i < stage["ties"].size(); i += 2) {
      const int set = stage["ties"][i];
      ASSERT_LT(set, static_cast<int>(data["sets"].size()));
      lines += stage["ties"][i + 1].get<long>();
      if (set >= 0) tied += stage["ties"][i + 1].get<long>();
    }
    EXPECT_EQ(lines, static_cast<long>(stage["text"].size())) << stage["name"];
    for (int line : stage["text"]) ASSERT_LT(line, static_cast<int>(data["lines"].size()));
    EXPECT_GT(3 * tied, stage["name"] == "dsl" ? 0 : lines)
        << stage["name"] << ": " << tied << " of " << lines << " lines know their source";
  }
}

TEST(Dump, AFileOfTheDialectIsItsOwnSource) {
  const TemporaryFile file("twice.mlir", kModule);
  const Result r = run(file.path() + " --target host:avx2 --emit dsl,asm -g");
  EXPECT_EQ(r.code, tool::kOk) << r.err;
  EXPECT_NE(r.out.find("%y = arith.addf %x, %x"), std::string::npos);
  EXPECT_NE(r.out.find(" 7 "), std::string::npos) << "the addition's line";
  EXPECT_NE(r.out.find("twice:"), std::string::npos);
}

TEST(Dump, ATracedProgramsTextTakesItsSourceLinesAlong) {
  const dsl::Program program = dsl::trace("doubled", [](dsl::Params& args) {
    const dsl::TensorArg x = args.tensor("x", DType::F32, 1);
    dsl::store(x.block({0}, {16}), dsl::load(x.block({0}, {16}), {0}) * 2.0, {0});
  });
  const unsigned line = __LINE__ - 2;
  const TemporaryFile file("doubled.mlir", program.mlir(/*locations=*/true));
  const Result r = run(file.path() + " --remarks --target amd:gfx1100");
  EXPECT_EQ(r.code, tool::kOk) << r.err;
  EXPECT_NE(r.out.find(fmt::format("JobTest.cpp:{}: ", line)), std::string::npos) << r.out;
}

TEST(Dump, RemarksNameTheKernelsLines) {
  const TemporaryFile file("twice.mlir", kModule);
  const Result r = run(file.path() + " --remarks --target amd:gfx1100");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find(fmt::format("{}:6: 1 load of 4 bytes a thread from global memory\n", file.path())), std::string::npos) << r.out;
  EXPECT_NE(r.out.find(fmt::format("{}:8: 1 store of 4 bytes a thread to global memory\n", file.path())), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("kernel: 2 accesses of global memory below 16 bytes; these arguments come without a divisibility"),
            std::string::npos)
      << r.out;
  EXPECT_NE(r.out.find("kernel: occupancy: "), std::string::npos) << r.out;
}

TEST(Dump, FailuresAreSentencesWithExitCodes) {
  const Result unread = run("no-such-file.mlir");
  EXPECT_EQ(unread.code, tool::kFailure);
  EXPECT_EQ(
      unread.err,
      "fattn-dump: error: cannot read no-such-file.mlir: No such file or directory\n  hint: give a module of the tile dialect, as text\n");
  const TemporaryFile broken("broken.mlir", "func.func @f() {\n  %0 = tile.nothing\n}\n");
  const Result syntax = run(broken.path());
  EXPECT_EQ(syntax.code, tool::kFailure);
  EXPECT_NE(syntax.err.find("broken.mlir:2:"), std::string::npos) << syntax.err;
  const Result amd = run("--target amd:gfx1 --emit gcn");
  EXPECT_EQ(amd.code, tool::kUsage) << amd.err;
  EXPECT_TRUE(amd.err.starts_with("fattn-dump: error: there is no GPU target 'amd:gfx1'")) << amd.err;
  EXPECT_EQ(run("--target amd:gfx942 --emit tile").code, tool::kOk) << "tile is the same for every target";
  EXPECT_EQ(run("--head-dim 60").code, tool::kUnsupported);
  EXPECT_EQ(run("--emit nothing").code, tool::kUsage);
  EXPECT_EQ(run("--target host:avx2 --emit tile,obj").code, tool::kUsage) << "an object is no text";
}

TEST(Dump, WhatAPassLeftIsShownThoughALaterOneFails) {
  const std::string tooLarge = "--target nvidia:sm_80 --head-dim 256 --config BLOCK_M=128,BLOCK_N=256,STAGES=4,WARPS=8 ";
  const Result shown = run(tooLarge + "--after tilegpu-schedule-loops");
  EXPECT_NE(shown.code, tool::kOk);
  EXPECT_NE(shown.err.find("bytes of shared memory"), std::string::npos) << shown.err;
  EXPECT_NE(shown.out.find("tilegpu.copy_async"), std::string::npos);
  EXPECT_EQ(run(tooLarge + "--after tilegpu-place-barriers").out, "") << "it was not reached";
  EXPECT_EQ(run(tooLarge + "--emit ptx").out, "");
}

TEST(Dump, ATemplateIsNamedWithItsParameters) {
  const Result r = run("--template attention_backward_keys --param dtype=bf16 --param head_dim=64 --param head_dim_v=64 --param sums=true");
  ASSERT_EQ(r.code, tool::kOk) << r.err;
  EXPECT_NE(r.out.find("func.func @attention_backward_keys"), std::string::npos);
  EXPECT_NE(r.out.find("tile.accumulate"), std::string::npos);
  const Result unknown = run("--template attention_sideways");
  EXPECT_EQ(unknown.code, tool::kUsage);
  EXPECT_TRUE(unknown.err.starts_with("fattn-dump: error: there is no template \"attention_sideways\"\n  hint: there are ")) << unknown.err;
  const Result wrong = run("--template attention_backward_keys --param sums=some");
  EXPECT_EQ(wrong.code, tool::kUsage);
  EXPECT_EQ(wrong.err, "fattn-dump: error: parameter sums is 'some'; it must be true or false\n");
}

TEST(Dump, AmdsKernelNeedsNothingOfAmds) {
  const Result r = run("--target amd:gfx942 --head-dim 64 --emit tilegpu,llvm,gcn");
  ASSERT_EQ(r.code, tool::kOk) << r.err;
  EXPECT_NE(r.out.find("tilegpu.load_buffer"), std::string::npos);
  EXPECT_NE(r.out.find("define amdgpu_kernel void @attention_forward"), std::string::npos);
  EXPECT_NE(r.out.find("v_mfma_f32_32x32x8_bf16"), std::string::npos);
  for (const char* figure : {".vgpr_count:", ".sgpr_count:", ".group_segment_fixed_size:", ".vgpr_spill_count: 0"})
    EXPECT_NE(r.out.find(figure), std::string::npos) << figure;
}

TEST(Dump, APageHasChangesLayoutsAndTheMix) {
  const Result r = run("--target amd:gfx1100 --head-dim 64 --html");
  ASSERT_EQ(r.code, tool::kOk) << r.err;
  const std::string open = "<script id=\"data\" type=\"application/json\">";
  const std::size_t begin = r.out.find(open) + open.size();
  const auto data = nlohmann::json::parse(r.out.substr(begin, r.out.find("</script>", begin) - begin));
  int passes = 0;
  for (const auto& stage : data["stages"]) {
    if (!stage.contains("changes")) continue;
    ++passes;
    std::vector<int> runs = stage["changes"];
    const auto& earlier = data["stages"][runs[0]];
    const auto& before = earlier.contains("same") ? data["stages"][earlier["same"].get<int>()] : earlier;
    int old = 0, now = 0;
    for (std::size_t i = 1; i < runs.size(); i += 3) old += runs[i] + runs[i + 1], now += runs[i] + runs[i + 2];
    EXPECT_EQ(old, static_cast<int>(before["text"].size())) << stage["name"];
    EXPECT_EQ(now, static_cast<int>(stage["text"].size())) << stage["name"];
  }
  EXPECT_GT(passes, 10);
  EXPECT_EQ(data["mix"]["code"], "GCN");
  EXPECT_EQ(data["mix"]["rows"][0][0], "matrix unit");
  ASSERT_FALSE(data["layouts"].empty());
  for (const auto& [definition, picture] : data["layouts"].items()) {
    EXPECT_TRUE(definition.starts_with("#tilegpu.")) << definition;
    EXPECT_EQ(picture["cells"].size(), picture["rows"].size());
    EXPECT_LE(picture["rows"].size(), 16u);
  }
}

TEST(Dump, APageShowsWhatAnAmdKernelTakes) {
  const Result r = run("--target amd:gfx942 --head-dim 64 --html");
  ASSERT_EQ(r.code, tool::kOk) << r.err;
  for (const char* fact : {"vector registers", "scalar registers", "shared memory", "spills", "occupancy"})
    EXPECT_NE(r.out.find(fact), std::string::npos) << fact;
}

TEST(Dump, AGpusKernelNeedsNoGpu) {
  const Result r = run("--target nvidia:sm_90 --head-dim 64 --emit tilegpu,llvm,ptx -g");
  ASSERT_EQ(r.code, tool::kOk) << r.err;
  EXPECT_NE(r.out.find("= tilegpu."), std::string::npos);
  EXPECT_NE(r.out.find("@llvm.nvvm.mma"), std::string::npos);
  EXPECT_NE(r.out.find("mma.sync"), std::string::npos);
  EXPECT_NE(r.out.find("\t.loc\t1 "), std::string::npos);
}

TEST(Dump, SassKnowsItsSource) {
  for (const char* program : {"ptxas", "nvdisasm"})
    if (!findProgram(program)) GTEST_SKIP() << "no " << program << " in PATH";
  const Result r = run("--target nvidia:sm_90 --head-dim 64 --emit sass -g");
  ASSERT_EQ(r.code, tool::kOk) << r.err;
  EXPECT_NE(r.out.find("HMMA"), std::string::npos);
  EXPECT_NE(r.out.find("//## File \"kernels/attention/AttentionForward.cpp\", line "), std::string::npos);
}

TEST(Dump, ACubinIsTheObjectOfAnNvidiaKernel) {
  if (!findProgram("ptxas")) GTEST_SKIP() << "no ptxas in PATH";
  const Result r = run("--target nvidia:sm_80 --head-dim 64 --emit obj");
  ASSERT_EQ(r.code, tool::kOk) << r.err;
  EXPECT_TRUE(
      r.out.starts_with("\x7f"
                        "ELF"));
}

TEST(Dump, SassSaysWhichProgramsAreMissing) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nonexistent", 1);
  std::string sass, cubin;
  try {
    disassemble("");
  } catch (const Error& error) {
    sass = error.constraint();
  }
  try {
    assemble("", "sm_90a");
  } catch (const Error& error) {
    cubin = error.constraint();
  }
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(sass, "SASS needs NVIDIA's nvdisasm or cuobjdump, and neither is in PATH");
  EXPECT_EQ(cubin, "a cubin needs NVIDIA's assembler ptxas, which is not in PATH");
}

// The addresses are followed in the code itself. What the copy engine reads, the lanes' stores have to suit (layout/Stagger.h).
TEST(Dump, DefaultKernelsHaveNoBankConflicts) {
  std::vector<std::string> kernels;
  for (const char* width : {"64", "128", "256"})
    for (const char* chip : {"sm_80", "sm_90a"}) {
      kernels.push_back(fmt::format("--head-dim {} --target nvidia:{}", width, chip));
      for (const char* name : {"attention_backward_keys --param sums=true", "attention_backward_queries"})
        if (std::string_view(chip) == "sm_90a")
          kernels.push_back(fmt::format("--template {} --param dtype=bf16 --param head_dim={} --param head_dim_v={} --target nvidia:{}",
                                        name, width, width, chip));
    }
  kernels.push_back("--template gemm --param dtype=bf16 --target nvidia:sm_80");
  for (const std::string& kernel : kernels) {
    const Result result = run(kernel + " --remarks");
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_NE(result.out.find("kernel: bank conflicts: none of "), std::string::npos) << kernel << "\n" << result.out;
  }
}

}  // namespace
}  // namespace fattn::dump
