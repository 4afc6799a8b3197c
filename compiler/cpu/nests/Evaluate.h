// SPDX-License-Identifier: Apache-2.0
// The value of a tile at one point of a loop nest: read where the tile has memory, else computed there and then.
#ifndef FATTN_COMPILER_CPU_NESTS_EVALUATE_H
#define FATTN_COMPILER_CPU_NESTS_EVALUATE_H

#include "compiler/cpu/builder/View.h"
#include "mlir/IR/Operation.h"

namespace fattn::cpu {

struct Emission;
class HostBuilder;

/// A vector if the value varies along the lanes, else a scalar.
mlir::Value eval(Emission& e, mlir::Value value, const Point& p);
/// The same, always as many elements as the point has.
mlir::Value evalVector(Emission& e, mlir::Value value, const Point& p);
/// An operation of the tile dialect that says where elements come from (ShapeOps.cpp). `value`: which of its results.
mlir::Value evalShapeOp(Emission& e, mlir::Operation* op, mlir::Value value, const Point& p);
/// An elementwise operation on `width` elements (Pointwise.cpp).
mlir::Value pointwise(HostBuilder& b, mlir::Operation* op, mlir::ValueRange operands, int64_t width);

}  // namespace fattn::cpu

#endif
