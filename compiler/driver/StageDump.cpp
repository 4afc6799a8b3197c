// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/StageDump.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "compiler/dialect/SourceLines.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Pass/Pass.h"
#include "runtime/base/AtomicFile.h"
#include "runtime/base/Log.h"

using namespace mlir;

namespace fattn::compiler {
namespace {

/// Which source lines each line of the printed module comes from.
std::vector<std::vector<SourceLine>> sourcesOf(ModuleOp module, const AsmState::LocationMap& printed, size_t lines) {
  std::vector<std::vector<SourceLine>> sources(lines);
  module->walk([&](Operation* op) {
    if (op == module) return;
    auto at = printed.find(op);
    if (at != printed.end() && at->second.first >= 1 && at->second.first <= lines)
      addSourceLines(op->getLoc(), sources[at->second.first - 1]);
  });
  for (auto& each : sources) sortSourceLines(each);
  return sources;
}

}  // namespace

void StageDump::write(Stage stage) {
  if (!dir.empty()) {
    std::error_code ignored;
    std::filesystem::create_directories(dir, ignored);
    std::string file = llvm::formatv("{0,0+2}-{1}.{2}", count++, stage.name, stage.extension).str();
    if (int error = writeAtomically(AT_FDCWD, dir + "/" + file, stage.text, 0666, /*durable=*/false); error != 0 && !warned) {
      log::write(log::Level::Warning,
                 "the stages of a compilation cannot be written into " + dir + ": " + std::generic_category().message(error));
      warned = true;
    }
  }
  if (!sink || thrown) return;
  try {
    sink(std::move(stage));
  } catch (...) {
    thrown = std::current_exception();
  }
}

void StageDump::write(const std::string& name, const std::string& text) {
  if (!on()) return;
  std::filesystem::path path(name);
  std::string extension = path.extension().string();
  write(Stage{path.stem().string(), extension.empty() ? "" : extension.substr(1), text, {}});
}

void StageDump::write(const std::string& name, ModuleOp module) {
  if (!on()) return;
  Stage stage{std::filesystem::path(name).stem().string(), "mlir", "", {}};
  llvm::raw_string_ostream out(stage.text);
  AsmState::LocationMap printed;
  AsmState state(module, OpPrintingFlags(), sink ? &printed : nullptr);
  module->print(out, state);
  out << "\n";
  if (sink) stage.lines = sourcesOf(module, printed, std::ranges::count(stage.text, '\n'));
  write(std::move(stage));
}

namespace {

struct AfterEveryPass : PassInstrumentation {
  explicit AfterEveryPass(PassSink sink) : sink(std::move(sink)) {}
  void runAfterPass(Pass* pass, Operation* op) override { hand(pass, op, true); }
  void runAfterPassFailed(Pass* pass, Operation* op) override { hand(pass, op, false); }
  /// Passes without an argument are MLIR's own, which only run others. What a pass tries is in a module of its own, inside of the
  /// program's.
  void hand(Pass* pass, Operation* op, bool worked) {
    auto module = dyn_cast<ModuleOp>(op);
    if (!module) module = op->getParentOfType<ModuleOp>();
    if (module && !module->getParentOp() && !pass->getArgument().empty()) sink(pass, module, worked);
  }
  PassSink sink;
};

}  // namespace

std::unique_ptr<PassInstrumentation> afterEveryPass(PassSink sink) { return std::make_unique<AfterEveryPass>(std::move(sink)); }

std::unique_ptr<PassInstrumentation> StageDump::instrumentation() {
  return afterEveryPass(
      [this](Pass* pass, ModuleOp module, bool worked) { write(pass->getArgument().str() + (worked ? "" : "-failed") + ".mlir", module); });
}

}  // namespace fattn::compiler
