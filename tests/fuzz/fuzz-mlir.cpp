// SPDX-License-Identifier: Apache-2.0
// Fuzzes the way a .mlir file takes into the project: any text is parsed and verified or refused with a diagnostic, and what was accepted
// is interpreted within tight limits, or refused with a fattn::Error. No access leaves the buffers (the address sanitizer watches).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>

#include "compiler/dialect/Tile.h"
#include "compiler/interpreter/Interpreter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

namespace {

/// MLIR's parser and printer recurse into nested types and regions and do not bound their depth.
bool nestsDeeply(llvm::StringRef text) {
  int depth = 0, deepest = 0;
  for (char c : text) {
    if (llvm::StringRef("{([<").contains(c)) deepest = std::max(deepest, ++depth);
    if (llvm::StringRef("})]>").contains(c)) --depth;
  }
  return deepest > 40;
}

void interpret(mlir::func::FuncOp function) {
  std::list<std::string> memory;
  std::vector<fattn::interpreter::Argument> arguments;
  for (mlir::Type type : function.getArgumentTypes()) {
    if (mlir::isa<fattn::tile::PtrType>(type)) {
      std::string& bytes = memory.emplace_back(256, '\1');
      arguments.emplace_back(fattn::interpreter::Buffer{bytes.data(), static_cast<int64_t>(bytes.size())});
    } else if (mlir::isa<mlir::FloatType>(type)) {
      arguments.emplace_back(0.75);
    } else {
      arguments.emplace_back(int64_t{5});
    }
  }
  fattn::interpreter::Options options;
  options.maxSteps = 20000;
  options.print = [](const std::string&) {};
  try {
    fattn::interpreter::run(function, arguments, {2, 1, 1}, options);
  } catch (const fattn::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // MLIR's lexer reads up to a terminating zero, which a std::string has and the fuzzer's bytes have not.
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (size > 8192 || nestsDeeply(text)) return 0;
  static mlir::DialectRegistry* registry = [] {
    auto* made = new mlir::DialectRegistry;
    fattn::tile::registerTileDialects(*made);
    return made;
  }();
  mlir::MLIRContext context(*registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic&) { return mlir::success(); });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "fuzz.mlir");
  if (!module) return 0;
  for (auto function : module->getOps<mlir::func::FuncOp>()) interpret(function);
  return 0;
}
