// SPDX-License-Identifier: Apache-2.0
#include "compiler/nvidia/Boxes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::Lowering;

Value assembly(Lowering& to, Type type, ValueRange operands, const std::string& text, StringRef constraints) {
  auto dialect = LLVM::AsmDialectAttr::get(to.b.getContext(), LLVM::AsmDialect::AD_ATT);
  auto op = LLVM::InlineAsmOp::create(to.b, type ? TypeRange(type) : TypeRange(), operands, text, constraints, /*has_side_effects=*/true,
                                      /*is_align_stack=*/false, LLVM::TailCallKind::None, dialect, ArrayAttr());
  return type ? op.getResult(0) : Value();
}

void inBranch(Lowering& to, Value condition, llvm::function_ref<void()> emit) {
  OpBuilder::InsertionGuard guard(to.b);
  auto branch = scf::IfOp::create(to.b, condition, /*withElseRegion=*/false);
  to.b.setInsertionPointToStart(branch.thenBlock());
  emit();
}

DictionaryAttr tensorMapOf(Operation* op, uint64_t number) {
  return cast<DictionaryAttr>(op->getParentOfType<func::FuncOp>()->getAttrOfType<ArrayAttr>(tilegpu::kTensorMapsAttr)[number]);
}

Value coordinate(Lowering& to, Value offset) {
  if (auto extension = offset.getDefiningOp<arith::ExtSIOp>(); extension && extension.getIn().getType().isInteger(32))
    return extension.getIn();
  Value low = arith::MaxSIOp::create(to.b, offset, to.i64(std::numeric_limits<int32_t>::min()));
  Value both = arith::MinSIOp::create(to.b, low, to.i64(std::numeric_limits<int32_t>::max()));
  return arith::TruncIOp::create(to.b, to.b.getI32Type(), both);
}

SmallVector<Value> furtherCoordinates(Lowering& to, Operation* op, ValueRange coordinates, DictionaryAttr map) {
  SmallVector<Value> result;
  auto function = op->getParentOfType<func::FuncOp>();
  for (auto [value, stride] : llvm::zip(coordinates, map.getAs<ArrayAttr>("strides").getValue().drop_front())) {
    Value at = to.scalar(value);
    for (int64_t argument : cast<DenseI64ArrayAttr>(stride).asArrayRef().drop_front()) {
      Value factor = to.scalar(function.getArgument(static_cast<unsigned>(argument)));
      Value zero = arith::ConstantOp::create(to.b, to.b.getZeroAttr(factor.getType()));
      Value none = arith::CmpIOp::create(to.b, arith::CmpIPredicate::eq, factor, zero);
      at = arith::SelectOp::create(to.b, none, to.i32(0), at);
    }
    result.push_back(at);
  }
  return result;
}

}  // namespace fattn::nvidia
