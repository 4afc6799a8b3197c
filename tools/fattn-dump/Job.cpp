// SPDX-License-Identifier: Apache-2.0
// The steps of a run: parse, compile, assemble and disassemble where asked for, write.
#include "tools/fattn-dump/Job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "fattn/Error.h"
#include "tools/common/Program.h"
#include "tools/fattn-dump/Diff.h"
#include "tools/fattn-dump/Facts.h"
#include "tools/fattn-dump/LineTables.h"
#include "tools/fattn-dump/Page.h"
#include "tools/fattn-dump/Remarks.h"
#include "tools/fattn-dump/RoleTrace.h"
#include "tools/fattn-dump/Sass.h"
#include "tools/fattn-dump/Time.h"
#include "tools/io/File.h"
#include "tools/io/MlirText.h"

namespace fattn::dump {
namespace {

bool wants(const Options& options, Kind kind) { return std::ranges::find(options.emit, kind) != options.emit.end(); }

bool isBinary(const Stage& stage) { return stage.extension == "o" || stage.extension == "cubin" || stage.extension == "hsaco"; }

/// Adds the cubin and SASS. A page and remarks do without what cannot be had.
void addNative(const Options& options, Compilation& compilation, std::optional<Usage>& usage) {
  const Stage* ptx = compilation.find(Kind::Ptx);
  if (ptx == nullptr || !(options.html || options.remarks || wants(options, Kind::Sass) || wants(options, Kind::Obj))) return;
  try {
    Assembled assembled = assemble(ptx->text, options.target.substr(options.target.find(':') + 1));
    usage = assembled.usage;
    if (options.html || options.remarks || wants(options, Kind::Sass)) compilation.stages.push_back(disassemble(assembled.cubin));
    compilation.stages.push_back({"kernel", "cubin", std::move(assembled.cubin), {}});
  } catch (const Error& error) {
    if (!(options.html || options.remarks) || error.code() != ErrorCode::Unsupported) throw;
  }
}

/// Of PTX and assembly, with the source of each line where line tables say it.
void addMix(const Options& options, Compilation& compilation) {
  for (const Kind kind : {Kind::Ptx, Kind::Asm}) {
    const Stage* code = compilation.find(kind);
    if (code == nullptr) continue;
    Stage copy = *code;
    readLineTables(copy);
    compilation.mix = mixOf(copy, options.target);
  }
  if (compilation.mix) compilation.stages.push_back({std::string(kMixStage), "txt", mixText(*compilation.mix), {}});
}

/// The module before each pass's: what the pass changed.
Stage changesOf(const Compilation& compilation, const Stage& stage) {
  const Stage* before = nullptr;
  for (const Stage& each : compilation.stages) {
    if (&each == &stage) break;
    if (each.extension == "mlir" && each.name != "dsl") before = &each;
  }
  return {stage.name, "diff", diffText(before == nullptr ? stage.text : before->text, stage.text), {}};
}

const Stage& stageOf(const Compilation& compilation, Kind kind, const std::string& target) {
  const Stage* stage = compilation.find(kind);
  if (kind == Kind::Sass)
    for (const Stage& each : compilation.stages)
      if (each.extension == "sass") stage = &each;
  if (stage == nullptr) throw Error(ErrorCode::Unsupported, fmt::format("this kernel has no stage {} for {}", name(kind), target));
  return *stage;
}

[[noreturn]] void failAfter(const Options& options, const std::vector<std::string>& passes) {
  const std::string word = options.after.substr(0, 60);
  const std::string near = tool::nearest(options.after, passes);
  throw Error(ErrorCode::InvalidArgument, fmt::format("--after: no pass of {} is called '{}'", options.target, word),
              near.empty() ? fmt::format("its passes are {}", fmt::join(passes, ", ")) : fmt::format("did you mean {}?", near));
}

/// Which of the runs of a pass `--after canonicalize:2` means, from 0. A pass that runs several times needs the number.
std::size_t runOf(const Options& options, std::size_t runs, std::size_t colon) {
  const std::string pass = options.after.substr(0, colon);
  if (colon == std::string::npos && runs == 1) return 0;
  const std::string hint = fmt::format("--after {0}:1 to --after {0}:{1}", pass, runs);
  if (colon == std::string::npos)
    throw Error(ErrorCode::InvalidArgument, fmt::format("--after: {} runs {} times for {}", pass, runs, options.target),
                fmt::format("say which one: {}", hint));
  std::size_t number = 0;
  const char* end = options.after.data() + options.after.size();
  const auto [last, error] = std::from_chars(options.after.data() + colon + 1, end, number);
  if (error != std::errc() || last != end || number < 1 || number > runs)
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("--after: {} has no run '{}' for {}", pass, options.after.substr(colon + 1, 40), options.target),
                fmt::format("legal: {}", hint));
  return number - 1;
}

/// Those asked for, in the order of the compilation.
std::vector<const Stage*> selected(const Options& options, const Compilation& compilation) {
  std::vector<const Stage*> wanted;
  for (Kind kind : options.emit) wanted.push_back(&stageOf(compilation, kind, options.target));
  std::vector<std::string> passes;
  std::vector<const Stage*> named;
  const std::size_t colon = options.after.find(':');
  for (const Stage& stage : compilation.stages) {
    if (stage.extension != "mlir" || stage.name == "dsl") continue;
    if (stage.name != "tile") passes.push_back(stage.name);
    if (options.allPasses) wanted.push_back(&stage);
    if (stage.name == options.after.substr(0, colon)) named.push_back(&stage);
  }
  if (!options.after.empty() && named.empty()) failAfter(options, passes);
  if (!options.after.empty()) wanted.push_back(named[runOf(options, named.size(), colon)]);
  std::ranges::sort(wanted);
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return wanted;
}

void writeFile(const std::filesystem::path& path, const std::string& text) {
  io::writeFile(path.string(), text);
  fmt::print("{}\n", path.string());
}

void writeFolder(const std::string& folder, const std::vector<const Stage*>& stages, const std::string& page) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw Error(ErrorCode::IoError, fmt::format("cannot make the folder {}: {}", folder, failure.message()));
  for (std::size_t i = 0; i < stages.size(); ++i)
    writeFile(std::filesystem::path(folder) / fmt::format("{:02}-{}.{}", i, stages[i]->name, stages[i]->extension), stages[i]->text);
  if (!page.empty()) writeFile(std::filesystem::path(folder) / "index.html", page);
}

