// SPDX-License-Identifier: Apache-2.0
// One draw through the compiler.
#ifndef FATTN_TESTS_RANDOM_COMPILATION_H
#define FATTN_TESTS_RANDOM_COMPILATION_H

#include <functional>
#include <memory>
#include <string>

#include "runtime/base/Binary.h"
#include "tests/generator/Draw.h"

namespace fattn::random {

/// Makes the program of a draw; each call makes it anew.
using MakeProgram = std::function<generator::Program(mlir::MLIRContext&, const generator::Draw&)>;

struct Compilation {
  std::unique_ptr<mlir::MLIRContext> context;  ///< of the modules below
  generator::Program program;                  ///< with its arguments as they were; its module has been compiled
  compiler::Binary binary;
  /// The module as it was after the pass asked for; null where the pipeline has no such pass.
  mlir::OwningOpRef<mlir::ModuleOp> kept;
};

/// Compiles the program of a draw, verifying it after every pass. A rank of schedules that the program's loops do not have is taken modulo
/// their number, in `draw` too. Throws what compile() throws.
Compilation compileDraw(generator::Draw& draw, const MakeProgram& make, const std::string& keepAfter = "");

}  // namespace fattn::random

#endif
