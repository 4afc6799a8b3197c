// SPDX-License-Identifier: Apache-2.0
// Writes the stages of a compilation into a folder, numbered in order.
#ifndef FATTN_COMPILER_DRIVER_STAGEDUMP_H
#define FATTN_COMPILER_DRIVER_STAGEDUMP_H

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"

namespace fattn::compiler {

/// Does nothing if `dir` is empty. A folder that cannot be written never fails a compilation.
class StageDump {
 public:
  explicit StageDump(std::string dir) : dir(std::move(dir)) {}
  bool on() const { return !dir.empty(); }
  void write(const std::string& name, const std::string& text);
  void write(const std::string& name, mlir::ModuleOp module);
  /// Writes the module after every pass.
  std::unique_ptr<mlir::PassInstrumentation> instrumentation();

 private:
  std::string dir;
  int count = 0;
};

}  // namespace fattn::compiler

#endif
