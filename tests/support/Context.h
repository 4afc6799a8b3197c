// SPDX-License-Identifier: Apache-2.0
// What tests read programs into. Whoever includes this links fattn_driver.
#ifndef FATTN_TESTS_SUPPORT_CONTEXT_H
#define FATTN_TESTS_SUPPORT_CONTEXT_H

#include <memory>

#include "compiler/driver/Compile.h"
#include "mlir/IR/MLIRContext.h"

namespace fattn::test {

/// A context with all dialects of programs and of the compiler, loaded, and without threads of its own.
inline std::unique_ptr<mlir::MLIRContext> makeContext() {
  mlir::DialectRegistry registry;
  compiler::registerCompilerDialects(registry);
  auto context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

}  // namespace fattn::test

#endif
