// SPDX-License-Identifier: Apache-2.0
// Options are collected as text by CLI11 and parsed here, so that every error is a sentence of ours.
#include "tools/fattn-tune/Options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "fattn/Version.h"
#include "runtime/cache/Settings.h"
#include "tools/common/Program.h"
#include "tools/fattn-tune/Ranges.h"

namespace fattn::tuner {
namespace {

using tool::UsageError;

constexpr std::size_t kMostProblems = 10000;

constexpr const char* kDescription =
    "Finds the fastest tile configuration for each shape, keeps it in the cache that fattn::compile reads, and shows, moves and checks\n"
    "what is there. Without a subcommand it runs.";
constexpr const char* kFooter = R"(
Examples:
  fattn-tune --head-dim 64,128 --seqlen 1k..16k --dtype bf16 --causal both --budget 5m
      tunes 2 x 5 x 2 problems, in five minutes at the most
  fattn-tune run --help
      the options of tuning: kernels, shapes, time
  fattn-tune --seqlen 512 --resume
      goes on where an earlier run was stopped
  fattn-tune explain 1,32,2048,64 --dtype bf16 --causal
      which configuration compile would take for that shape, from which file, by which rule
  fattn-tune plot 1,32,2048,64 --dtype bf16 -o landscape.svg
      what was measured, as a picture
  fattn-tune cache export tuned.json; fattn-tune cache import tuned.json
      from one machine to another like it
  fattn-tune template --help
      tunes other kernels: fattn's own, and templates that shared objects register

Environment: FATTN_CACHE_DIR is the folder of the cache. docs/tuning.md explains the rest.
Exit codes: 0 success, 1 failure, 2 wrong usage, 3 unsupported configuration, 4 no device, 130 interrupted (what was measured is kept).)";

/// Thrown within this file only; parseCommandLine() returns it.
[[noreturn]] void fail(std::string message, std::string hint = "") { throw UsageError{std::move(message), std::move(hint)}; }

/// The options as text, empty where not given.
struct Text {
  std::string headDim, headDimV, seqlen, seqlenK, heads, batch, tokens, dtype, causal, target, budget, jobs, shape;
  std::string tunedBytes, binaryBytes, olderThan;
  bool isCausal = false;
};

struct Tree {
  CLI::App app{kDescription, "fattn-tune"};
  std::vector<std::pair<CLI::App*, Command>> leaves;
};

void declareTarget(CLI::App& app, Text& text) {
  app.add_option("--target", text.target,
                 "device to tune for: host, host:avx2, cuda, cuda:1, cuda@sm_80, hip ..., or amd:gfx942 for a model of that chip (the "
                 "default device)")
      ->type_name("TARGET")
      ->group("Kernel");
}

void declareRun(CLI::App& app, Text& text, Options& options) {
  const auto list = [&](const char* name, std::string& target, const char* what, const char* group) {
    app.add_option(name, target, what)->type_name("LIST")->group(group);
  };
  list("--head-dim", text.headDim, "head dimensions of q and k (64,128)", "Kernel");
  list("--head-dim-v", text.headDimV, "head dimensions of v (those of q and k)", "Kernel");
  app.add_option("--dtype", text.dtype, "element types (bf16)")->type_name("f32|f16|bf16,...")->group("Kernel");
  app.add_option("--causal", text.causal, "whether later keys are masked (no)")->type_name("no|yes|both")->group("Kernel");
  declareTarget(app, text);
  list("--seqlen", text.seqlen, "lengths of q, and of k where --seqlen-k is not given; 1k..16k doubles (2048)", "Shapes");
  list("--seqlen-k", text.seqlenK, "lengths of k and v", "Shapes");
  list("--heads", text.heads, "numbers of heads (32)", "Shapes");
  app.add_option("--batch", text.batch, "batch entries (1)")->type_name("N")->group("Shapes");
  app.add_option("--tokens", text.tokens, "choose the batch so that each shape has about this many rows a head")
      ->type_name("N")
      ->group("Shapes");
  app.add_option("--budget", text.budget, "time for everything, for example 90, 120s or 2m (20s a problem)")
      ->type_name("TIME")
      ->group("Run");
  app.add_option("--jobs", text.jobs, "threads that compile (one a core)")->type_name("N")->group("Run");
  app.add_flag("--dry-run", options.dryRun, "show what would be tuned, compile and measure nothing")->group("Run");
  app.add_flag("--resume", options.resume, "skip what is tuned already, and take what an unfinished tuning has measured")->group("Run");
  app.add_flag("--json", options.json, "print one JSON object instead of the table")->group("Run");
}

void declareShape(CLI::App& app, Text& text) {
  app.add_option("shape", text.shape, "the shape (what compile assumes where it is told none: 1,32,2048 and head dimension 64)")
      ->type_name("B,H,Sq[:Sk],D[:Dv]");
  app.add_option("--dtype", text.dtype, "element type (bf16)")->type_name("f32|f16|bf16")->group("Kernel");
  app.add_flag("--causal", text.isCausal, "later keys are masked")->group("Kernel");
  declareTarget(app, text);
}

void declareCache(Tree& tree, Text& text, Options& options) {
  CLI::App* cache = tree.app.add_subcommand("cache", "looks after the cache");
  cache->require_subcommand(1);
  const auto leaf = [&](const char* name, const char* what, Command command) {
    CLI::App* app = cache->add_subcommand(name, what);
    tree.leaves.emplace_back(app, command);
    return app;
  };
  const auto filter = [&](CLI::App* app) {
    app->add_option("filter", options.filter, "only records whose kernel, shape or device contains this text")->type_name("TEXT");
  };
  CLI::App* ls = leaf("ls", "lists what was tuned, one line a problem", Command::CacheLs);
  filter(ls);
  ls->add_flag("--json", options.json, "print one JSON object instead of the table");
  CLI::App* show = leaf("show", "shows every point of what was tuned", Command::CacheShow);
  filter(show);
  show->add_flag("--json", options.json, "print one JSON object instead of the table");
  CLI::App* save = leaf("export", "writes records into one file, or as files to ship with the library", Command::CacheExport);
  save->add_option("file", options.file, "the file; - is standard output")->type_name("FILE")->required();
  filter(save);
  save->add_flag("--shipped", options.shippedLayout, "FILE is a folder: this machine's winners as FATTN_TUNED_DIR and packages hold them");
  CLI::App* load = leaf("import", "adds the records of an exported file", Command::CacheImport);
  load->add_option("file", options.file, "the file")->type_name("FILE")->required();
  CLI::App* verify = leaf("verify", "reads every file, and names the ones that are not whole", Command::CacheVerify);
  verify->add_flag("--json", options.json, "print one JSON object instead of the list");
  CLI::App* prune = leaf("prune", "removes broken files, and the ones unused for longest beyond the limits", Command::CachePrune);
  prune->add_option("--tuned-bytes", text.tunedBytes, "limit for tuned configurations, for example 1M (FATTN_CACHE_TUNED_BYTES)")
      ->type_name("BYTES");
  prune->add_option("--binary-bytes", text.binaryBytes, "limit for compiled binaries (FATTN_CACHE_BINARY_BYTES)")->type_name("BYTES");
  prune->add_option("--older-than", text.olderThan, "remove what was not used for that long, for example 720h")->type_name("TIME");
}

void declare(Tree& tree, Text& text, Options& options) {
  CLI::App* run = tree.app.add_subcommand("run", "tunes (the default)");
  tree.leaves.emplace_back(run, Command::Run);
  declareRun(*run, text, options);
  CLI::App* explain = tree.app.add_subcommand("explain", "says which configuration is used for a shape, and why");
  tree.leaves.emplace_back(explain, Command::Explain);
  declareShape(*explain, text);
  explain->add_flag("--json", options.json, "print one JSON object instead of the text");
  CLI::App* plot = tree.app.add_subcommand("plot", "draws what was measured for a shape as an SVG heat map");
  tree.leaves.emplace_back(plot, Command::Plot);
  declareShape(*plot, text);
  plot->add_option("-o,--output", options.file, "the file (standard output)")->type_name("FILE.svg");
  declareCache(tree, text, options);
  tree.app.set_version_flag("--version", std::string(version()));
  tree.app.footer(kFooter);
  tree.app.require_subcommand(1);
}

DType parseType(const std::string& text) {
  const std::optional<DType> type = parseDType(text);
  if (!type || (*type != DType::F32 && *type != DType::F16 && *type != DType::BF16))
    fail(fmt::format("--dtype '{}': expected f32, f16 or bf16", text.substr(0, 40)));
  return *type;
}

std::vector<bool> parseCausal(const std::string& text) {
  if (text.empty() || text == "no") return {false};
  if (text == "yes") return {true};
  if (text == "both") return {false, true};
  fail(fmt::format("--causal '{}': expected no, yes or both", text.substr(0, 40)));
}

std::string given(const std::string& text, const char* otherwise) { return text.empty() ? otherwise : text; }

std::int64_t batchOf(const Text& text, std::int64_t length) {
  if (text.tokens.empty()) return parseNumber(given(text.batch, "1"), "--batch");
  return std::max<std::int64_t>(1, parseNumber(text.tokens, "--tokens") / length);
}

// What the lists on the command line hold; 0 among `dimsV` and `lengthsK`: that of the queries.
struct Lists {
  std::vector<DType> types;
  std::vector<std::int64_t> dims, dimsV, lengths, lengthsK, heads;
  std::vector<bool> masks;

