// SPDX-License-Identifier: Apache-2.0
// Options are collected as text by CLI11 and parsed here, so that every error is a sentence of ours.
#include "tools/fattn-dump/Options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>

#include "fattn/Error.h"
#include "fattn/Version.h"
#include "runtime/base/TargetName.h"
#include "tools/common/Program.h"

namespace fattn::dump {
namespace {

using tool::UsageError;

constexpr std::array<std::string_view, 12> kNames = {"dsl", "tile", "tilegpu", "schedule", "llvm", "asm",
                                                     "ptx", "sass", "gcn",     "mix",      "time", "obj"};

constexpr const char* kDescription =
    "Shows every stage between a kernel's C++ and its machine code, as text, as numbered files, or as one page for a browser in which\n"
    "each line is tied to the lines it came from and became. Works without the device it compiles for.";
constexpr const char* kFooter = R"(
Examples:
  fattn-dump --head-dim 64 --causal --emit tile
      the tile program of the attention forward
  fattn-dump --target host:avx2 --emit dsl,tile,llvm,asm,obj -o stages
      numbered files in a folder
  fattn-dump --emit tile > kernel.mlir; fattn-dump kernel.mlir --after tile-fold-scales
      a program from a file, as that pass leaves it; Program::mlir() gives the text of one's own
  fattn-dump --template attention_backward_keys --param head_dim=128 --param dtype=bf16 --target nvidia:sm_90a --emit schedule
      another template's kernel: the loop as the search saw it
  fattn-dump --target nvidia:sm_90 --after tilegpu-place-waits --diff
      what a pass changed
  fattn-dump --target amd:gfx942 --emit mix
      how many instructions of which kind the inner loop has
  fattn-dump --target amd:gfx942 --head-dim 128 --emit time
      how long a launch takes by a model of the chip, which units are busy, and where waves wait
  fattn-dump kernel.mlir --target nvidia:sm_90 --remarks
      how wide each line accesses memory, bank conflicts, spills, what limits occupancy
  fattn-dump --target nvidia:sm_90a --html > kernel.html
      one page that needs no network: stages side by side, registers, the schedule

Stages: dsl (the C++ source), tile, tilegpu (GPUs), schedule (GPUs: the loops as the search saw them, costs and orders), llvm (LLVM IR as the
code generator gets it), asm (host), ptx and sass (nvidia), gcn (amd), mix (how many instructions of which kind, in the inner loop and in all; of ptx, gcn or asm),
time (amd: what a model of the chip says; of the forward and of templates, for their typical shape),
obj (machine code: an object of the host, a cubin, a code object). sass and a cubin need NVIDIA's ptxas, and nvdisasm or cuobjdump, in PATH.
Exit codes: 0 success, 1 failure, 2 wrong usage, 3 unsupported target or configuration.)";

/// Thrown within this file only; parseCommandLine() returns it.
[[noreturn]] void fail(std::string message, std::string hint = "") { throw UsageError{std::move(message), std::move(hint)}; }

/// The options as text, empty where not given.
struct Text {
  std::string dtype, headDim, headDimV, config, target, emit;
  std::vector<std::string> parameters;
};

void declare(CLI::App& app, Text& text, Options& options) {
  app.add_option("file", options.file, "a module with one kernel of the tile dialect; without it, the attention forward kernel")
      ->type_name("FILE.mlir");
  app.add_option("--dtype", text.dtype, "element type (bf16)")->type_name("f32|f16|bf16")->group("Kernel");
  app.add_option("--head-dim", text.headDim, "head dimension (64)")->type_name("D")->group("Kernel");
  app.add_option("--head-dim-v", text.headDimV, "head dimension of v (that of q and k)")->type_name("D")->group("Kernel");
  app.add_flag("--causal", options.causal, "mask keys after the query")->group("Kernel");
  app.add_option("--template", options.fromTemplate,
                 "dump this kernel template instead of the forward; fattn-tune template --list names them and their parameters")
      ->type_name("NAME")
      ->group("Kernel");
  app.add_option("--param", text.parameters, "a parameter of the template; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->group("Kernel");
  app.add_option("--config", text.config, "tile configuration, for example BLOCK_M=64,BLOCK_N=64")->type_name("K=V,...")->group("Kernel");
  app.add_option("--target", text.target, "what to compile for: host, host:avx2, nvidia:sm_90a, amd:gfx942 ... (host)")
      ->type_name("TARGET")
      ->group("Kernel");
  app.add_option("--emit", text.emit, "stages to show, separated by commas (tile)")
      ->type_name("dsl|tile|tilegpu|schedule|llvm|asm|ptx|sass|gcn|mix|time|obj")
      ->group("Output");
  app.add_option("--after", options.after, "show the module as that pass leaves it; canonicalize:2 is its second run")
      ->type_name("PASS")
      ->group("Output");
  app.add_flag("--all-passes", options.allPasses, "show the module after every pass")->group("Output");
  app.add_flag("--diff", options.diff, "with --after or --all-passes: show what the pass changed instead of all of the module")
      ->group("Output");
  app.add_option("-o,--output", options.folder, "write numbered files into this folder instead of standard output")
      ->type_name("DIR")
      ->group("Output");
  app.add_option(
         "--trace", options.trace,
         "draw what warp groups did when the kernel ran below the schedule; programs that run with FATTN_TRACE=FOLDER write such files")
      ->type_name("FILE.json")
      ->group("Output");
  app.add_flag("--html", options.html, "one self-contained page (index.html with -o)")->group("Output");
  app.add_flag("--remarks", options.remarks,
               "say by source line how wide memory is accessed, where banks conflict and registers spill, and what limits occupancy")
      ->group("Output");
  app.add_flag("-g,--line-tables", options.lineTables, "let llvm, asm, ptx and obj say which source lines they come from")->group("Output");
  app.set_version_flag("--version", std::string(version()));
  app.footer(kFooter);
}

int parseDim(const std::string& text, const char* option) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1)
    fail(fmt::format("{} '{}': expected a positive integer", option, text.substr(0, 40)));
  return value;
}

