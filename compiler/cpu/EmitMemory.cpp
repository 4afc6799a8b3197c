// SPDX-License-Identifier: Apache-2.0
// Scratch buffers and element access at a point.
#include "compiler/cpu/Emitter.h"
#include "compiler/cpu/Reduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {

Value Emitter::i64(int64_t v) { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(v)); }

Value Emitter::toValue(Stride s) {
  if (auto v = dyn_cast<Value>(s)) return v;
  return i64(cast<IntegerAttr>(cast<Attribute>(s)).getInt());
}

Stride Emitter::addOf(Stride a, Stride c) {
  if (auto k = getConstantIntValue(a); k && *k == 0) return c;
  if (auto k = getConstantIntValue(c); k && *k == 0) return a;
  return arith::AddIOp::create(b, loc, toValue(a), toValue(c)).getResult();
}

Stride Emitter::mulOf(Stride a, Stride c) {
  auto ka = getConstantIntValue(a), kc = getConstantIntValue(c);
  if (ka && kc) return b.getI64IntegerAttr(*ka * *kc);
  if ((ka && *ka == 1) || (kc && *kc == 0)) return c;
  if ((kc && *kc == 1) || (ka && *ka == 0)) return a;
  return arith::MulIOp::create(b, loc, toValue(a), toValue(c)).getResult();
}

/// How an element lies in memory: floats below 32 bits as integers (what is only moved must not be converted by a processor without
/// arithmetic on them), booleans as bytes, pointers as 64-bit integers.
Type Emitter::memoryType(Type element) const {
  MLIRContext* context = element.getContext();
  if (element.isInteger(1)) return IntegerType::get(context, 8);
  if (isa<tile::PtrType>(element)) return IntegerType::get(context, 64);
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32) return IntegerType::get(context, element.getIntOrFloatBitWidth());
  return element;
}

int64_t Emitter::bytesOf(Type element) const { return memoryType(element).getIntOrFloatBitWidth() / 8; }

View Emitter::allocate(ArrayRef<int64_t> shape, Type element, int lane, Rows rows) {
  View view{.base = {}, .element = element, .shape = llvm::to_vector(shape), .strides = {}, .lane = lane, .padded = true, .slot = -1};
  int rank = shape.size();
  if (lane < 0) view.lane = lane = rank - 1;
  view.strides.resize(rank);
  int64_t stride = 1;
  auto place = [&](int d) {
    view.strides[d] = b.getI64IntegerAttr(stride);
    // The lane dimension is padded for whole vectors, the others so that 16x16 blocks of a transposition fit.
    int64_t multiple = d == lane ? std::min<int64_t>(2 * target.lanes, llvm::PowerOf2Ceil(std::max<int64_t>(shape[d], target.lanes))) : 1;
    stride *= llvm::alignTo(shape[d], multiple);
  };
  if (lane >= 0) place(lane);
  // A first-level cache has 64 sets of lines: at 8 lines' distance, rows would share an eighth of them.
  constexpr int64_t kLine = 64, kCrowded = 8;
  if (int64_t line = kLine / bytesOf(element); rows == Rows::Spread && stride % (kCrowded * line) == 0) stride += line;
  for (int d = rank - 1; d >= 0; --d)
    if (d != lane) place(d);
  view.slot = scratch.allocate((stride + 2 * target.lanes) * bytesOf(element));
  auto bytes = LLVM::GEPOp::create(b, loc, scratchBase.getType(), b.getI8Type(), scratchBase,
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(scratch.offset(view.slot))});
  view.base = bytes;
  return view;
}

void Emitter::release(View& view) {
  if (view.slot >= 0 && !pinned.contains(view.slot)) scratch.release(view.slot);
  view.slot = -1;
}

Value Emitter::address(const View& view, ArrayRef<Value> index) {
  Stride at = b.getI64IntegerAttr(0);
  for (auto [i, stride] : llvm::zip_equal(index, view.strides)) {
    if (auto k = getConstantIntValue(Stride(i)); k && *k == 0) continue;
    at = addOf(at, mulOf(i, stride));
  }
  return LLVM::GEPOp::create(b, loc, view.base.getType(), memoryType(view.element), view.base, ArrayRef<LLVM::GEPArg>{toValue(at)});
}

Value Emitter::toMemory(Value v, Type element) {
  auto vec = dyn_cast<VectorType>(v.getType());
  Type memory = vectorOr(memoryType(element), vec ? vec.getNumElements() : 1);
  if (v.getType() == memory) return v;
  if (element.isInteger(1)) return arith::ExtUIOp::create(b, loc, memory, v);
  return arith::BitcastOp::create(b, loc, memory, v);
}

Value Emitter::fromMemory(Value v, Type element) {
  auto vec = dyn_cast<VectorType>(v.getType());
  int64_t width = vec ? vec.getNumElements() : 1;
  if (memoryType(element) == element || isa<tile::PtrType>(element)) return v;
  if (!element.isInteger(1)) return arith::BitcastOp::create(b, loc, vectorOr(element, width), v);
  Value zero = splat(arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(0)), width);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, v, zero);
}

