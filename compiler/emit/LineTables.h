// SPDX-License-Identifier: Apache-2.0
// Locations of operations to debug information, from which LLVM writes line tables.
#ifndef FATTN_COMPILER_EMIT_LINETABLES_H
#define FATTN_COMPILER_EMIT_LINETABLES_H

#include <string>

#include "mlir/IR/BuiltinOps.h"

namespace fattn::emit {

/// Sections: what a debugger of a host object reads. Directives: `.file` and `.loc` lines only, which is what an assembler of PTX wants.
enum class LineTables { Sections, Directives };

/// Before translate(): gives every function of the LLVM dialect a scope, and every operation in it the one source line it stands for (of
/// several, the first). Operations without a location stay without one. The code does not change.
void attachLineTables(mlir::ModuleOp module, LineTables kind, const std::string& producer);

}  // namespace fattn::emit

#endif