/// One stage as it is; several behind a comment with their name each.
void print(const std::vector<const Stage*>& stages) {
  for (const Stage* stage : stages) {
    if (isBinary(*stage) && (stages.size() > 1 || ::isatty(STDOUT_FILENO) != 0))
      throw Error(ErrorCode::InvalidArgument, "--emit obj is no text",
                  "give a folder with -o, or emit it alone and redirect standard output");
    if (stages.size() > 1) {
      const char* comment = stage->extension == "ll" ? ";" : stage->extension == "s" ? "#" : "//";
      fmt::print("{} ---- {}.{}\n", comment, stage->name, stage->extension);
    }
    std::fwrite(stage->text.data(), 1, stage->text.size(), stdout);
    if (stages.size() > 1) fmt::print("\n");
  }
}

std::string pageOf(const Options& options, const Compilation& compilation, const std::optional<Usage>& usage) {
  const gpu::ScheduledLoop* loop = gpu::busiest(compilation.loops);
  std::vector<Chart> charts;
  const auto add = [&](std::optional<Chart> chart) {
    if (chart) charts.push_back(std::move(*chart));
  };
  if (loop != nullptr) add(chartOf(*loop));
  if (!options.trace.empty()) add(chartOf(readRoleTrace(options.trace)));
  return makePage(options, compilation, collectFacts(options, compilation, usage), charts);
}

/// Stages that were asked for and that a compilation reached before it failed.
std::vector<const Stage*> reached(const Options& options, const Compilation& compilation) {
  const std::string pass = options.after.substr(0, options.after.find(':'));
  std::vector<const Stage*> stages;
  for (const Stage& stage : compilation.stages) {
    const bool isModule = stage.extension == "mlir" && stage.name != "dsl";
    const bool isEmitted = std::ranges::any_of(options.emit, [&](Kind kind) { return compilation.find(kind) == &stage; });
    if (isEmitted || (isModule && (options.allPasses || (!pass.empty() && stage.name == pass)))) stages.push_back(&stage);
  }
  return stages;
}

/// Where the compilation fails, writes what was reached of the stages asked for, and throws on.
Compilation compiledOrShown(const Options& options, tool::Progress& progress) {
  Compilation compilation;
  try {
    io::onLargeStack([&] { compileStages(options, compilation); });
  } catch (const Error&) {
    const std::vector<const Stage*> stages = reached(options, compilation);
    progress.clear();
    if (!options.folder.empty() && !stages.empty())
      writeFolder(options.folder, stages, "");
    else if (!options.html && !options.remarks)
      print(stages);
    (void)tool::flushOutput();
    throw;
  }
  return compilation;
}

void execute(const Options& options, tool::Progress& progress) {
  progress.step("compiling");
  Compilation compilation = compiledOrShown(options, progress);
  std::optional<Usage> usage;
  progress.step("assembling");
  addNative(options, compilation, usage);
  addMix(options, compilation);
  if (wants(options, Kind::Time)) progress.step("modelling"), compilation.stages.push_back(timeStage(options, compilation));
  if (options.remarks) {
    const std::string text = remarksOf(options, compilation, usage);
    progress.clear();
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (!tool::flushOutput()) throw Error(ErrorCode::IoError, "cannot write to standard output");
    return;
  }
  std::vector<const Stage*> stages = selected(options, compilation);
  std::vector<Stage> changes;
  changes.reserve(stages.size());
  if (options.diff)
    for (const Stage*& stage : stages)
      if (stage->extension == "mlir" && stage->name != "dsl" && stage->name != "tile")
        stage = &changes.emplace_back(changesOf(compilation, *stage));
  const std::string page = options.html ? pageOf(options, compilation, usage) : "";
  progress.clear();
  if (!options.folder.empty())
    writeFolder(options.folder, stages, page);
  else if (options.html)
    std::fwrite(page.data(), 1, page.size(), stdout);
  else
    print(stages);
  if (!tool::flushOutput()) throw Error(ErrorCode::IoError, "cannot write to standard output");
}

}  // namespace

int runJob(const std::vector<std::string>& arguments) {
  return tool::runProgram<Options>("fattn-dump", parseCommandLine(arguments), "choose a smaller program",
                                   [](const Options& options, tool::Progress& progress) {
                                     execute(options, progress);
                                     return static_cast<int>(tool::kOk);
                                   });
}

}  // namespace fattn::dump
