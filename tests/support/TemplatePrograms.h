// SPDX-License-Identifier: Apache-2.0
// Programs of templates for tests that run or compile them without the layer of kernels.
#ifndef FATTN_TESTS_SUPPORT_TEMPLATEPROGRAMS_H
#define FATTN_TESTS_SUPPORT_TEMPLATEPROGRAMS_H

#include <functional>
#include <string>
#include <vector>

#include "compiler/interpreter/Interpreter.h"
#include "fattn/Template.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fattn::test {

/// Runs a program on named arguments, wherever.
using RunProgram = std::function<void(const dsl::Program&, const std::vector<Argument>&, interpreter::Grid)>;

/// The template's parameters with those that are given.
Parameters completed(const KernelTemplate& from, const Parameters& given);
dsl::Program traced(const KernelTemplate& from, const Parameters& given, const TileConfig& tile);

/// What the named arguments are to a program, slot by slot.
std::vector<interpreter::Argument> bySlot(const dsl::Program& program, const std::vector<Argument>& arguments);

mlir::func::FuncOp functionOf(const dsl::Program& program);

/// The template with its default tile for a chip, verified after every pass; `boxes` as in compiler::CompileOptions.
std::string ptxOf(const KernelTemplate& from, const Parameters& given, const std::string& target, bool boxes = true);

}  // namespace fattn::test

#endif
