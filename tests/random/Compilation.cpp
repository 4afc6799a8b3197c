// SPDX-License-Identifier: Apache-2.0
#include "tests/random/Compilation.h"

#include "compiler/dialect/Tile.h"
#include "compiler/driver/Compile.h"
#include "compiler/interpreter/Interpreter.h"
#include "fattn/Error.h"
#include "tests/regressions/Regression.h"

using namespace mlir;

namespace fattn::random {

std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  tile::registerTileDialects(registry);
  compiler::registerCompilerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

Compilation compileDraw(generator::Draw& draw, const MakeProgram& make, const std::string& keepAfter) {
  for (;;) {
    Compilation result;
    result.context = makeContext();
    result.program = make(*result.context, draw);
    compiler::CompileOptions options;
    options.target = draw.target;
    options.config = draw.config();
    options.schedule = draw.schedule;
    options.verify = true;
    if (!keepAfter.empty())
      options.onModule = [&](std::string_view pass, ModuleOp module) {
        if (pass == keepAfter) result.kept = module.clone();
      };
    try {
      result.binary = compiler::compile(*result.program.module, options);
      return result;
    } catch (const Error& error) {
      if (!draw.fitSchedule(error.what())) throw;
    }
  }
}

void interpret(generator::Program& program) {
  std::vector<interpreter::Argument> arguments;
  for (size_t i = 0; i < program.arguments.size(); ++i) {
    auto* array = std::get_if<generator::Array>(&program.arguments[i]);
    if (auto same = regressions::sameAs(program, i))
      arguments.push_back(arguments.at(*same));
    else if (array)
      arguments.emplace_back(interpreter::Buffer{array->bytes.data(), static_cast<int64_t>(array->bytes.size())});
    else
      arguments.emplace_back(std::get<int64_t>(program.arguments[i]));
  }
  interpreter::run(program.module->lookupSymbol<func::FuncOp>(program.entry), arguments, program.grid);
}

}  // namespace fattn::random
