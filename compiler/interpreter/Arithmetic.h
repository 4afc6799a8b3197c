// SPDX-License-Identifier: Apache-2.0
// What an operation of arith or math does with one element: the meaning that every interpreter of tiles shares.
#ifndef FATTN_COMPILER_INTERPRETER_ARITHMETIC_H
#define FATTN_COMPILER_INTERPRETER_ARITHMETIC_H

#include <functional>
#include <vector>

#include "compiler/interpreter/Number.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace fattn::interpreter {

/// An element of the result from the elements of the operands.
using ElementFunction = std::function<Element(const Element* operands)>;

/// Empty where `op` is no operation of arith or math that computes element by element from operands. The function throws fattn::Error
/// where the operation is undefined (division by zero).
ElementFunction elementFunction(mlir::Operation* op);

/// The numbers of a literal in row-major order; one for a scalar.
std::vector<Element> literal(mlir::arith::ConstantOp op);

}  // namespace fattn::interpreter

#endif
