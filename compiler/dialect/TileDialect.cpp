// SPDX-License-Identifier: Apache-2.0
// Registration, types and type predicates of the `tile` dialect.
#include "compiler/dialect/Tile.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;

#include "compiler/dialect/TileDialect.cpp.inc"
#include "compiler/dialect/TileEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/dialect/TileTypes.cpp.inc"

namespace fattn::tile {

bool isStorageType(Type type) {
  if (type.isSignlessInteger()) return llvm::is_contained({1u, 8u, 16u, 32u, 64u}, type.getIntOrFloatBitWidth());
  return isa<Float8E4M3FNType, Float8E5M2Type, Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

/// Whether every dimension is at least 1 and the number of elements fits an i32.
static bool isTileShape(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 1 || __builtin_mul_overflow(count, size, &count) || count > INT32_MAX) return false;
  return true;
}

bool isTile(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isTileShape(tensor.getShape()) &&
         (tensor.getElementType().isIntOrIndexOrFloat() || isa<PtrType>(tensor.getElementType()));
}

Value unspread(Value tile) {
  while (Operation* op = tile.getDefiningOp()) {
    if (!isa<BroadcastOp, ExpandDimsOp>(op)) break;
    tile = op->getOperand(0);
  }
  return tile;
}

bool isPtrLike(Type type) { return isa<PtrType>(getElementTypeOrSelf(type)) && (isa<PtrType>(type) || isTile(type)); }

ArrayRef<int64_t> getShapeOrScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getShape() : ArrayRef<int64_t>();
}

static constexpr llvm::StringLiteral kStorageTypes = "f8E4M3FN, f8E5M2, f16, bf16, f32, f64, i1, i8, i16, i32, i64";

LogicalResult PtrType::verify(function_ref<InFlightDiagnostic()> emitError, Type pointee) {
  if (isStorageType(pointee)) return success();
  return emitError() << "a pointer points at one of " << kStorageTypes << ", but got " << pointee;
}

LogicalResult BlockPtrType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, Type elementType) {
  if (!isStorageType(elementType))
    return emitError() << "a block pointer's elements are one of " << kStorageTypes << ", but got " << elementType;
  if (shape.empty()) return emitError() << "a block pointer has at least one dimension, but got none";
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size < 1) return emitError() << "a block pointer's dimensions are at least 1, but dim " << dim << " is " << size;
  if (!isTileShape(shape)) return emitError() << "a block pointer's tile has at most 2147483647 elements";
  return success();
}

RankedTensorType BlockPtrType::getTileType() const { return RankedTensorType::get(getShape(), getElementType()); }

Type BlockPtrType::parse(AsmParser& parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(elementType) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<BlockPtrType>(parser.getContext(), shape, elementType);
}

void BlockPtrType::print(AsmPrinter& printer) const {
  printer << "<";
  for (int64_t size : getShape()) printer << size << "x";
  printer << getElementType() << ">";
}

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/dialect/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialect/TileOps.cpp.inc"
      >();
}

Operation* TileDialect::materializeConstant(OpBuilder& builder, Attribute value, Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

DType dtypeOf(Type type) {
  if (type.isF32()) return DType::F32;
  if (type.isF16()) return DType::F16;
  if (type.isBF16()) return DType::BF16;
  if (isa<Float8E4M3FNType>(type)) return DType::F8E4M3;
  if (isa<Float8E5M2Type>(type)) return DType::F8E5M2;
  if (type.isInteger(1)) return DType::I1;
  if (type.isInteger(8)) return DType::I8;
  if (type.isInteger(64)) return DType::I64;
  return DType::I32;
}

void registerTileDialects(DialectRegistry& registry) {
  registry.insert<TileDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect, scf::SCFDialect, ub::UBDialect>();
}

}  // namespace fattn::tile
