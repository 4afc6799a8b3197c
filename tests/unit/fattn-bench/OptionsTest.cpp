// SPDX-License-Identifier: Apache-2.0
// The command line of fattn-bench, and its suites.
#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <sstream>

#include "tools/fattn-bench/Options.h"
#include "tools/fattn-bench/Suites.h"

namespace fattn::bench {
namespace {

std::expected<Options, tool::UsageError> parse(const std::string& line) {
  std::istringstream words(line);
  return parseCommandLine({std::istream_iterator<std::string>(words), {}});
}

/// "message | hint".
std::string refused(const std::string& line) {
  const auto options = parse(line);
  if (options) return "accepted";
  return options.error().hint.empty() ? options.error().message : options.error().message + " | " + options.error().hint;
}

TEST(BenchOptions, DefaultToTheQuickSuite) {
  const auto o = parse("");
  ASSERT_TRUE(o);
  EXPECT_EQ(o->suites, std::vector<std::string>{"quick"});
  EXPECT_EQ(o->types, std::vector{DType::BF16});
  EXPECT_EQ(o->configs.size(), 1u);
  EXPECT_EQ(o->target, "");
}

TEST(BenchOptions, AcceptEverythingTheyDocument) {
  const auto o = parse(
      "--suite prefill,causal,prefill --dtype f16,f32 --config BLOCK_M=64 --config BLOCK_M=128,BLOCK_N=32 --target host:avx2 --threads 3 "
      "--seconds 2.5 --json --output x.json --compare y.json --list");
  ASSERT_TRUE(o) << o.error().message;
  EXPECT_EQ(o->suites, (std::vector<std::string>{"prefill", "causal"}));
  EXPECT_EQ(o->types, (std::vector{DType::F16, DType::F32}));
  ASSERT_EQ(o->configs.size(), 2u);
  EXPECT_EQ(o->configs[1].block_m, 128);
  EXPECT_EQ(o->seconds, 2.5);
  EXPECT_EQ(o->threads, 3);
  EXPECT_TRUE(o->json && o->list);
  EXPECT_EQ(o->output, "x.json");
  EXPECT_EQ(o->compare, "y.json");
}

TEST(BenchOptions, NameWhatIsWrongAndWhatIsLegal) {
  EXPECT_EQ(refused("--suite fast"), "--suite: there is no suite 'fast' | there are quick, prefill, causal, kernels, decode, backward");
  EXPECT_EQ(refused("--dtype i8"), "--dtype 'i8': expected f32, f16 or bf16");
  EXPECT_EQ(refused("--seconds 0"), "--seconds '0': expected a number from 0.1 to 86400");
  EXPECT_EQ(refused("--seconds nan"), "--seconds 'nan': expected a number from 0.1 to 86400");
  EXPECT_EQ(refused("--threads 0"), "--threads '0': expected an integer from 1 to 1024");
  EXPECT_EQ(refused("--sweet quick"), "unknown option '--sweet' | fattn-bench --help lists the options");
  EXPECT_EQ(refused("--suit quick"), "unknown option '--suit' | did you mean --suite?");
  EXPECT_EQ(refused("quick"), "unexpected argument 'quick' | fattn-bench --help lists the options");
  EXPECT_NE(refused("--config BLOCK_Q=3").find("--config: "), std::string::npos);
}

TEST(Suites, HaveCasesForEveryDeviceAndListEachOnce) {
  for (DeviceKind device : {DeviceKind::Host, DeviceKind::Cuda})
    for (const Suite& suite : suites()) {
      const std::vector<Case> cases = casesOf({std::string(suite.name)}, {DType::BF16, DType::F32}, device);
      EXPECT_GE(cases.size(), 8u) << suite.name;
      std::set<std::string> names;
      for (const Case& one : cases) {
        EXPECT_TRUE(names.insert(one.name()).second) << one.name();
        EXPECT_GT(one.flops(), 0);
      }
    }
  const std::vector<Case> both = casesOf({"quick", "causal"}, {DType::BF16}, DeviceKind::Host);
  EXPECT_EQ(both.size(), 8u) << "the causal cases of quick are among those of causal";
}

TEST(Suites, CountOperationsAndBytes) {
  const Case one{DType::BF16, {2, 8, 2, 16, 32, 64, 128, false}};
  EXPECT_EQ(one.name(), "bf16 B2 H8:2 S16:32 D64:128");
  EXPECT_EQ(one.flops(), 2.0 * (64 + 128) * 16 * 32 * 2 * 8);
  EXPECT_EQ(one.bytes(), 2.0 * ((2 * 8 * 16) * (64 + 128) + (2 * 2 * 32) * (64 + 128)));
  const Case decode{DType::BF16, {}, {"decode", {2, 8, 2, 1000, 64, 16}}};
  EXPECT_EQ(decode.name(), "bf16 decode B2 H8:2 S1:1000 D64 pages of 16");
  EXPECT_EQ(decode.flops(), 2.0 * (64 + 64) * 1000 * 2 * 8);
  EXPECT_EQ(decode.bytes(), 2.0 * ((2 * 8) * (64 + 64) + (2 * 2 * 1000) * (64 + 64)));
  const Case backward{DType::BF16, {}, {"backward", {2, 8, 4, 100, 300, 64, 0, 1}}};
  EXPECT_EQ(backward.name(), "bf16 B2 H8:4 S100:300 D64 backward deterministic");
  EXPECT_EQ(backward.flops(), 5 * 2.0 * 64 * 100 * 300 * 2 * 8);
  EXPECT_EQ(backward.bytes(), 2 * 2.0 * ((2 * 8 * 100) + (2 * 4 * 300)) * (64 + 64));
}

}  // namespace
}  // namespace fattn::bench
