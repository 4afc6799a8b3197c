// SPDX-License-Identifier: Apache-2.0
// The programs of this folder: tile programs that a GPU once computed wrongly, each named after what broke, with the data they run on.
//
// Attributes of a program's arguments say what they are: `tile.size` the number of elements of an array of its own, filled by a generator;
// `tile.same` the number of another argument that is the same memory; `tile.value` an integer.
#ifndef FATTN_TESTS_REGRESSIONS_REGRESSION_H
#define FATTN_TESTS_REGRESSIONS_REGRESSION_H

#include <optional>

#include "compiler/interpreter/Interpreter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tests/generator/Generator.h"

namespace fattn::regressions {

/// The names of all programs, sorted.
std::vector<std::string> names();

class Regression {
 public:
  /// Reads the program of that name. Throws fattn::Error where an argument does not say what it is.
  Regression(const std::string& name, mlir::MLIRContext& context);
  /// The program of a text, called `name` in errors.
  static Regression parse(const std::string& text, const std::string& name, mlir::MLIRContext& context);

  mlir::ModuleOp module() { return *module_; }
  interpreter::Grid grid() const { return {1, 1, 1}; }
  /// One array for each of the program's own, and for each argument its array (or none) and the integer.
  struct Argument {
    std::optional<size_t> array;
    int64_t integer = 0;
  };
  const std::vector<generator::Array>& arrays() const { return arrays_; }
  const std::vector<Argument>& arguments() const { return arguments_; }

  /// Arguments for an interpreter, whose arrays are in `memory`.
  std::vector<interpreter::Argument> bind(std::vector<generator::Array>& memory) const;
  /// What the interpreter of `tile` makes of the arrays, with a tolerance of a fiftieth of the greatest number of each.
  std::vector<generator::Array> expected();
  /// As a random program is, with those tolerances, for whoever runs such. Nothing is left here.
  generator::Program take();
  /// The first difference, as a sentence that names the array; empty where there is none.
  static std::string compare(const std::vector<generator::Array>& expected, const std::vector<generator::Array>& actual);

 private:
  Regression(mlir::OwningOpRef<mlir::ModuleOp> module, const std::string& name);

  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp kernel_;
  std::vector<generator::Array> arrays_;
  std::vector<Argument> arguments_;
};

}  // namespace fattn::regressions

#endif
