// SPDX-License-Identifier: Apache-2.0
// What the compiler's users inside this repository need of a traced program, in MLIR's terms. Not installed.
#ifndef FATTN_DSL_INTERNAL_H
#define FATTN_DSL_INTERNAL_H

#include "fattn/dsl/Trace.h"
#include "mlir/IR/BuiltinOps.h"

namespace fattn::dsl::internal {

/// The module that holds the program's one function. Lives as long as the program.
mlir::ModuleOp module(const Program& program);

/// trace() into a context of the caller's, which must outlive the program and have threading switched off or be used by no
/// other thread meanwhile.
Program traceInto(mlir::MLIRContext& context, std::string_view name, const std::function<void(Params&)>& kernel, Loc loc = Loc::current());

/// The same program in the same context, which the first one keeps alive.
Program copy(const Program& program);

}  // namespace fattn::dsl::internal

#endif