std::vector<Kind> parseEmit(const std::string& text, const std::string& target) {
  const std::vector<Kind> legal = kindsOf(target);
  std::vector<std::string_view> names;
  for (Kind kind : legal) names.push_back(name(kind));
  std::vector<Kind> kinds;
  for (const std::string& word : tool::split(text, ',')) {
    const auto found = std::ranges::find(kNames, word);
    const std::string hint = fmt::format("the stages of {} are {}", target, fmt::join(names, ", "));
    if (found == kNames.end()) fail(fmt::format("--emit: there is no stage '{}'", word.substr(0, 40)), hint);
    const Kind kind = static_cast<Kind>(found - kNames.begin());
    if (std::ranges::find(legal, kind) == legal.end()) fail(fmt::format("--emit: compiling for {} has no stage {}", target, word), hint);
    if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
  }
  std::ranges::sort(kinds);
  return kinds;
}

DType parseElementType(const std::string& text) {
  const auto type = parseDType(text);
  if (!type || (*type != DType::F32 && *type != DType::F16 && *type != DType::BF16))
    fail(fmt::format("--dtype '{}': expected f32, f16 or bf16", text.substr(0, 40)));
  return *type;
}

/// A file, a template and the options of the forward each say which kernel is dumped: only one of them may.
void checkOneKernel(const Text& text, const Options& options) {
  const bool forward = options.causal || !(text.dtype + text.headDim + text.headDimV).empty();
  const bool file = !options.file.empty(), fromTemplate = !options.fromTemplate.empty();
  if (file && forward)
    fail("--dtype, --head-dim, --head-dim-v and --causal describe the kernel that is dumped without a file", "leave them or the file out");
  if (fromTemplate && (forward || file))
    fail("--template names a kernel of its own", "its element type and sizes are parameters: --param dtype=bf16 --param head_dim=128");
  if (!text.parameters.empty() && !fromTemplate) fail("--param is a parameter of a template", "name one with --template");
}

void interpretKernel(const Text& text, Options& options) {
  checkOneKernel(text, options);
  for (const std::string& parameter : text.parameters) options.parameters.push_back(tool::parsePair("--param", parameter));
  if (!text.dtype.empty()) options.dtype = parseElementType(text.dtype);
  if (!text.headDim.empty()) options.headDim = parseDim(text.headDim, "--head-dim");
  if (!text.headDimV.empty()) options.headDimV = parseDim(text.headDimV, "--head-dim-v");
  if (!text.target.empty()) options.target = text.target;
  options.config = TileConfig::parse(text.config);
}

