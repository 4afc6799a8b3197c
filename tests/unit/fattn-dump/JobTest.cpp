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

TEST(Dump, AmdsKernelNeedsNothingOfAmds) {
  const Result r = run("--target amd:gfx942 --head-dim 64 --emit tilegpu,llvm,gcn");
  ASSERT_EQ(r.code, tool::kOk) << r.err;
  EXPECT_NE(r.out.find("tilegpu.load_buffer"), std::string::npos);
  EXPECT_NE(r.out.find("define amdgpu_kernel void @attention_forward"), std::string::npos);
  EXPECT_NE(r.out.find("v_mfma_f32_32x32x8_bf16"), std::string::npos);
  for (const char* figure : {".vgpr_count:", ".sgpr_count:", ".group_segment_fixed_size:", ".vgpr_spill_count: 0"})
    EXPECT_NE(r.out.find(figure), std::string::npos) << figure;
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

}  // namespace
}  // namespace fattn::dump
