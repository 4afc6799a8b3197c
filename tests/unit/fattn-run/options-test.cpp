// SPDX-License-Identifier: Apache-2.0
// The command line of fattn-run: what it accepts, and the sentence for everything it does not.
#include "tools/fattn-run/Options.h"

#include <gtest/gtest.h>

#include <sstream>

#include "fattn/Version.h"

namespace fattn::run {
namespace {

/// Parses blank-separated arguments.
std::expected<Options, UsageError> parse(const std::string& line) {
  std::istringstream words(line);
  return parseCommandLine({std::istream_iterator<std::string>(words), {}});
}

Options accepted(const std::string& line) {
  const std::expected<Options, UsageError> options = parse(line);
  if (!options) ADD_FAILURE() << line << ": " << options.error().message;
  return options.value_or(Options{});
}

/// "message" or "message | hint".
std::string refused(const std::string& line) {
  const std::expected<Options, UsageError> options = parse(line);
  if (options) return "accepted";
  return options.error().hint.empty() ? options.error().message : options.error().message + " | " + options.error().hint;
}

TEST(Options, DefaultsAreASmallRandomProblem) {
  const Options o = accepted("");
  EXPECT_FALSE(o.q || o.k || o.v || o.out || o.lse || o.dtype || o.scale);
  EXPECT_EQ(o.shape.batch, 1);
  EXPECT_EQ(o.shape.headsQ, 8);
  EXPECT_EQ(o.shape.headsKv, 8);
  EXPECT_EQ(o.shape.lenQ, 1024);
  EXPECT_EQ(o.shape.dim, 64);
  EXPECT_EQ(o.target, "") << "the default device";
  EXPECT_EQ(o.threads, 0);
  EXPECT_FALSE(o.check || o.bench || o.json || o.shape.causal);
}

TEST(Options, AcceptsEverythingItDocuments) {
  const Options o = accepted(
      "--shape 2,32:8,1:4096,192:128 --layout bshd --dtype bf16 --causal --scale -0.5e-1 --target host --config BLOCK_M=64,BLOCK_N=32 "
      "--check --bench "
      "--seed 18446744073709551615 --json --threads 3 --out x.safetensors:o --lse=y.npy");
  EXPECT_EQ(o.shape.batch, 2);
  EXPECT_EQ(o.shape.headsQ, 32);
  EXPECT_EQ(o.shape.headsKv, 8);
  EXPECT_EQ(o.shape.lenQ, 1);
  EXPECT_EQ(o.shape.lenKv, 4096);
  EXPECT_EQ(o.shape.dim, 192);
  EXPECT_EQ(o.shape.dimV, 128);
  EXPECT_TRUE(o.shape.causal && o.check && o.bench && o.json);
  EXPECT_EQ(o.layout, io::Layout::BSHD);
  EXPECT_EQ(o.dtype, DType::BF16);
  EXPECT_EQ(o.scale, -0.05);
  EXPECT_EQ(o.config.toString(), "BLOCK_M=64,BLOCK_N=32");
  EXPECT_EQ(o.seed, UINT64_MAX);
  EXPECT_EQ(o.threads, 3);
  EXPECT_EQ(o.out->tensor, "o");
  EXPECT_EQ(o.lse->path, "y.npy");
  const Options files = accepted("--q q.npy --k m.safetensors:k --v v.npy --causal");
  EXPECT_EQ(files.k->path, "m.safetensors");
  EXPECT_TRUE(files.shape.causal);
}

TEST(Options, ASimulatedChipIsADevice) {
  EXPECT_EQ(accepted("--target amd:gfx942 --simulate --check").target, "simulated:gfx942");
  EXPECT_EQ(accepted("gemm --shape 8,8,8 --simulate --target amd:gfx1100").target, "simulated:gfx1100");
  const std::string chips = " | give --target amd:gfx942, amd:gfx950, amd:gfx1100 or amd:gfx1201";
  EXPECT_EQ(refused("--simulate"), "--simulate: there is no --target that names a chip" + chips);
  EXPECT_EQ(refused("--simulate --target host"), "--simulate: --target \"host\" names no chip that is simulated" + chips);
  EXPECT_EQ(refused("--simulate --target amd:gfx942 --bench"),
            "--bench: a simulation says nothing of a chip's speed | leave --bench or --simulate out");
}

TEST(Options, HelpNamesEveryOptionExamplesAndExitCodes) {
  const std::string text = accepted("--help").text;
  for (const char* part : {"--q",      "--k",       "--v",       "--out",       "--lse",
                           "--shape",  "--layout",  "--dtype",   "--causal",    "--scale",
                           "--target", "--config",  "--check",   "--bench",     "--seed",
                           "--json",   "--threads", "Examples:", "Exit codes:", "fattn-run --shape 2,8,1024,64 --causal --check"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  EXPECT_EQ(accepted("--version").text, "fattn-run " + std::string(version()) + "\n");
}

TEST(Options, ShapesThatAreNoneAreNamed) {
  EXPECT_EQ(refused("--shape 1,8,1024"),
            "--shape \"1,8,1024\" has 3 fields, needs 4: B,Hq[:Hkv],Sq[:Skv],D[:Dv] | for example 2,32:8,4096,128");
  EXPECT_EQ(refused("--shape 1,,8,8"),
            "--shape \"1,,8,8\": the number of query heads is \"\", expected an integer | write it as B,Hq[:Hkv],Sq[:Skv],D[:Dv]");
  EXPECT_EQ(refused("--shape 1:2,8,8,8"),
            "--shape \"1:2,8,8,8\": the batch is \"1:2\", expected an integer | write it as B,Hq[:Hkv],Sq[:Skv],D[:Dv]");
  EXPECT_EQ(refused("--shape 1,8,4:5:6,8"), "--shape \"1,8,4:5:6,8\": \"4:5:6\" has more than two parts");
  EXPECT_EQ(refused("--shape 1,8,x,8"),
            "--shape \"1,8,x,8\": the query length is \"x\", expected an integer | write it as B,Hq[:Hkv],Sq[:Skv],D[:Dv]");
}

TEST(Options, ZeroSizedAndNegativeDimensionsAreNamed) {
  EXPECT_EQ(refused("--shape 1,0,16,64"), "--shape \"1,0,16,64\": the number of query heads is 0; every size must be at least 1");
  EXPECT_EQ(refused("--shape 1,8,16:-1,64"), "--shape \"1,8,16:-1,64\": the key length is -1; it must be at least 0");
  EXPECT_EQ(refused("backward --shape 1,8,16:0,64"), "--shape \"1,8,16:0,64\": the key length is 0; every size must be at least 1");
  EXPECT_EQ(refused("--shape 1,8,16,-64"), "--shape \"1,8,16,-64\": the head dimension is -64; every size must be at least 1");
}

TEST(Options, HeadsThatCannotBeSharedAreNamed) {
  EXPECT_EQ(refused("--shape 1,8:3,16,64"),
            "--shape \"1,8:3,16,64\": 8 query heads cannot share 3 key/value heads; the first must be a multiple of the second");
}

TEST(Options, SizesThatOverflowAreNamed) {
  EXPECT_EQ(refused("--shape 1,8,99999999999999999999,64"),
            "--shape \"1,8,99999999999999999999,64\": the query length \"99999999999999999999\" does not fit in 64 bits");
  EXPECT_EQ(refused("--shape 4294967296,1,4294967296,64"),
            "--shape: q of shape 4294967296x1x4294967296x64 has more than 2^63 - 1 elements | check the "
            "dimensions; one of them is probably wrong");
  EXPECT_EQ(refused("--shape 1073741824,1,1:1073741824,8"),
            "--shape: k of shape 1073741824x1x1073741824x8 has more than 2^63 - 1 elements | check the dimensions; one of them is probably "
            "wrong");
  EXPECT_EQ(refused("--shape 1,1,536870912:1,8:1152921504606846976 --dtype bf16").substr(0, 20), "--shape: the output ");
}

TEST(Options, ValuesOutsideTheirChoicesAreNamed) {
  EXPECT_EQ(refused("--dtype f64"), "--dtype \"f64\": expected f32, f16 or bf16");
  EXPECT_EQ(refused("--dtype f8e4m3"), "--dtype \"f8e4m3\": expected f32, f16 or bf16");
  EXPECT_EQ(refused("--layout sbhd"), "--layout \"sbhd\": expected bhsd or bshd");
  EXPECT_EQ(refused("--scale nan"), "--scale \"nan\": expected a finite number | where it is not given, it is 1 / sqrt(D)");
  EXPECT_EQ(refused("--scale 1e400"), "--scale \"1e400\": expected a finite number | where it is not given, it is 1 / sqrt(D)");
  EXPECT_EQ(refused("--scale 0.5x"), "--scale \"0.5x\": expected a finite number | where it is not given, it is 1 / sqrt(D)");
  EXPECT_EQ(refused("--seed -1"), "--seed \"-1\": expected an integer from 0 to 18446744073709551615");
  EXPECT_EQ(refused("--threads 0"), "--threads \"0\": expected an integer from 1 to 1024");
}

TEST(Options, UnknownConfigurationKeysAreNamedWithTheLegalOnes) {
  const std::string text = refused("--config BLOCK_Q=64");
  EXPECT_EQ(text.substr(0, 10), "--config: ");
  EXPECT_NE(text.find("BLOCK_Q"), std::string::npos) << text;
  EXPECT_NE(text.find("BLOCK_M"), std::string::npos) << text;
  EXPECT_NE(refused("--config BLOCK_M=7").find('7'), std::string::npos);
}

TEST(Options, FilesBelongTogether) {
  EXPECT_EQ(refused("--q q.npy --v v.npy"),
            "--k is missing: --q, --k and --v belong together | give all three files, or --shape for random inputs");
  EXPECT_EQ(refused("--q q.npy --k k.npy --v v.npy --shape 1,1,1,8"),
            "--shape is for random inputs; with --q, --k and --v the files give the shape | leave one of them out");
  EXPECT_EQ(refused("--q q.pt --k k.npy --v v.npy"),
            "--q: the file name \"q.pt\" ends in neither .npy nor .safetensors | these are the formats that can be read and written");
  EXPECT_EQ(refused("--out o.npy --lse o.npy"),
            "--out and --lse both write o.npy | an .npy file holds one array, a .safetensors file any number of names");
  EXPECT_EQ(refused("--out o.safetensors:x --lse o.safetensors:x"),
            "--out and --lse both write o.safetensors | an .npy file holds one array, a .safetensors file any number of names");
  EXPECT_EQ(refused("--out o.npy --dtype bf16"),
            "--out: an .npy file cannot hold bf16 | write a .safetensors file, or choose --dtype f32 or f16");
  EXPECT_EQ(accepted("--out o.safetensors --lse o.safetensors").out->path, "o.safetensors");
}

TEST(Options, UnknownOptionsGetTheNearest) {
  EXPECT_EQ(refused("--casual"), "unknown option \"--casual\" | did you mean --causal?");
  EXPECT_EQ(refused("--shap=1,1,1,8"), "unknown option \"--shap=1,1,1,8\" | did you mean --shape?");
  EXPECT_EQ(refused("--frobnicate"), "unknown option \"--frobnicate\" | fattn-run --help lists the options");
  EXPECT_EQ(refused("q.npy"), "unexpected argument \"q.npy\" | files are given by --q, --k and --v");
  EXPECT_EQ(refused("-x\x01"), "unknown option \"-x\\x01\" | fattn-run --help lists the options");
}

TEST(Options, MissingAndRepeatedValuesAreUsageErrors) {
  EXPECT_NE(refused("--shape").find("--shape"), std::string::npos);
  EXPECT_NE(refused("--seed 1 --seed 2").find("--seed"), std::string::npos);
  EXPECT_NE(refused("--check=maybe").find("check"), std::string::npos);
}

TEST(KernelOptions, ASubcommandIsAnotherKernel) {
  const Options gemm =
      accepted("gemm --shape 10,20,30 --dtype bf16 --layout tn --bias --activation silu --residual --check --target host --seed 3");
  ASSERT_TRUE(gemm.kernel);
  EXPECT_EQ(gemm.kernel->extents, (std::vector<std::int64_t>{10, 20, 30}));
  EXPECT_EQ(gemm.kernel->dtype, DType::BF16);
  EXPECT_TRUE(gemm.kernel->aColumns && !gemm.kernel->bColumns && gemm.kernel->bias && gemm.kernel->residual && gemm.check);
  EXPECT_EQ(gemm.kernel->activation, "silu");
  EXPECT_EQ(gemm.target, "host");
  EXPECT_EQ(gemm.seed, 3U);
  const Options rows = accepted("layer-norm --config BLOCK_M=2 --json");
  EXPECT_EQ(rows.kernel->kernel, "layer-norm");
  EXPECT_EQ(rows.kernel->extents, (std::vector<std::int64_t>{4096, 1024}));
  EXPECT_EQ(rows.config.block_m, 2);
  EXPECT_FALSE(accepted("").kernel);
}

TEST(KernelOptions, WhatASubcommandRefuses) {
  EXPECT_EQ(refused("gemm --shape 1,2"), "--shape \"1,2\": expected M,N,K");
  EXPECT_EQ(refused("softmax --shape 1,0"), "--shape \"1,0\": \"0\" is no integer from 1 to 2147483647");
  EXPECT_EQ(refused("softmax --dtype i8"), "--dtype \"i8\": expected f32, f16 or bf16");
  EXPECT_EQ(refused("gemm --dtype i8 --activation gelu"), "--activation gelu: there is none of i32 | choose another --dtype");
  const Options decode = accepted("decode --shape 2,8:4,3,1000,64 --dtype bf16 --pages 5 --splits 7 --causal --ragged --window 9 --append");
  ASSERT_TRUE(decode.kernel);
  const DecodeOptions& d = decode.kernel->decode;
  EXPECT_EQ((std::vector{d.batch, d.headsQ, d.headsKv, d.queries, d.keys, d.dim, d.pageSize}),
            (std::vector<std::int64_t>{2, 8, 4, 3, 1000, 64, 5}));
  EXPECT_TRUE(d.splits == 7 && d.causal && d.ragged && d.window == 9 && d.append);
  EXPECT_EQ(refused("decode --shape 2,8,3,64"), "--shape \"2,8,3,64\": expected B,Hq[:Hkv],Sq,KEYS,D");
  EXPECT_EQ(refused("decode --shape 2,8:3,1,9,64"), "--shape \"2,8:3,1,9,64\": 8 query heads are no multiple of 3");
  const Options backward = accepted("backward --shape 2,8:4,30:50,64:32 --dtype bf16 --causal --deterministic --config-dq BLOCK_M=32");
  ASSERT_TRUE(backward.kernel);
  const io::AttentionShape& s = backward.kernel->backward.shape;
  EXPECT_EQ(std::tuple(s.batch, s.headsQ, s.headsKv, s.lenQ, s.lenKv, s.dim, s.dimV, s.causal), std::tuple(2, 8, 4, 30, 50, 64, 32, true));
  EXPECT_TRUE(backward.kernel->backward.deterministic);
  EXPECT_FALSE(accepted("backward").kernel->backward.deterministic);
  EXPECT_FALSE(accepted("backward --atomic").kernel->backward.deterministic);
  EXPECT_EQ(backward.kernel->backward.configDq.block_m, 32);
  EXPECT_EQ(
      refused("backward --config-dq BLOCK_M=7"),
      "--config-dq: tile configuration: BLOCK_M is '7'; legal values are 1, 2, 4 and multiples of 8 up to 1024 | leave BLOCK_M out to let "
      "fattn choose");
  const Options varlen = accepted("varlen --shape 8:4,32 --cu-seqlens 0,5,5,90 --dtype f16 --causal");
  const VarlenOptions& v = varlen.kernel->varlen;
  EXPECT_TRUE(v.headsQ == 8 && v.headsKv == 4 && v.dim == 32 && v.causal);
  EXPECT_EQ(v.cuQ, (std::vector<std::int32_t>{0, 5, 5, 90}));
  EXPECT_EQ(v.cuK, v.cuQ);
  EXPECT_TRUE(accepted("varlen --backward --deterministic").kernel->varlen.deterministic);
  EXPECT_EQ(accepted("varlen --backward --deterministic --config-dq BLOCK_M=32").kernel->varlen.configDq.block_m, 32);
  EXPECT_EQ(refused("varlen --config-dq BLOCK_M=32"), "--config-dq is a choice of --backward: the forward has one kernel");
  EXPECT_EQ(refused("varlen --deterministic"), "--deterministic is a choice of --backward: the forward always gives the same bits");
  EXPECT_EQ(refused("varlen --cu-seqlens 0,7,5"), "--cu-seqlens \"0,7,5\": expected 0 and then integers that do not fall");
  EXPECT_EQ(refused("varlen --cu-seqlens 0"), "--cu-seqlens \"0\": there are no rows");
  EXPECT_EQ(refused("varlen --cu-seqlens 0,5 --cu-seqlens-k 0,5,6"), "--cu-seqlens-k has 2 sequences, --cu-seqlens 1");
  EXPECT_EQ(refused("varlen --shape 8:3,32"), "--shape \"8:3,32\": 8 query heads are no multiple of 3");
  EXPECT_EQ(refused("decode --pages 0"), "--pages \"0\": expected an integer from 1 to 1048576");
  EXPECT_EQ(refused("gemm --layout ab"), "--layout \"ab\": expected nn, nt, tn or tt");
  EXPECT_EQ(refused("gemm --casual"), "unknown option \"--casual\" | fattn-run --help lists the options");
  EXPECT_EQ(refused("rms-norm --threads 0"), "--threads \"0\": expected an integer from 1 to 1024");
}

}  // namespace
}  // namespace fattn::run
