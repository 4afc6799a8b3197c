// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tools/fattn-tune/CacheCommands.h"
#include "tools/fattn-tune/Options.h"
#include "tools/fattn-tune/Ranges.h"

namespace fattn::tuner {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(Ranges, ListsAndDoublings) {
  EXPECT_EQ(parseNumbers("64", "--x"), (Numbers{64}));
  EXPECT_EQ(parseNumbers("1k..16k", "--x"), (Numbers{1024, 2048, 4096, 8192, 16384}));
  EXPECT_EQ(parseNumbers("100..500,7,400,100", "--x"), (Numbers{7, 100, 200, 400, 500}));
  EXPECT_EQ(parseNumbers("3..3", "--x"), (Numbers{3}));
  EXPECT_EQ(parseNumber("2m", "--x"), 2 << 20);
  EXPECT_EQ(parseSeconds("90", "--x"), 90);
  EXPECT_EQ(parseSeconds("1.5m", "--x"), 90);
  EXPECT_EQ(parseSeconds("2h", "--x"), 7200);
}

TEST(Ranges, WhatTheyAreNotIsSaid) {
  auto message = [](auto&& action) -> std::string {
    try {
      action();
    } catch (const tool::UsageError& error) {
      return error.message;
    }
    return "nothing was wrong";
  };
  EXPECT_EQ(message([] { parseNumbers("1k..x", "--seqlen"); }),
            "--seqlen 'x': expected a number from 1 to 2147483647, for example 1000 or 16k");
  for (const char* bad :
       {"", ",", "1,,2", "0", "-4", "1.5", "k", "4g", "99999999999999999999", "2147483648", "4096m", "..", "1..", "..2", "1...2"})
    EXPECT_NE(message([&] { parseNumbers(bad, "--seqlen"); }), "nothing was wrong") << bad;
  EXPECT_EQ(message([] { parseNumbers("16k..1k", "--seqlen"); }), "--seqlen '16k..1k': a range goes from the smaller to the larger number");
  for (const char* bad : {"", "s", "-1", "0", "1d", "nan", "inf", "1e9"})
    EXPECT_EQ(message([&] { parseSeconds(bad, "--budget"); }),
              "--budget '" + std::string(bad) + "': expected a time, for example 90, 120s or 2m");
}

Options parse(std::vector<std::string> arguments) {
  auto options = parseCommandLine(arguments);
  EXPECT_TRUE(options) << options.error().message;
  return options.value_or(Options{});
}

TEST(Options, RunIsTheDefaultAndMakesEveryCombination) {
  Options options =
      parse({"--head-dim", "64,128", "--seqlen", "1k..4k", "--dtype", "bf16,f16", "--causal", "both",   "--heads",  "8", "--batch", "2",
             "--target",   "host",   "--budget", "2m",     "--jobs",  "3",        "--resume", "--json", "--dry-run"});
  EXPECT_EQ(options.command, Command::Run);
  ASSERT_EQ(options.problems.size(), 2u * 3 * 2 * 2);
  EXPECT_EQ(options.problems[0], (AttentionConfig{.dtype = DType::BF16,
                                                  .head_dim = 64,
                                                  .target = "host",
                                                  .shape = ShapeHint{.batch = 2, .heads = 8, .seq_q = 1024, .seq_k = 1024}}));
  EXPECT_EQ(options.problems[1].shape->seq_q, 2048) << "problems of one kernel are neighbours";
  EXPECT_TRUE(options.problems[3].causal);
  EXPECT_EQ(options.budgetSeconds, 120);
  EXPECT_EQ(options.jobs, 3);
  EXPECT_TRUE(options.resume && options.json && options.dryRun);
  EXPECT_EQ(parse({}).problems.size(), 2u);
  EXPECT_EQ(parse({"run", "--seqlen", "512"}).problems[0].shape->seq_q, 512);
  EXPECT_EQ(parse({"--tokens", "16k", "--seqlen", "1k,32k"}).problems[0].shape->batch, 16);
  EXPECT_EQ(parse({"--tokens", "16k", "--seqlen", "1k,32k"}).problems[1].shape->batch, 1);
  EXPECT_EQ(parse({"--seqlen", "1", "--seqlen-k", "4k"}).problems[0].shape->seq_k, 4096);
}

TEST(Options, TheOtherSubcommands) {
  Options explain = parse({"explain", "2,32,1:4096,128:64", "--dtype", "bf16", "--causal"});
  EXPECT_EQ(explain.command, Command::Explain);
  EXPECT_EQ(explain.problems.front(), (AttentionConfig{.dtype = DType::BF16,
                                                       .head_dim = 128,
                                                       .head_dim_v = 64,
                                                       .causal = true,
                                                       .shape = ShapeHint{.batch = 2, .heads = 32, .seq_q = 1, .seq_k = 4096}}));
  EXPECT_EQ(parse({"plot", "1,1,64,64", "-o", "x.svg"}).file, "x.svg");
  EXPECT_EQ(parse({"cache", "ls", "bf16"}).filter, "bf16");
  EXPECT_EQ(parse({"cache", "show"}).command, Command::CacheShow);
  Options save = parse({"cache", "export", "out.json", "d64", "--shipped"});
  EXPECT_EQ(save.command, Command::CacheExport);
  EXPECT_EQ(save.file, "out.json");
  EXPECT_EQ(save.filter, "d64");
  EXPECT_TRUE(save.shippedLayout);
  EXPECT_EQ(parse({"cache", "import", "in.json"}).command, Command::CacheImport);
  EXPECT_EQ(parse({"cache", "verify"}).command, Command::CacheVerify);
  Options prune = parse({"cache", "prune", "--tuned-bytes", "1M", "--binary-bytes", "2G", "--older-than", "48h"});
  EXPECT_EQ(prune.tunedBytes, std::uint64_t{1} << 20);
  EXPECT_EQ(prune.binaryBytes, std::uint64_t{2} << 30);
  EXPECT_EQ(prune.olderThanSeconds, 172800);
}

TEST(Options, HelpAndVersionAreTexts) {
  EXPECT_NE(parse({"--help"}).text.find("fattn-tune explain 1,32,2048,64"), std::string::npos);
  EXPECT_NE(parse({"run", "--help"}).text.find("--seqlen"), std::string::npos);
  EXPECT_NE(parse({"cache", "--help"}).text.find("verify"), std::string::npos);
  EXPECT_TRUE(parse({"--version"}).text.starts_with("fattn-tune 0."));
}

TEST(Options, MistakesAreNamedWithWhatWouldBeRight) {
  struct Case {
    std::vector<std::string> arguments;
    std::string message, hint;
  };
  const std::vector<Case> cases = {
      {{"explian"}, "unknown subcommand 'explian'", "did you mean explain?"},
      {{"frobnicate"}, "unknown subcommand 'frobnicate'", "fattn-tune --help lists the subcommands"},
      {{"--seqlem", "5"}, "unknown option '--seqlem'", "did you mean --seqlen?"},
      {{"cache"}, "cache needs a subcommand", "one of ls, show, export, import, verify, prune"},
      {{"cache", "verfy"}, "unknown subcommand 'verfy'", "did you mean verify?"},
      {{"--dtype", "f64"}, "--dtype 'f64': expected f32, f16 or bf16", ""},
      {{"--causal", "maybe"}, "--causal 'maybe': expected no, yes or both", ""},
      {{"--batch", "2", "--tokens", "1k"}, "--batch and --tokens exclude each other", "leave one of them out"},
      {{"explain", "1,2,3"}, "the shape '1,2,3' has 3 fields, needs 4: B,H,Sq[:Sk],D[:Dv]", "for example 1,32,2048,64"},
      {{"explain", "1,2,3:4:5,64"}, "the shape '1,2,3:4:5,64': '3:4:5' has more than two parts", ""},
      {{"cache", "prune", "--tuned-bytes", "many"}, "--tuned-bytes 'many': expected a number of bytes, for example 64K, 512M or 2G", ""},
      {{"--seqlen", "1..1m", "--seqlen-k", "1..1m", "--heads", "1..1m"},
       "the lists make 18522 problems; 10000 can be tuned in one run",
       ""},
      {{"--budget", "soon"}, "--budget 'soon': expected a time, for example 90, 120s or 2m", ""}};
  for (const Case& one : cases) {
    auto options = parseCommandLine(one.arguments);
    ASSERT_FALSE(options) << one.message;
    EXPECT_EQ(options.error().message, one.message);
    EXPECT_EQ(options.error().hint, one.hint);
  }
}

cache::TuneRecord record(int number) {
  cache::TuneRecord made;
  made.key = {
      .target = "host 1", .device = "a \"device\"", .driver = "none", .compiler = "c", .kernel = "k", .shape = {{"rows", 1 << number}}};
  made.points.push_back({.tile = {.block_m = 8 * (number + 1)}, .medianUs = 1.5, .samples = 1, .timeMs = number, .run = "r"});
  return made;
}

TEST(Bundle, ReadsBackAlsoWhenPutTogetherAndSkipsWhatIsBroken) {
  std::vector<cache::TuneRecord> records = {record(1), record(2), record(3)};
  std::string text = encodeBundle(records);
  Bundle back = decodeBundle(text);
  EXPECT_EQ(back.records, records);
  EXPECT_EQ(back.broken, 0u);
  EXPECT_EQ(decodeBundle(text + text).records.size(), 6u);
  std::string damaged = text;
  damaged[text.size() / 2] ^= 1;
  EXPECT_EQ(decodeBundle(damaged).records.size(), 2u);
  EXPECT_EQ(decodeBundle(damaged).broken, 1u);
  EXPECT_EQ(decodeBundle("").records.size(), 0u);
  EXPECT_EQ(decodeBundle("hello\nworld").broken, 1u);
  EXPECT_EQ(decodeBundle(text.substr(0, text.size() - 5)).records.size(), 2u);
}

}  // namespace
}  // namespace fattn::tuner
