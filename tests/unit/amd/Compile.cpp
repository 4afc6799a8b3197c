// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/amd/Compile.h"

#include <fstream>
#include <iterator>

#include "compiler/driver/Compile.h"
#include "fattn/Error.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

namespace fattn::test {

compiler::Binary compileText(const std::string& text, const std::string& target, const TileConfig& tile) {
  mlir::DialectRegistry registry;
  compiler::registerCompilerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) throw Error(ErrorCode::InvalidArgument, "the test's kernel is no module");
  compiler::CompileOptions options;
  options.target = target;
  options.config = tile;
  options.verify = true;
  return compiler::compile(*module, options);
}

compiler::Binary compileKernel(const std::string& name, const std::string& target) {
  std::ifstream file(FATTN_KERNELS "/" + name + ".mlir");
  return compileText({std::istreambuf_iterator<char>(file), {}}, target);
}

}  // namespace fattn::test
