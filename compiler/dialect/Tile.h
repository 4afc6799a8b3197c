// SPDX-License-Identifier: Apache-2.0
// The `tile` dialect's C++ face: dialect, types and operations.
#ifndef FATTN_COMPILER_DIALECT_TILE_H
#define FATTN_COMPILER_DIALECT_TILE_H

#include "compiler/dialect/TileTraits.h"
#include "fattn/DType.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fattn::tile {

/// True for a ranked tensor of static shape, every dimension at least 1 and the number of elements an i32, whose elements are scalars or
/// `!tile.ptr`. The encoding may be any: where a tile lives is a later dialect's matter.
bool isTile(mlir::Type type);
/// A tile that is spread along dimensions, without that.
mlir::Value unspread(mlir::Value tile);
/// True for the types that memory can hold: f8E4M3FN, f8E5M2, f16, bf16, f32, f64, i1, i8, i16, i32, i64.
bool isStorageType(mlir::Type type);
/// The shape of a tile; empty for a scalar (and for a tile of rank 0).
llvm::ArrayRef<int64_t> getShapeOrScalar(mlir::Type type);
/// True for `!tile.ptr<T>` and for a tile of them.
bool isPtrLike(mlir::Type type);

}  // namespace fattn::tile

#include "compiler/dialect/TileDialect.h.inc"
#include "compiler/dialect/TileEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/dialect/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "compiler/dialect/TileOps.h.inc"

namespace fattn::tile {

/// The element type's name in fattn's interfaces. Integers of other widths than 1, 8 and 64 count as i32.
DType dtypeOf(mlir::Type element);

/// Registers every dialect a tile program may hold (tile, func, arith, math, scf, ub).
void registerTileDialects(mlir::DialectRegistry& registry);

/// On a kernel: a hint how many of its programs a multiprocessor of a GPU should hold at once, an i32 from 1.
inline constexpr llvm::StringLiteral kResidentAttr = "tile.resident";

/// On a kernel: a hint that it should start while the kernel in front of it in its stream still runs, and wait for that one by itself.
/// Behind -nvidia-mark-kernels it is a fact.
inline constexpr llvm::StringLiteral kOverlapsAttr = "tile.overlaps";

/// On a kernel that overlaps: the kernel behind it may start before this one has waited for the kernel in front.
inline constexpr llvm::StringLiteral kRelaysAttr = "tile.relays";

/// On an arith.truncf: the author's promise that every element is of a magnitude below 2^100. What becomes of others and of NaN does not
/// matter; ties and what is below 2^-126 may be rounded either way.
inline constexpr llvm::StringLiteral kModerateAttr = "tile.moderate";

/// On an arith.select: the author's promise that a trip of the loop around it changes nothing that matters in what the loop carries for a
/// row (an index of the first dimension) all of whose elements are the select's false value. Such a trip may be left out for the row.
inline constexpr llvm::StringLiteral kSkippableAttr = "tile.skippable";

}  // namespace fattn::tile

#endif
