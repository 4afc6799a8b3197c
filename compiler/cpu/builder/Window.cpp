// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/builder/Window.h"

#include "compiler/cpu/builder/Access.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Per element of dimension `dim` from tile index `index` on: does it lie inside the array?
Value insideAlong(HostBuilder& b, const BlockPtr& ptr, int64_t dim, Value index, int64_t width) {
  Value first = arith::AddIOp::create(b, index, b.toValue(ptr.offsets[dim]));
  Value at = width == 1 ? first : b.laneIndices(first, width);
  Value lo = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, at, b.splat(b.i64(0), width));
  Value hi = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at, b.splat(b.toValue(ptr.shape[dim]), width));
  return arith::AndIOp::create(b, lo, hi);
}

}  // namespace

View windowOf(HostBuilder& b, const BlockPtr& ptr, ArrayRef<int64_t> shape) {
  View view{.base = ptr.base, .element = ptr.element, .shape = llvm::to_vector(shape), .strides = ptr.strides};
  Stride at = b.getI64IntegerAttr(0);
  for (auto [offset, stride] : llvm::zip_equal(ptr.offsets, ptr.strides)) at = b.add(at, b.multiply(offset, stride));
  view.base = LLVM::GEPOp::create(b, ptr.base.getType(), memoryType(ptr.element), ptr.base, ArrayRef<LLVM::GEPArg>{b.toValue(at)});
  for (auto [d, s] : llvm::enumerate(view.strides))
    if (getConstantIntValue(s) == 1) view.lane = d;
  return view;
}

Value liesInside(HostBuilder& b, const BlockPtr& ptr, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape) {
  Value all;
  for (int64_t d : dims) {
    Value lo = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, b.toValue(ptr.offsets[d]), b.i64(0));
    Value end = arith::AddIOp::create(b, b.toValue(ptr.offsets[d]), b.i64(shape[d]));
    Value hi = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, end, b.toValue(ptr.shape[d]));
    all = b.both(all, arith::AndIOp::create(b, lo, hi));
  }
  return all;
}

Value existingAt(HostBuilder& b, const BlockPtr& ptr, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape, const Point& p) {
  Value mask;
  for (int64_t d : dims) mask = b.both(mask, b.splat(insideAlong(b, ptr, d, p.index[d], d == p.lane ? p.width : 1), p.elements()));
  if (p.lane >= 0 && shape[p.lane] % p.width) mask = b.both(mask, lanesBelow(b, p, shape[p.lane]));
  return mask;
}

}  // namespace fattn::cpu
