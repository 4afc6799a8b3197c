// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/Launch.h"

#include "compiler/interpreter/Interpreter.h"
#include "dsl/Internal.h"
#include "fattn/Error.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fattn::examples {
namespace {

void interpret(const dsl::Program& program, std::array<std::int32_t, 3> grid, const std::vector<Argument>& arguments) {
  std::vector<interpreter::Argument> list;
  for (const Argument& argument : arguments) {
    if (const auto* matrix = std::get_if<Matrix*>(&argument))
      list.emplace_back(interpreter::Buffer{(*matrix)->data(), (*matrix)->size()});
    else if (const auto* integer = std::get_if<std::int64_t>(&argument))
      list.emplace_back(*integer);
    else
      list.emplace_back(std::get<double>(argument));
  }
  interpreter::run(*dsl::internal::module(program).getOps<mlir::func::FuncOp>().begin(), list, grid);
}

}  // namespace

void launch(const dsl::Program& program, [[maybe_unused]] Backend backend, std::array<std::int32_t, 3> grid,
            const std::vector<Argument>& arguments) {
  if (arguments.size() != program.args().size()) throw Error(ErrorCode::InvalidArgument, "as many arguments as parameters are needed");
  interpret(program, grid, arguments);
}

}  // namespace fattn::examples
