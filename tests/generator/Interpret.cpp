// SPDX-License-Identifier: Apache-2.0
#include "tests/generator/Interpret.h"

using namespace mlir;

namespace fattn::generator {

void interpret(Program& program, const interpreter::Options& options) {
  std::vector<interpreter::Argument> arguments;
  for (size_t i = 0; i < program.arguments.size(); ++i) {
    auto* array = std::get_if<Array>(&program.arguments[i]);
    if (auto same = sameAs(program, i))
      arguments.push_back(arguments.at(*same));
    else if (array)
      arguments.emplace_back(interpreter::Buffer{array->bytes.data(), static_cast<int64_t>(array->bytes.size())});
    else
      arguments.emplace_back(std::get<int64_t>(program.arguments[i]));
  }
  interpreter::run(program.module->lookupSymbol<func::FuncOp>(program.entry), arguments, program.grid, options);
}

}  // namespace fattn::generator
