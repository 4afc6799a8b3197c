// SPDX-License-Identifier: Apache-2.0
// A tile program through the passes up to barriers, and the adversary on what comes out, compared with the tile program's own meaning.
#ifndef FATTN_TESTS_ADVERSARY_CHECKPROGRAM_H
#define FATTN_TESTS_ADVERSARY_CHECKPROGRAM_H

#include "compiler/gpu/interpreter/Adversary.h"
#include "compiler/nvidia/Passes.h"
#include "tests/generator/Draw.h"

namespace fattn::adversary {

/// The module's kernel with waits, barriers and places in shared memory. Where the compiler refuses it: nothing, and why.
struct BlockProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string refused;
};
BlockProgram compileForBlock(mlir::ModuleOp module, const nvidia::PipelineOptions& options);

/// A tile program and the data it runs on.
struct TileProgram {
  using Arguments = std::vector<std::variant<generator::Array, int64_t, double>>;

  TileProgram() = default;
  TileProgram(generator::Program program);  // NOLINT(google-explicit-constructor): a random program is one

  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string entry;  ///< name of the kernel
  Arguments arguments;
  interpreter::Grid grid = {1, 1, 1};
};

/// A tile program, and what it must make of its data.
class Reference {
 public:
  /// Runs the program with the interpreter of `tile`.
  explicit Reference(TileProgram program);

  const TileProgram& program() const { return program_; }
  /// What is wrong with a kernel that was compiled from the program.
  std::vector<Fault> check(mlir::ModuleOp block, Options options = {}) const;

 private:
  TileProgram program_;
  TileProgram::Arguments expected_;
};

/// "file.mlir:3:5: ..." a line, for messages of tests.
std::string textOf(const std::vector<Fault>& faults);

}  // namespace fattn::adversary

#endif
