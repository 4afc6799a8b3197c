// SPDX-License-Identifier: Apache-2.0
// The command line of fattn-dump: what it accepts, and the sentence for everything it does not.
#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

#include "tools/fattn-dump/Options.h"

namespace fattn::dump {
namespace {

std::expected<Options, tool::UsageError> parse(const std::string& line) {
  std::istringstream words(line);
  return parseCommandLine({std::istream_iterator<std::string>(words), {}});
}

Options accepted(const std::string& line) {
  const auto options = parse(line);
  if (!options) ADD_FAILURE() << line << ": " << options.error().message;
  return options.value_or(Options{});
}

/// "message | hint".
std::string refused(const std::string& line) {
  const auto options = parse(line);
  if (options) return "accepted";
  return options.error().hint.empty() ? options.error().message : options.error().message + " | " + options.error().hint;
}

TEST(DumpOptions, ShowTheTileProgramOfTheDefaultKernel) {
  const Options o = accepted("");
  EXPECT_EQ(o.emit, std::vector{Kind::Tile});
  EXPECT_EQ(o.target, "host");
  EXPECT_EQ(o.dtype, DType::BF16);
  EXPECT_EQ(o.headDim, 64);
  EXPECT_FALSE(o.causal || o.html || o.allPasses || o.lineTables);
}

TEST(DumpOptions, AcceptEverythingTheyDocument) {
  const Options o = accepted(
      "--target nvidia:sm_90a --dtype f16 --head-dim 64 --head-dim-v 128 --causal --config BLOCK_M=128 --emit sass,dsl,tilegpu,sass "
      "--all-passes -o out --html -g");
  EXPECT_EQ(o.emit, (std::vector{Kind::Dsl, Kind::TileGpu, Kind::Sass})) << "in the order of the compilation, each once";
  EXPECT_EQ(o.dtype, DType::F16);
  EXPECT_EQ(o.headDim, 64);
  EXPECT_EQ(o.headDimV, 128);
  EXPECT_EQ(o.config.block_m, 128);
  EXPECT_EQ(o.folder, "out");
  EXPECT_TRUE(o.causal && o.allPasses && o.html && o.lineTables);
  EXPECT_EQ(accepted("k.mlir --after cse").file, "k.mlir");
  const Options t = accepted("--template gemm --param dtype=bf16 --param out=bf16");
  EXPECT_EQ(t.fromTemplate, "gemm");
  EXPECT_EQ(t.parameters, (std::vector<std::pair<std::string, std::string>>{{"dtype", "bf16"}, {"out", "bf16"}}));
  EXPECT_TRUE(accepted("--after cse").emit.empty());
  EXPECT_TRUE(accepted("--html").emit.empty());
  EXPECT_TRUE(accepted("--remarks").emit.empty());
}

TEST(DumpOptions, NameWhatIsWrongAndWhatIsLegal) {
  EXPECT_EQ(refused("--emit ptx"), "--emit: compiling for host has no stage ptx | the stages of host are dsl, tile, llvm, asm, mix, obj");
  EXPECT_EQ(refused("--target amd:gfx942 --emit asm"),
            "--emit: compiling for amd:gfx942 has no stage asm | the stages of amd:gfx942 are dsl, tile, tilegpu, schedule, llvm, gcn, "
            "mix, time, obj");
  EXPECT_EQ(refused("--emit tyle"), "--emit: there is no stage 'tyle' | the stages of host are dsl, tile, llvm, asm, mix, obj");
  EXPECT_EQ(refused("--target tpu"),
            "--target 'tpu' names nothing to compile for | targets are host, host:avx2 and the like, nvidia:sm_90a and the like, "
            "amd:gfx942 and the like");
  EXPECT_EQ(refused("--dtype i8"), "--dtype 'i8': expected f32, f16 or bf16");
  EXPECT_EQ(refused("--param dtype=bf16"), "--param is a parameter of a template | name one with --template");
  EXPECT_EQ(refused("--template gemm --param dtype"), "--param 'dtype': expected NAME=VALUE");
  EXPECT_EQ(refused("--template gemm --causal"),
            "--template names a kernel of its own | its element type and sizes are parameters: --param dtype=bf16 --param head_dim=128");
  EXPECT_EQ(refused("--head-dim 0"), "--head-dim '0': expected a positive integer");
  EXPECT_EQ(refused("--head-dim-v many"), "--head-dim-v 'many': expected a positive integer");
  EXPECT_EQ(
      refused("k.mlir --causal"),
      "--dtype, --head-dim, --head-dim-v and --causal describe the kernel that is dumped without a file | leave them or the file out");
  EXPECT_EQ(refused("--after cse --all-passes"), "--after and --all-passes exclude each other | --all-passes shows that pass, too");
  for (const char* other : {"--html", "--emit tile", "--after cse", "--all-passes", "-o out"})
    EXPECT_EQ(refused(std::string("--remarks ") + other),
              "--remarks is printed alone | leave --emit, --after, --all-passes, --html and -o out");
  EXPECT_EQ(refused("--html --emit tile"),
            "--html holds every stage; --emit, --after and --all-passes go with it only where there is a folder | give one with -o");
  EXPECT_EQ(refused("--emmit tile"), "unknown option '--emmit' | did you mean --emit?");
  EXPECT_EQ(refused("--zzzzzzzz"), "unknown option '--zzzzzzzz' | fattn-dump --help lists the options");
  EXPECT_EQ(refused("a.mlir b.mlir"), "unexpected argument 'b.mlir' | one file at a time");
  EXPECT_NE(refused("--config BLOCK_Q=3").find("BLOCK_Q"), std::string::npos);
}

TEST(DumpOptions, HelpNamesStagesExamplesAndExitCodes) {
  const std::string text = accepted("--help").text;
  for (const char* word : {"--emit", "--after", "--all-passes", "--html", "--line-tables", "Examples:", "Exit codes:", "nvdisasm"})
    EXPECT_NE(text.find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace fattn::dump