Value Emitter::loadAt(const View& view, const Point& p) {
  Type memory = memoryType(view.element);
  bool vector = p.lane >= 0 && p.lane < static_cast<int>(view.shape.size()) && view.shape[p.lane] > 1;
  int64_t width = vector ? p.width : 1;
  Value at = address(view, p.index);
  if (!vector) return fromMemory(LLVM::LoadOp::create(b, loc, memory, at, bytesOf(memory)), view.element);
  auto type = cast<VectorType>(vectorOr(memory, width));
  bool partial = !view.padded && view.shape[p.lane] % width != 0;
  if (getConstantIntValue(view.strides[p.lane]) == 1) {
    if (!partial) return fromMemory(LLVM::LoadOp::create(b, loc, type, at, bytesOf(memory)), view.element);
    Value zero = arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type));
    Value mask = laneExists(p, view.shape[p.lane]);
    return fromMemory(LLVM::MaskedLoadOp::create(b, loc, type, at, mask, zero, bytesOf(memory)), view.element);
  }
  // Elements lie apart: read one by one.
  Value out = arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type));
  Point one = p;
  one.lane = -1;
  for (int64_t i = 0; i < width; ++i) {
    one.index[p.lane] = arith::AddIOp::create(b, loc, p.index[p.lane], i64(i));
    if (partial) one.index[p.lane] = arith::MinSIOp::create(b, loc, one.index[p.lane], i64(view.shape[p.lane] - 1));
    Value v = LLVM::LoadOp::create(b, loc, memory, address(view, one.index), bytesOf(memory));
    out = vector::InsertOp::create(b, loc, v, out, i);
  }
  return fromMemory(out, view.element);
}

void Emitter::storeAt(const View& view, const Point& p, Value v) {
  v = toMemory(v, view.element);
  int64_t bytes = bytesOf(view.element);
  auto vec = dyn_cast<VectorType>(v.getType());
  if (!vec || getConstantIntValue(view.strides[p.lane]) == 1) {
    LLVM::StoreOp::create(b, loc, v, address(view, p.index), bytes);
    return;
  }
  // Elements lie apart: written one by one, those that exist.
  Point one = p;
  for (int64_t i = 0; i < vec.getNumElements(); ++i) {
    one.index[p.lane] = arith::AddIOp::create(b, loc, p.index[p.lane], i64(i));
    OpBuilder::InsertionGuard guard(b);
    if (view.shape[p.lane] % p.width) {
      Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, one.index[p.lane], i64(view.shape[p.lane]));
      auto branch = scf::IfOp::create(b, loc, exists, /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    LLVM::StoreOp::create(b, loc, vector::ExtractOp::create(b, loc, v, i), address(view, one.index), bytes);
  }
}

void Emitter::copy(const View& from, const View& into) {
  nestOver(into.shape, into.lane, [&](const Point& p) { storeAt(into, p, splat(loadAt(from, p), p.lane < 0 ? 1 : p.width)); });
}

/// Computes `value` into a buffer whatever the lanes of the two are.
void Emitter::materialize(Value value, View& into) {
  flush();
  int from = lanes.lane(value);
  if (from >= 0 && into.lane >= 0 && from != into.lane && into.shape[into.lane] > 1)
    return transposeBlocks(into, from, [&](const Point& p) { return toMemory(convert(evalVector(value, p), into.element), into.element); });
  nestOver(into.shape, into.lane, [&](const Point& p) { storeAt(into, p, convert(evalVector(value, p), into.element)); });
}

/// lanes x lanes blocks are read along `from`, transposed in registers by log2(lanes) rounds of interleaving, and stored along into.lane.
void Emitter::transposeBlocks(const View& into, int from, const std::function<Value(const Point&)>& read) {
  int64_t n = target.lanes;
  int to = into.lane;
  SmallVector<int64_t> blocks = into.shape;
  blocks[from] = llvm::divideCeil(into.shape[from], n);
  blocks[to] = llvm::divideCeil(into.shape[to], n);
  nestOver(blocks, -1, [&](const Point& block) {
    Point p = block;
    p.lane = from;
    p.width = n;
    Value row = arith::MulIOp::create(b, loc, block.index[to], i64(n));
    Value column = arith::MulIOp::create(b, loc, block.index[from], i64(n));
    p.index[from] = column;
    SmallVector<Value> rows;
    for (int64_t r = 0; r < n; ++r) {
      p.index[to] = arith::AddIOp::create(b, loc, row, i64(r));
      if (into.shape[to] % n) p.index[to] = arith::MinSIOp::create(b, loc, p.index[to], i64(into.shape[to] - 1));
      rows.push_back(read(p));
    }
    for (int64_t half = n / 2, round = 1; round < n; round *= 2) {
      SmallVector<Value> next;
      for (int64_t i = 0; i < half; ++i) {
        SmallVector<int64_t> lo, hi;
        for (int64_t k = 0; k < half; ++k) {
          lo.append({k, n + k});
          hi.append({half + k, n + half + k});
        }
        next.push_back(vector::ShuffleOp::create(b, loc, rows[i], rows[i + half], lo));
        next.push_back(vector::ShuffleOp::create(b, loc, rows[i], rows[i + half], hi));
      }
      rows = next;
    }
    Point q = block;
    q.lane = to;
    q.width = n;
    q.index[to] = row;
    for (int64_t c = 0; c < n; ++c) {
      if (into.shape[from] % n && c >= into.shape[from] % n) {
        // The last block is narrower than a vector: its missing rows have no place in the buffer.
        Value at = arith::AddIOp::create(b, loc, column, i64(c));
        Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, at, i64(into.shape[from]));
        auto branch = scf::IfOp::create(b, loc, exists, /*withElseRegion=*/false);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        q.index[from] = at;
        storeAt(into, q, rows[c]);
        continue;
      }
      q.index[from] = arith::AddIOp::create(b, loc, column, i64(c));
      storeAt(into, q, rows[c]);
    }
  });
}

}  // namespace fattn::cpu
