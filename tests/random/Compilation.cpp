// SPDX-License-Identifier: Apache-2.0
#include "tests/random/Compilation.h"

#include "compiler/driver/Compile.h"
#include "fattn/Error.h"
#include "tests/support/Context.h"

using namespace mlir;

namespace fattn::random {

Compilation compileDraw(generator::Draw& draw, const MakeProgram& make, const std::string& keepAfter) {
  for (;;) {
    Compilation result;
    result.context = test::makeContext();
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

}  // namespace fattn::random
