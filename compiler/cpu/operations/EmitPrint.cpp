// SPDX-License-Identifier: Apache-2.0
// Printing: calls of fattn_device_print(grid, prefix, dtype, rank, shape, data), one for every value, with its elements in row-major order.
#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/Convert.h"
#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/nests/Evaluate.h"
#include "compiler/cpu/nests/Nest.h"
#include "compiler/cpu/operations/Operations.h"
#include "compiler/cpu/state/Emission.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

constexpr StringLiteral kPrint = "fattn_device_print";

/// Declares the function in a module that does not know it yet.
LLVM::LLVMFuncOp printFunction(HostBuilder& b, ModuleOp module) {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(kPrint)) return known;
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  SmallVector<Type> types{pointer, pointer, b.getI32Type(), b.getI32Type(), pointer, pointer};
  return LLVM::LLVMFuncOp::create(b, kPrint, LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), types));
}

struct Printer {
  Emission& e;
  LLVM::LLVMFuncOp callee;
  Value text;

  Value i32(int32_t v) const { return arith::ConstantOp::create(e.b, e.b.getI32IntegerAttr(v)); }
  void print(int32_t dtype, ArrayRef<int64_t> shape, Value data) const;
  void print(Value value) const;
  View rowMajor(ArrayRef<int64_t> shape, Type element) const;
};

Printer printerFor(Emission& e, tile::DevicePrintOp op) {
  HostBuilder& b = e.b;
  auto module = e.source->getParentOfType<ModuleOp>();
  std::string name = "fattn_text_" + std::to_string(e.printCount++);
  Printer printer{.e = e, .callee = {}, .text = {}};
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    printer.callee = printFunction(b, module);
    std::string text = op.getPrefix().str() + '\0';
    auto array = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
    LLVM::GlobalOp::create(b, array, /*isConstant=*/true, LLVM::Linkage::Private, name, b.getStringAttr(text));
  }
  printer.text = LLVM::AddressOfOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), name);
  return printer;
}

void Printer::print(int32_t dtype, ArrayRef<int64_t> shape, Value data) const {
  HostBuilder& b = e.b;
  View dims = e.buffers.allocate({std::max<int64_t>(shape.size(), 1)}, b.getI64Type(), 0);
  for (auto [d, size] : llvm::enumerate(shape)) storeAt(b, dims, Point{.index = {b.i64(d)}, .lane = -1, .width = 1}, b.i64(size));
  LLVM::CallOp::create(b, callee, ValueRange{e.entry.grid, text, i32(dtype), i32(shape.size()), dims.base, data});
  e.buffers.release(dims);
}

/// A buffer without gaps.
View Printer::rowMajor(ArrayRef<int64_t> shape, Type element) const {
  View dense = e.buffers.allocate({ShapedType::getNumElements(shape)}, element, 0);
  dense.shape = llvm::to_vector(shape);
  dense.lane = -1;
  dense.strides.clear();
  int64_t stride = 1;
  for (int64_t size : llvm::reverse(shape)) {
    dense.strides.insert(dense.strides.begin(), e.b.getI64IntegerAttr(stride));
    stride *= size;
  }
  return dense;
}

void Printer::print(Value value) const {
  HostBuilder& b = e.b;
  auto type = tileType(value);
  ArrayRef<int64_t> shape = type ? type.getShape() : ArrayRef<int64_t>();
  Type element = getElementTypeOrSelf(value.getType());
  if (element.isIndex() || isa<tile::PtrType>(element)) element = b.getI64Type();
  View dense = rowMajor(shape, element);
  nestOver(e, shape, -1, [&](const Point& p) {
    Value v = eval(e, value, p);
    if (isa<LLVM::LLVMPointerType>(v.getType())) v = LLVM::PtrToIntOp::create(b, element, v);
    storeAt(b, dense, p, convert(b, v, element));
  });
  print(static_cast<int32_t>(tile::dtypeOf(element)), shape, dense.base);
  e.buffers.release(dense);
}

}  // namespace

void emitPrint(Emission& e, tile::DevicePrintOp op) {
  Printer printer = printerFor(e, op);
  if (op.getValues().empty()) printer.print(-1, {}, e.entry.scratch);
  for (Value value : op.getValues()) printer.print(value);
}

}  // namespace fattn::cpu
