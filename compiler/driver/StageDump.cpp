// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/StageDump.h"

#include <filesystem>
#include <fstream>

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace fattn::compiler {

void StageDump::write(const std::string& name, const std::string& text) {
  if (!on()) return;
  std::error_code ignored;
  std::filesystem::create_directories(dir, ignored);
  std::string file = llvm::formatv("{0,0+2}-{1}", count++, name).str();
  std::ofstream(std::filesystem::path(dir) / file, std::ios::binary) << text;
}

void StageDump::write(const std::string& name, ModuleOp module) {
  if (!on()) return;
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out);
  write(name, text);
}

namespace {

struct AfterEveryPass : PassInstrumentation {
  explicit AfterEveryPass(StageDump& dump) : dump(dump) {}
  void runAfterPass(Pass* pass, Operation* op) override {
    if (auto module = dyn_cast<ModuleOp>(op)) dump.write(pass->getArgument().str() + ".mlir", module);
  }
  void runAfterPassFailed(Pass* pass, Operation* op) override {
    if (auto module = dyn_cast<ModuleOp>(op)) dump.write(pass->getArgument().str() + "-failed.mlir", module);
  }
  StageDump& dump;
};

}  // namespace

std::unique_ptr<PassInstrumentation> StageDump::instrumentation() { return std::make_unique<AfterEveryPass>(*this); }

}  // namespace fattn::compiler
