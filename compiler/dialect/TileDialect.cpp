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

bool isTile(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && !tensor.getEncoding() &&
         (tensor.getElementType().isIntOrIndexOrFloat() || isa<PtrType>(tensor.getElementType()));
}

bool isPtrLike(Type type) { return isa<PtrType>(getElementTypeOrSelf(type)) && (isa<PtrType>(type) || isTile(type)); }

RankedTensorType BlockPtrType::getTileType() const { return RankedTensorType::get(getShape(), getElementType()); }

Type BlockPtrType::parse(AsmParser& parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(elementType) ||
      parser.parseGreater())
    return {};
  return BlockPtrType::get(shape, elementType);
}

void BlockPtrType::print(AsmPrinter& printer) const {
  printer << "<";
  printer.printDimensionList(getShape());
  printer << "x" << getElementType() << ">";
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

void registerTileDialects(DialectRegistry& registry) {
  registry.insert<TileDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect, scf::SCFDialect, ub::UBDialect>();
}

}  // namespace fattn::tile
