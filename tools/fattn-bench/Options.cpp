// SPDX-License-Identifier: Apache-2.0
// Options are collected as text by CLI11 and parsed here, so that every error is a sentence of ours.
#include "tools/fattn-bench/Options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "fattn/Error.h"
#include "fattn/Version.h"
#include "tools/common/Program.h"
#include "tools/fattn-bench/Suites.h"

namespace fattn::bench {
namespace {

using tool::UsageError;

constexpr const char* kDescription =
    "Measures suites of problems: time, TFLOP/s or GB/s, and the share of what the device can do at best, which is measured as well.\n"
    "All contestants take turns, so that a clock or a temperature that drifts concerns each of them.";
constexpr const char* kFooter = R"(
Examples:
  fattn-bench
      the quick suite on this machine's default device
  fattn-bench --suite prefill,causal --dtype bf16,f16 --seconds 120 --output today.json
      a table for people, and the figures for later
  fattn-bench --compare yesterday.json
      what became faster or slower, by more than the noise of both runs
  fattn-bench --target host --config BLOCK_M=64,BLOCK_N=64 --config BLOCK_M=128,BLOCK_N=64
      two configurations of each case, in turns

Speed: 2 (D + Dv) operations for each pair of a query and a key it sees; bytes of operands and results once each; 5 operations for each
element of a row.
Share: of the ceiling that this case meets first. Ceilings: a copy of a large array (bytes read and written), and dots on tiles that stay near.
Exit codes: 0 success, 1 failure, or slower than --compare, 2 wrong usage, 3 unsupported configuration, 4 no device.)";

/// Thrown within this file only; parseCommandLine() returns it.
[[noreturn]] void fail(std::string message, std::string hint = "") { throw UsageError{std::move(message), std::move(hint)}; }

/// The options as text, empty where not given.
struct Text {
  std::string suites, types, seconds, threads;
  std::vector<std::string> configs;
};

void declare(CLI::App& app, Text& text, Options& options) {
  std::vector<std::string_view> names;
  for (const Suite& suite : suites()) names.push_back(suite.name);
  app.add_option("--suite", text.suites, "suites, separated by commas (quick)")
      ->type_name(fmt::format("{}", fmt::join(names, "|")))
      ->group("What");
  app.add_option("--dtype", text.types, "element types, separated by commas (bf16)")->type_name("f32|f16|bf16")->group("What");
  app.add_option("--config", text.configs,
                 "tile configuration, for example BLOCK_M=64,BLOCK_N=64; several compete (what was tuned, or the default)")
      ->type_name("K=V,...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("What");
  app.add_flag("--list", options.list, "list the suites and their cases, and measure nothing")->group("What");
  app.add_option("--target", options.target,
                 "device: host, host:avx2, cuda, cuda:1, cuda@sm_80, hip, or amd:gfx942 for a model of that chip (the default device)")
      ->type_name("TARGET")
      ->group("Where");
  app.add_option("--threads", text.threads, "threads on the host (all cores)")->type_name("N")->group("Where");
  app.add_option("--seconds", text.seconds, "time to measure for, in all (20)")->type_name("S")->group("Where");
  app.add_flag("--json", options.json, "print one JSON object instead of the table")->group("Results");
  app.add_option("--output", options.output, "write the JSON object into this file")->type_name("FILE")->group("Results");
  app.add_option("--compare", options.compare, "compare with the JSON object of an earlier run")->type_name("FILE")->group("Results");
  app.set_version_flag("--version", std::string(version()));
  app.footer(kFooter);
}

std::vector<std::string> parseSuites(const std::string& text) {
  std::vector<std::string> wanted, legal;
  for (const Suite& suite : suites()) legal.emplace_back(suite.name);
  for (const std::string& word : tool::split(text, ',')) {
    if (std::ranges::find(legal, word) == legal.end())
      fail(fmt::format("--suite: there is no suite '{}'", word.substr(0, 40)), fmt::format("there are {}", fmt::join(legal, ", ")));
    if (std::ranges::find(wanted, word) == wanted.end()) wanted.push_back(word);
  }
  return wanted;
}

std::vector<DType> parseTypes(const std::string& text) {
  std::vector<DType> types;
  for (const std::string& word : tool::split(text, ',')) {
    const auto type = parseDType(word);
    if (!type || (*type != DType::F32 && *type != DType::F16 && *type != DType::BF16))
      fail(fmt::format("--dtype '{}': expected f32, f16 or bf16", word.substr(0, 40)));
    if (std::ranges::find(types, *type) == types.end()) types.push_back(*type);
  }
  return types;
}

TileConfig parseConfig(const std::string& text) try { return TileConfig::parse(text); } catch (const Error& error) {
  fail("--config: " + error.constraint(), error.hint());
}

void interpret(const Text& text, Options& options) {
  if (!text.suites.empty()) options.suites = parseSuites(text.suites);
  if (!text.types.empty()) options.types = parseTypes(text.types);
  if (!text.configs.empty()) options.configs.clear();
  for (const std::string& config : text.configs) options.configs.push_back(parseConfig(config));
  if (!text.seconds.empty()) {
    const char* last = text.seconds.data() + text.seconds.size();
    const auto [end, error] = std::from_chars(text.seconds.data(), last, options.seconds);
    if (error != std::errc() || end != last || !(options.seconds >= 0.1 && options.seconds <= 86400))
      fail(fmt::format("--seconds '{}': expected a number from 0.1 to 86400", text.seconds.substr(0, 40)));
  }
  if (!text.threads.empty()) {
    const char* last = text.threads.data() + text.threads.size();
    const auto [end, error] = std::from_chars(text.threads.data(), last, options.threads);
    if (error != std::errc() || end != last || options.threads < 1 || options.threads > 1024)
      fail(fmt::format("--threads '{}': expected an integer from 1 to 1024", text.threads.substr(0, 40)));
  }
}

[[noreturn]] void failExtra(const CLI::App& app, const std::string& argument) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) names.push_back(option->get_name());
  const std::string best = tool::nearest(argument.substr(0, argument.find('=')), names);
  fail(fmt::format("{} '{}'", argument.starts_with("-") ? "unknown option" : "unexpected argument", argument.substr(0, 80)),
       best.empty() ? "fattn-bench --help lists the options" : fmt::format("did you mean {}?", best));
}

}  // namespace

std::expected<Options, UsageError> parseCommandLine(const std::vector<std::string>& arguments) {
  CLI::App app(kDescription, "fattn-bench");
  Options options;
  Text text;
  declare(app, text, options);
  app.allow_extras();
  auto shown = tool::readWords(app, arguments, [&] {
    if (const std::vector<std::string> extras = app.remaining(); !extras.empty()) failExtra(app, extras.front());
    interpret(text, options);
    options.target = tool::measuredTarget("fattn-bench", options.target);
  });
  if (!shown) return std::unexpected(shown.error());
  options.text = std::move(*shown);
  return options;
}

}  // namespace fattn::bench