  std::size_t problems() const {
    return types.size() * dims.size() * dimsV.size() * masks.size() * heads.size() * lengths.size() * lengthsK.size();
  }
};

Lists parseLists(const Text& text) {
  const std::vector<std::int64_t> none = {0};
  Lists lists;
  for (const std::string& word : tool::split(given(text.dtype, "bf16"), ',')) lists.types.push_back(parseType(word));
  lists.dims = parseNumbers(given(text.headDim, "64,128"), "--head-dim");
  lists.dimsV = text.headDimV.empty() ? none : parseNumbers(text.headDimV, "--head-dim-v");
  lists.lengths = parseNumbers(given(text.seqlen, "2048"), "--seqlen");
  lists.lengthsK = text.seqlenK.empty() ? none : parseNumbers(text.seqlenK, "--seqlen-k");
  lists.heads = parseNumbers(given(text.heads, "32"), "--heads");
  lists.masks = parseCausal(text.causal);
  return lists;
}

std::vector<AttentionConfig> kernelsOf(const Lists& lists, const std::string& target) {
  std::vector<AttentionConfig> kernels;
  for (DType type : lists.types)
    for (std::int64_t dim : lists.dims)
      for (std::int64_t dimV : lists.dimsV)
        for (bool causal : lists.masks)
          kernels.push_back({.dtype = type, .head_dim = dim, .head_dim_v = dimV, .causal = causal, .target = target, .shape = {}});
  return kernels;
}

std::vector<ShapeHint> shapesOf(const Lists& lists, const Text& text) {
  std::vector<ShapeHint> shapes;
  for (std::int64_t heads : lists.heads)
    for (std::int64_t length : lists.lengths)
      for (std::int64_t lengthK : lists.lengthsK)
        shapes.push_back({.batch = batchOf(text, length), .heads = heads, .seq_q = length, .seq_k = lengthK != 0 ? lengthK : length});
  return shapes;
}

// The kernel varies slowest: problems of one kernel share its compiled candidates.
std::vector<AttentionConfig> parseProblems(const Text& text) {
  if (!text.batch.empty() && !text.tokens.empty()) fail("--batch and --tokens exclude each other", "leave one of them out");
  const Lists lists = parseLists(text);
  if (lists.problems() > kMostProblems)
    fail(fmt::format("the lists make {} problems; {} can be tuned in one run", lists.problems(), kMostProblems));
  const std::vector<ShapeHint> shapes = shapesOf(lists, text);
  std::vector<AttentionConfig> problems;
  for (AttentionConfig& problem : kernelsOf(lists, tool::measuredTarget("fattn-tune", text.target)))
    for (const ShapeHint& shape : shapes) {
      problem.shape = shape;
      problems.push_back(problem);
    }
  return problems;
}

AttentionConfig parseShape(const Text& text) {
  const std::string shape = given(text.shape, "1,32,2048,64");
  const std::vector<std::string> fields = tool::split(shape, ',');
  if (fields.size() != 4)
    fail(fmt::format("the shape '{}' has {} field{}, needs 4: B,H,Sq[:Sk],D[:Dv]", shape.substr(0, 60), fields.size(),
                     fields.size() == 1 ? "" : "s"),
         "for example 1,32,2048,64");
  const auto pair = [&](const std::string& field) {
    const std::vector<std::string> parts = tool::split(field, ':');
    if (parts.size() > 2) fail(fmt::format("the shape '{}': '{}' has more than two parts", shape.substr(0, 60), field.substr(0, 40)));
    const std::int64_t first = parseNumber(parts[0], "the shape");
    return std::pair(first, parts.size() == 2 ? parseNumber(parts[1], "the shape") : first);
  };
  const auto [lengthQ, lengthK] = pair(fields[2]);
  const auto [dim, dimV] = pair(fields[3]);
  return {
      .dtype = parseType(given(text.dtype, "bf16")),
      .head_dim = dim,
      .head_dim_v = dimV,
      .causal = text.isCausal,
      .target = text.target,
      .shape = ShapeHint{
          .batch = parseNumber(fields[0], "the shape"), .heads = parseNumber(fields[1], "the shape"), .seq_q = lengthQ, .seq_k = lengthK}};
}

std::optional<std::uint64_t> parseSize(const std::string& text, const char* option) {
  if (text.empty()) return std::nullopt;
  const std::optional<std::uint64_t> bytes = cache::parseBytes(text);
  if (!bytes) fail(fmt::format("{} '{}': expected a number of bytes, for example 64K, 512M or 2G", option, text.substr(0, 40)));
  return bytes;
}

void interpret(const Text& text, Options& options) {
  if (options.command == Command::Run) {
    options.problems = parseProblems(text);
    if (!text.budget.empty()) options.budgetSeconds = parseSeconds(text.budget, "--budget");
    if (!text.jobs.empty()) options.jobs = static_cast<int>(std::min<std::int64_t>(parseNumber(text.jobs, "--jobs"), 1024));
  }
  if (options.command == Command::Explain || options.command == Command::Plot) options.problems = {parseShape(text)};
  options.tunedBytes = parseSize(text.tunedBytes, "--tuned-bytes");
  options.binaryBytes = parseSize(text.binaryBytes, "--binary-bytes");
  if (!text.olderThan.empty()) options.olderThanSeconds = parseSeconds(text.olderThan, "--older-than");
}

// "run" may be left out: what begins with an option, other than those of the tool itself, is meant for it.
std::vector<std::string> completed(std::vector<std::string> arguments) {
  const std::array<std::string_view, 4> own = {"-h", "--help", "--version", "--generate"};
  const bool first = arguments.empty() || (arguments[0].starts_with("-") && std::ranges::find(own, arguments[0]) == own.end());
  if (first) arguments.insert(arguments.begin(), "run");
  return arguments;
}

const CLI::App* deepest(const CLI::App* app) {
  const std::vector<CLI::App*> inside = app->get_subcommands();
  return inside.empty() ? app : deepest(inside.front());
}

[[noreturn]] void failExtra(const CLI::App& app, const std::string& argument) {
  const std::string shown = argument.substr(0, 80);
  std::vector<std::string> names;
  if (argument.starts_with("-")) {
    for (const CLI::Option* option : app.get_options()) names.push_back(option->get_name());
  } else {
    for (const CLI::App* inside : app.get_subcommands([](const CLI::App*) { return true; })) names.push_back(inside->get_name());
  }
  const std::string best = tool::nearest(argument.substr(0, argument.find('=')), names);
  const std::string help = app.get_parent() == nullptr ? "fattn-tune --help lists the subcommands"
                                                       : fmt::format("fattn-tune {} --help lists its options", app.get_name());
  const char* kind = argument.starts_with("-") ? "option" : names.empty() ? "argument" : "subcommand";
  fail(fmt::format("unknown {} '{}'", kind, shown), best.empty() ? help : fmt::format("did you mean {}?", best));
}

// What CLI11 says of a word that is no subcommand does not name it.
void requireSubcommand(const CLI::App& app, const std::vector<std::string>& words, std::size_t at) {
  if (at < words.size() && words[at].starts_with("-")) return;
  const std::vector<const CLI::App*> inside = app.get_subcommands([](const CLI::App*) { return true; });
  if (inside.empty()) return;
  std::vector<std::string> names;
  for (const CLI::App* one : inside) names.push_back(one->get_name());
  if (at >= words.size()) fail(fmt::format("{} needs a subcommand", app.get_name()), fmt::format("one of {}", fmt::join(names, ", ")));
  const auto found = std::ranges::find(names, words[at]);
  if (found == names.end()) failExtra(app, words[at]);
  requireSubcommand(*inside[static_cast<std::size_t>(found - names.begin())], words, at + 1);
}

}  // namespace

std::expected<Options, UsageError> parseCommandLine(const std::vector<std::string>& arguments) {
  Tree tree;
  Options options;
  Text text;
  declare(tree, text, options);
  tree.app.allow_extras();
  for (CLI::App* app : tree.app.get_subcommands([](const CLI::App*) { return true; })) app->allow_extras();
  for (auto& [app, command] : tree.leaves) app->allow_extras();
  const std::vector<std::string> words = completed(arguments);
  try {
    requireSubcommand(tree.app, words, 0);
  } catch (const UsageError& error) {
    return std::unexpected(error);
  }
  const auto interpretWords = [&] {
    const CLI::App* chosen = deepest(&tree.app);
    for (const auto& [app, command] : tree.leaves)
      if (app == chosen) options.command = command;
    if (const std::vector<std::string> extras = tree.app.remaining(true); !extras.empty()) failExtra(*chosen, extras.front());
    interpret(text, options);
  };
  auto shown =
      tool::readWords(tree.app, words, interpretWords, "fattn-tune --help lists the subcommands, and each has a --help of its own");
  if (!shown) return std::unexpected(shown.error());
  options.text = std::move(*shown);
  return options;
}

}  // namespace fattn::tuner
