// SPDX-License-Identifier: Apache-2.0
// Pieces of diagnostics that the verifiers of the `tile` operations share.
#ifndef FATTN_COMPILER_DIALECT_VERIFY_H
#define FATTN_COMPILER_DIALECT_VERIFY_H

#include <string>

#include "mlir/IR/BuiltinTypes.h"

namespace fattn::tile {

/// "(4, 16)", "(4,)", "()".
std::string formatShape(llvm::ArrayRef<int64_t> shape);

/// True for the integers that count elements: at least 8 bits, or index.
inline bool isCountType(mlir::Type type) { return type.isIndex() || (type.isSignlessInteger() && type.getIntOrFloatBitWidth() >= 8); }

}  // namespace fattn::tile

#endif