bool showsPasses(const Options& options) { return options.allPasses || !options.after.empty(); }

void checkPasses(const Options& options) {
  if (options.allPasses && !options.after.empty()) fail("--after and --all-passes exclude each other", "--all-passes shows that pass, too");
  if (options.diff && !showsPasses(options)) fail("--diff shows what passes changed", "name one with --after, or give --all-passes");
}

void interpretOutput(const Text& text, Options& options) {
  checkPasses(options);
  const bool wantsStages = !text.emit.empty() || showsPasses(options) || options.html;
  if (options.remarks && (wantsStages || !options.folder.empty()))
    fail("--remarks is printed alone", "leave --emit, --after, --all-passes, --html and -o out");
  const bool wantsDefault = !wantsStages && !options.remarks;
  const std::vector<Kind> legal = kindsOf(options.target);  // says what is wrong with the target
  if (!options.trace.empty() && std::ranges::find(legal, Kind::Schedule) == legal.end())
    fail(fmt::format("--trace is drawn with the schedule, and compiling for {} has none", options.target),
         "name the GPU's target, for example --target nvidia:sm_90a");
  const std::string usual = options.trace.empty() ? "tile" : "schedule";
  if (!text.emit.empty() || wantsDefault) options.emit = parseEmit(wantsDefault ? usual : text.emit, options.target);
  if (!options.trace.empty() && !options.html && std::ranges::find(options.emit, Kind::Schedule) == options.emit.end())
    fail("--trace is drawn with the schedule, which is not among what is asked for",
         "add schedule to --emit, or leave the other options out");
  if (options.html && options.folder.empty() && (!options.emit.empty() || showsPasses(options)))
    fail("--html holds every stage; --emit, --after and --all-passes go with it only where there is a folder", "give one with -o");
}

[[noreturn]] void failExtra(const CLI::App& app, const std::string& argument) {
  if (!argument.starts_with("-")) fail(fmt::format("unexpected argument '{}'", argument.substr(0, 80)), "one file at a time");
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) names.push_back(option->get_name());
  const std::string best = tool::nearest(argument.substr(0, argument.find('=')), names);
  fail(fmt::format("unknown option '{}'", argument.substr(0, 80)),
       best.empty() ? "fattn-dump --help lists the options" : fmt::format("did you mean {}?", best));
}

}  // namespace

std::string_view name(Kind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::vector<Kind> kindsOf(const std::string& target) {
  switch (parseTarget(target).kind) {
    case TargetKind::Host:
      return {Kind::Dsl, Kind::Tile, Kind::Llvm, Kind::Asm, Kind::Mix, Kind::Obj};
    case TargetKind::Nvidia:
      return {Kind::Dsl, Kind::Tile, Kind::TileGpu, Kind::Schedule, Kind::Llvm, Kind::Ptx, Kind::Sass, Kind::Mix, Kind::Obj};
    case TargetKind::Amd:
      return {Kind::Dsl, Kind::Tile, Kind::TileGpu, Kind::Schedule, Kind::Llvm, Kind::Gcn, Kind::Mix, Kind::Time, Kind::Obj};
    default:
      throw Error(ErrorCode::InvalidArgument, fmt::format("--target '{}' names nothing to compile for", target.substr(0, 40)),
                  "targets are host, host:avx2 and the like, nvidia:sm_90a and the like, amd:gfx942 and the like");
  }
}

std::expected<Options, UsageError> parseCommandLine(const std::vector<std::string>& arguments) {
  CLI::App app(kDescription, "fattn-dump");
  Options options;
  Text text;
  declare(app, text, options);
  app.allow_extras();
  auto shown = tool::readWords(app, arguments, [&] {
    if (const std::vector<std::string> extras = app.remaining(); !extras.empty()) failExtra(app, extras.front());
    interpretKernel(text, options);
    interpretOutput(text, options);
  });
  if (!shown) return std::unexpected(shown.error());
  options.text = std::move(*shown);
  return options;
}

}  // namespace fattn::dump
