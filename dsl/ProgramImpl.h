// SPDX-License-Identifier: Apache-2.0
// What a recorded program holds.
#ifndef FATTN_DSL_PROGRAMIMPL_H
#define FATTN_DSL_PROGRAMIMPL_H

#include <memory>
#include <string>
#include <vector>

#include "fattn/dsl/Trace.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace fattn::dsl {

struct Program::Impl {
  std::unique_ptr<mlir::MLIRContext> own;  // absent where the caller lent a context; declared first, so destroyed last
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string name;
  std::vector<Param> params;
};

namespace internal {

/// The dialects that a recorded program is made of.
void loadDialects(mlir::MLIRContext& context);

}  // namespace internal
}  // namespace fattn::dsl

#endif
