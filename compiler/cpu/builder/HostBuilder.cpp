// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/builder/HostBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {

Value HostBuilder::i64(int64_t v) { return arith::ConstantOp::create(*this, getI64IntegerAttr(v)); }

Value HostBuilder::splat(Value scalar, int64_t width) {
  if (width == 1 || isa<VectorType>(scalar.getType())) return scalar;
  return vector::BroadcastOp::create(*this, VectorType::get({width}, scalar.getType()), scalar);
}

Value HostBuilder::laneIndices(Value first, int64_t width) {
  SmallVector<int64_t> iota(width);
  for (int64_t i = 0; i < width; ++i) iota[i] = i;
  auto type = VectorType::get({width}, getI64Type());
  Value steps = arith::ConstantOp::create(*this, DenseElementsAttr::get(type, llvm::ArrayRef(iota)));
  return arith::AddIOp::create(*this, vector::BroadcastOp::create(*this, type, first), steps);
}

Value HostBuilder::call(StringRef intrinsic, Type result, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(*this, result, getStringAttr(intrinsic), operands).getResult(0);
}

Value HostBuilder::both(Value mask, Value more) { return mask ? arith::AndIOp::create(*this, mask, more).getResult() : more; }

Value HostBuilder::toValue(Stride s) {
  if (auto v = dyn_cast<Value>(s)) return v;
  return i64(cast<IntegerAttr>(cast<Attribute>(s)).getInt());
}

Stride HostBuilder::add(Stride x, Stride y) {
  if (auto k = getConstantIntValue(x); k && *k == 0) return y;
  if (auto k = getConstantIntValue(y); k && *k == 0) return x;
  return arith::AddIOp::create(*this, toValue(x), toValue(y)).getResult();
}

Stride HostBuilder::multiply(Stride x, Stride y) {
  auto kx = getConstantIntValue(x), ky = getConstantIntValue(y);
  if (kx && ky) return getI64IntegerAttr(*kx * *ky);
  if ((kx && *kx == 1) || (ky && *ky == 0)) return y;
  if ((ky && *ky == 1) || (kx && *kx == 0)) return x;
  return arith::MulIOp::create(*this, toValue(x), toValue(y)).getResult();
}

SmallVector<Value> HostBuilder::loop(Value lo, Value hi, int64_t step, ValueRange init, Trip body) {
  auto op = scf::ForOp::create(*this, lo, hi, i64(step), init);
  InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  SmallVector<Value> yielded = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!init.empty()) scf::YieldOp::create(*this, yielded);  // a loop that carries nothing is made with its end
  return llvm::to_vector_of<Value>(op.getResults());
}

void HostBuilder::loop(Value lo, Value hi, int64_t step, function_ref<void(Value)> body) {
  loop(lo, hi, step, {}, [&](Value index, ValueRange) {
    body(index);
    return SmallVector<Value>{};
  });
}

void HostBuilder::onlyIf(Value condition, function_ref<void()> body) {
  if (!condition) return body();
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  body();
}

}  // namespace fattn::cpu
