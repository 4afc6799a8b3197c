// SPDX-License-Identifier: Apache-2.0
// What shapes a binary, as text: two compilations with the same identity yield the same binary. Caches hash it.
#ifndef FATTN_COMPILER_DRIVER_IDENTITY_H
#define FATTN_COMPILER_DRIVER_IDENTITY_H

#include <string>
#include <string_view>

#include "compiler/driver/Compile.h"

namespace fattn::compiler {

/// The compiler's version: the library's, a hash of the compiler's sources, and LLVM's at run time.
const std::string& version();
/// The target and, where it means the machine at hand, what that is: "host (znver4; +avx2,...)". Throws for a target of the host that
/// there is not.
std::string targetIdentity(const std::string& target);
/// The module as text without source locations. Programs that compute the same may differ in it, equal programs do not.
std::string textOf(mlir::ModuleOp module);
/// Everything that shapes the binary compile() makes. Source locations are part of it only with line tables: they change
/// no code.
std::string identity(mlir::ModuleOp module, const CompileOptions& options);
/// The same of a module whose text is at hand: printing it takes as long as recording the program. Without line tables.
std::string identity(std::string_view text, const CompileOptions& options);

}  // namespace fattn::compiler

#endif
