// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/operations/Panel.h"

#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/Convert.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

Value addressAt(HostBuilder& b, const Factor& factor, Value k, Value other) {
  SmallVector<Value> index(2);
  index[factor.k] = k;
  index[1 - factor.k] = other;
  return addressOf(b, factor.view, index);
}

Value multipliedBy(HostBuilder& b, Value v, int64_t n) { return b.toValue(b.multiply(v, b.getI64IntegerAttr(n))); }

}  // namespace

VectorType operandType(HostBuilder& b, DotKind kind) { return VectorType::get({b.host.lanes}, computeType(b.getContext(), kind)); }

Value multiplyAdd(HostBuilder& b, DotKind kind, Value x, Value y, Value acc) {
  if (kind == DotKind::F32) {
    if (b.host.fma) return math::FmaOp::create(b, x, y, acc);
    return arith::AddFOp::create(b, arith::MulFOp::create(b, x, y), acc);
  }
  if (kind == DotKind::I32) return arith::AddIOp::create(b, arith::MulIOp::create(b, x, y), acc);
  auto pairs = VectorType::get({2 * b.host.lanes}, b.getBF16Type());
  const char* name = b.host.lanes == 16 ? "llvm.x86.avx512bf16.dpbf16ps.512" : "llvm.x86.avx512bf16.dpbf16ps.256";
  return b.call(name, acc.getType(), {acc, LLVM::BitcastOp::create(b, pairs, y), LLVM::BitcastOp::create(b, pairs, x)});
}

Value loadTogether(HostBuilder& b, DotKind kind, const Factor& factor, Value k, Value other) {
  VectorType type = operandType(b, kind);
  Value at = addressAt(b, factor, k, other);
  unsigned align = bytesOf(factor.view.element);
  // What the product computes with lies there as it is; pairs of bf16 count as 32 bits.
  if (kind != DotKind::F32 || factor.view.element == type.getElementType()) return LLVM::LoadOp::create(b, type, at, align);
  Value raw = LLVM::LoadOp::create(b, VectorType::get({b.host.lanes}, memoryType(factor.view.element)), at, align);
  return floatToF32(b, fromMemory(b, raw, factor.view.element));
}

bool isInterleaved(DotKind kind, const Factor& factor) {
  return kind == DotKind::Bf16Pairs && factor.view.element.isBF16() && getConstantIntValue(factor.view.strides[factor.k]) != 2;
}

SmallVector<Value> loadInterleaved(HostBuilder& b, const Factor& factor, Value k, Value other, int64_t count) {
  constexpr int64_t kTogether = 2;  // of so many vectors two rows are as wide as a register
  int64_t lanes = b.host.lanes;
  auto row = [&](Value number, Value at, int64_t width) {
    return LLVM::LoadOp::create(b, VectorType::get({width}, b.getBF16Type()), addressAt(b, factor, number, at), bytesOf(b.getBF16Type()));
  };
  Value even = multipliedBy(b, k, 2), odd = b.toValue(b.add(even, b.getI64IntegerAttr(1)));
  SmallVector<Value> out;
  for (int64_t v = 0; v < count; v += kTogether) {
    int64_t together = std::min(kTogether, count - v), width = together * lanes;
    Value at = b.toValue(b.add(other, b.getI64IntegerAttr(v * lanes)));
    Value x = row(even, at, width), y = row(odd, at, width);
    for (int64_t part = 0; part < together; ++part) {
      SmallVector<int64_t> mask;
      for (int64_t i = part * lanes; i < (part + 1) * lanes; ++i) mask.append({i, width + i});
      Value pairs = vector::ShuffleOp::create(b, x, y, mask);
      out.push_back(LLVM::BitcastOp::create(b, VectorType::get({lanes}, b.getI32Type()), pairs));
    }
  }
  return out;
}

int64_t bytesOfVector(HostBuilder& b, DotKind kind, const Factor& factor) {
  int64_t elements = kind == DotKind::Bf16Pairs && !isInterleaved(kind, factor) && factor.view.element.isBF16() ? 2 : 1;
  return b.host.lanes * elements * bytesOf(factor.view.element);
}

void askAhead(HostBuilder& b, const Factor& factor, Value k, Value other, int64_t bytes) {
  constexpr int32_t kRead = 0, kAllLevels = 3, kData = 1;
  const View& view = factor.view;
  if (view.readsOn < 0 || view.readsOn == view.lane) return;
  int64_t rowBytes = view.shape[1 - view.readsOn] * bytesOf(view.element), window = view.shape[view.readsOn];
  int64_t rows = llvm::divideCeil(bytes, rowBytes);
  Value& row = view.readsOn == factor.k ? k : other;
  Factor there = factor;
  if (!view.next) {
    row = b.toValue(b.add(row, b.getI64IntegerAttr(rows)));
  } else {
    row = b.toValue(b.add(row, b.getI64IntegerAttr(std::min(rows, window))));
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, b.i64(window));
    there.view.base = arith::SelectOp::create(b, inside, view.base, view.next);
    Value behind = arith::SubIOp::create(b, row, b.i64(window));
    row = arith::SelectOp::create(b, inside, row, behind);
  }
  LLVM::Prefetch::create(b, addressAt(b, there, k, other), kRead, kAllLevels, kData);
}

void askInOrder(HostBuilder& b, const Panel& panel, const Factor& factor, Value first, int64_t count, Value k, int64_t step) {
  if (factor.view.readsOn < 0) return;
  const int64_t line = b.host.lineBytes * b.host.lanes / bytesOfVector(b, panel.kind, factor);
  for (int64_t i = 0; i < count * step; i += line) {
    Value element = b.toValue(b.add(multipliedBy(b, k, count), b.getI64IntegerAttr(i))), depth = b.i64(panel.depth);
    Value row = arith::AddIOp::create(b, first, arith::DivUIOp::create(b, element, depth));
    askAhead(b, factor, arith::RemUIOp::create(b, element, depth), row, b.host.aheadBytes);
  }
}

void forBlocks(HostBuilder& b, int64_t total, int64_t step, int64_t unit, function_ref<void(Value, int64_t)> block) {
  int64_t full = total / step * step;
  if (full == step)
    block(b.i64(0), step);
  else if (full > 0)
    b.loop(b.i64(0), b.i64(full * unit), step * unit, [&](Value at) { block(at, step); });
  if (full < total) block(b.i64(full * unit), total - full);
}

}  // namespace fattn::cpu
