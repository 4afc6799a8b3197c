// SPDX-License-Identifier: Apache-2.0
// Hands the stages of a compilation to whoever wants to see them: files in a folder, numbered in order, and a function.
#ifndef FATTN_COMPILER_DRIVER_STAGEDUMP_H
#define FATTN_COMPILER_DRIVER_STAGEDUMP_H

#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "compiler/driver/Stage.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"

namespace fattn::compiler {

/// Is handed the module after a pass, and whether the pass succeeded.
using PassSink = std::function<void(mlir::Pass* pass, mlir::ModuleOp module, bool worked)>;
/// Calls it after every pass. The context must not run passes on several threads.
std::unique_ptr<mlir::PassInstrumentation> afterEveryPass(PassSink sink);

/// Does nothing if `dir` and `sink` are empty. A folder that cannot be written never fails a compilation. What the sink throws waits until
/// rethrow(), as stages are handed out between the frames of MLIR's pass manager, which is compiled without exceptions; after that the sink
/// gets no more stages.
class StageDump {
 public:
  explicit StageDump(std::string dir, StageSink sink = {}) : dir(std::move(dir)), sink(std::move(sink)) {}
  bool on() const { return !dir.empty() || sink; }
  /// `name` ends in the extension: "optimized.ll".
  void write(const std::string& name, const std::string& text);
  void write(const std::string& name, mlir::ModuleOp module);
  /// Throws what the sink threw, if it did.
  void rethrow() const {
    if (thrown) std::rethrow_exception(thrown);
  }
  /// Writes the module after every pass. The context must not run passes on several threads.
  std::unique_ptr<mlir::PassInstrumentation> instrumentation();

 private:
  void write(Stage stage);

  std::string dir;
  StageSink sink;
  std::exception_ptr thrown;
  int count = 0;
  bool warned = false;
};

}  // namespace fattn::compiler

#endif
