// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-dump/Stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/dialect/Tile.h"
#include "compiler/driver/Compile.h"
#include "compiler/driver/StageDump.h"
#include "dsl/Internal.h"
#include "fattn/Error.h"
#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/template/Instance.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "runtime/cache/Settings.h"
#include "tools/fattn-dump/Loop.h"
#include "tools/fattn-dump/RoleTrace.h"
#include "tools/fattn-dump/Sources.h"
#include "tools/fattn-dump/Time.h"
#include "tools/io/MlirText.h"

namespace fattn::dump {
namespace {

/// A module and what it lives in.
struct Input {
  std::optional<dsl::Program> program;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> parsed;
  mlir::ModuleOp module() { return program ? dsl::internal::module(*program) : *parsed; }
};

kernels::ResolvedAttention resolvedOf(const Options& options) {
  AttentionConfig config{.dtype = options.dtype, .head_dim = options.headDim, .head_dim_v = options.headDimV, .causal = options.causal};
  if (options.config != TileConfig{}) config.tile = options.config;
  config.target = "host";
  kernels::requireSupported(config);  // of everything but the target, whose device need not be here
  config.target = options.target;
  return kernels::resolve(config);
}

Input trace(const kernels::ResolvedAttention& resolved) {
  Input input;
  input.program.emplace(traceAttentionForward(resolved.kind, resolved.tile));
  return input;
}

std::string titleOf(const kernels::ForwardKind& kind) {
  std::string title = fmt::format("attention_forward, {}, head dimension {}", name(kind.dtype), kind.head_dim);
  if (kind.head_dim_v != kind.head_dim) title += fmt::format(" and {}", kind.head_dim_v);
  return kind.causal ? title + ", causal" : title;
}

Input parse(const std::string& file) {
  const std::string text = io::readMlir(file);
  Input input;
  mlir::DialectRegistry registry;
  compiler::registerCompilerDialects(registry);
  input.context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  std::string found;
  mlir::ScopedDiagnosticHandler handler(input.context.get(), [&](mlir::Diagnostic& diagnostic) {
    if (!found.empty()) return;
    if (auto place = mlir::dyn_cast<mlir::FileLineColLoc>(diagnostic.getLocation()))
      found = fmt::format("{}:{}:{}: ", place.getFilename().str(), place.getLine(), place.getColumn());
    found += diagnostic.str();
  });
  input.parsed = mlir::parseSourceString<mlir::ModuleOp>(text, input.context.get(), file);
  if (!input.parsed) throw Error(ErrorCode::CompileError, found.empty() ? fmt::format("'{}' is no module", file) : found);
  return input;
}

/// The sources that the stage's lines name, one after the other.
Stage sourceStage(const Stage& tile) {
  std::set<std::string> files;
  for (const auto& places : tile.lines)
    for (const SourceLine& place : places) files.insert(place.file);
  Stage stage{"dsl", "cpp", "", {}};
  for (const std::string& file : files) {
    std::optional<std::string> text = sourceText(file);
    if (files.size() > 1 || !text) {
      stage.text += fmt::format("// {}{}\n", file, text ? "" : ": the text is not at hand");
      stage.lines.emplace_back();
    }
    if (!text) continue;
    if (!text->ends_with('\n')) *text += '\n';
    stage.text += *text;
    for (unsigned line = 1, count = std::ranges::count(*text, '\n'); line <= count; ++line) stage.lines.push_back({{file, line}});
  }
  if (files.size() == 1 && files.begin()->ends_with(".mlir")) stage.extension = "mlir";
  return stage;
}

/// Whether the printed module has operations of a dialect; names of attributes do not count.
bool hasOperations(const std::string& text, std::string_view dialect) {
  for (std::size_t at = text.find(dialect); at != std::string::npos; at = text.find(dialect, at + 1)) {
    const std::size_t word = text.find_last_not_of(' ', at == 0 ? 0 : at - 1);
    if (at > 0 && text[at - 1] == ' ' && (text[word] == '=' || text[word] == '\n')) return true;
  }
  return false;
}

std::vector<std::string> undividedArguments(mlir::ModuleOp module) {
  std::vector<std::string> names;
  for (auto func : module.getOps<mlir::func::FuncOp>()) {
    if (!func->hasAttr("tile.kernel")) continue;
    for (unsigned i = 0; i < func.getNumArguments(); ++i) {
      const bool counts = mlir::isa<tile::PtrType>(func.getArgument(i).getType()) || func.getArgument(i).getType().isInteger(64);
      auto name = func.getArgAttrOfType<mlir::StringAttr>(i, "tile.name");
      if (counts && !func.getArgAttr(i, "tile.divisibility")) names.push_back(name ? name.str() : fmt::format("argument {}", i));
    }
  }
  return names;
}

bool needsCompiler(const Options& options) {
  return options.html || options.remarks || options.allPasses || !options.after.empty() ||
         std::ranges::any_of(options.emit, [](Kind kind) { return kind > Kind::Tile; });
}

}  // namespace

const Stage* Compilation::find(Kind kind) const {
  const auto last = [&](auto&& matches) {
    const auto found = std::find_if(stages.rbegin(), stages.rend(), matches);
    return found == stages.rend() ? nullptr : &*found;
  };
  const auto extension = [&](const char* wanted) { return last([=](const Stage& stage) { return stage.extension == wanted; }); };
  switch (kind) {
    case Kind::Dsl:
      return last([](const Stage& stage) { return stage.name == "dsl"; });
    case Kind::Tile:
      return last([](const Stage& stage) { return stage.name == "tile"; });
    case Kind::TileGpu:
      return last([](const Stage& stage) { return stage.extension == "mlir" && hasOperations(stage.text, "tilegpu."); });
    case Kind::Schedule:
      return last([](const Stage& stage) { return stage.name == kScheduleStage; });
    case Kind::Llvm:
      return extension("ll");
    case Kind::Ptx:
      return extension("ptx");
    case Kind::Asm:
    case Kind::Gcn:
      return extension("s");
    case Kind::Obj:
      return last([](const Stage& stage) { return stage.extension == "o" || stage.extension == "cubin" || stage.extension == "hsaco"; });
    case Kind::Mix:
      return last([](const Stage& stage) { return stage.name == kMixStage; });
    case Kind::Time:
      return last([](const Stage& stage) { return stage.name == kTimeStage; });
    case Kind::Sass:
      break;
  }
  return nullptr;
}

Compilation compileStages(const Options& options) {
  Compilation result;
  compileStages(options, result);
  return result;
}

void compileStages(const Options& options, Compilation& result) {
  Input input;
  if (!options.fromTemplate.empty()) {
    const auto from = findTemplate(options.fromTemplate);
    const kernels::Instance instance(*from, parseParameters(*from, options.parameters), options.target);
    result.title = instance.names.text;
    result.config = options.config.withDefaults(instance.safe);
    instance.requireTile(result.config);
    input.program.emplace(instance.trace(result.config));
  } else if (options.file.empty()) {
    const kernels::ResolvedAttention resolved = resolvedOf(options);
    result.title = titleOf(resolved.kind);
    result.config = resolved.tile;
    input = trace(resolved);
  } else {
    result.title = options.file;
    result.config = options.config;
    input = parse(options.file);
  }
  const std::string measured = options.trace.empty() ? "" : drawRoleTrace(readRoleTrace(options.trace));
  const auto keep = [&](Stage stage) {
    if (result.stages.empty()) result.stages.push_back(sourceStage(stage));
    const bool scheduled = stage.name == "tilegpu-schedule-loops";
    result.stages.push_back(std::move(stage));
    if (scheduled) result.stages.push_back(scheduleStage(result.loops, measured));
  };
  if (!needsCompiler(options)) {
    compiler::StageDump("", keep).write("tile.mlir", input.module());
    return;
  }
  compiler::CompileOptions compile;
  compile.watchdog = cache::watchdogMilliseconds();
  compile.marks = !cache::traceFolder().empty();
  compile.target = options.target;
  compile.config = result.config;
  compile.lineTables = options.lineTables || options.html || options.remarks;
  compile.onStage = keep;
  compile.onLoop = [&](gpu::ScheduledLoop loop) { result.loops.push_back(std::move(loop)); };
  result.undivided = undividedArguments(input.module());
  result.binary = compiler::compile(input.module(), compile);
}

}  // namespace fattn::dump
