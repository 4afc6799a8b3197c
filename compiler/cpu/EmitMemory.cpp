// SPDX-License-Identifier: Apache-2.0
// Scratch buffers, element access at a point, and block-pointer loads and stores.
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

/// How an element lies in memory: booleans and 8-bit floats as bytes, pointers as 64-bit integers.
Type Emitter::memoryType(Type element) const {
  if (element.isInteger(1) || (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8))
    return IntegerType::get(element.getContext(), 8);
  if (isa<tile::PtrType>(element)) return IntegerType::get(element.getContext(), 64);
  return element;
}

int64_t Emitter::bytesOf(Type element) const { return memoryType(element).getIntOrFloatBitWidth() / 8; }

View Emitter::allocate(ArrayRef<int64_t> shape, Type element, int lane) {
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

namespace {

Type vectorOr(Type element, int64_t width) { return width == 1 ? element : VectorType::get({width}, element); }

unsigned alignmentOf(Type memory) { return memory.getIntOrFloatBitWidth() / 8; }

}  // namespace

Value Emitter::loadAt(const View& view, const Point& p) {
  Type memory = memoryType(view.element);
  bool vector = p.lane >= 0 && p.lane < static_cast<int>(view.shape.size()) && view.shape[p.lane] > 1;
  int64_t width = vector ? p.width : 1;
  auto finish = [&](Value v) -> Value {
    if (memory == view.element || isa<tile::PtrType>(view.element)) return v;
    if (view.element.isInteger(1)) {
      Value zero = splat(arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(0)), width);
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, v, zero);
    }
    return arith::BitcastOp::create(b, loc, vectorOr(view.element, width), v);
  };
  Value at = address(view, p.index);
  if (!vector) return finish(LLVM::LoadOp::create(b, loc, memory, at, alignmentOf(memory)));
  auto type = cast<VectorType>(vectorOr(memory, width));
  bool partial = !view.padded && view.shape[p.lane] % width != 0;
  if (getConstantIntValue(view.strides[p.lane]) == 1) {
    if (!partial) return finish(LLVM::LoadOp::create(b, loc, type, at, alignmentOf(memory)));
    Value mask = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, laneIndices(b, loc, p.index[p.lane], width),
                                       splat(i64(view.shape[p.lane]), width));
    Value zero = arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type));
    return finish(LLVM::MaskedLoadOp::create(b, loc, type, at, mask, zero, alignmentOf(memory)));
  }
  // Elements lie apart: read one by one.
  Value out = arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type));
  Point one = p;
  one.lane = -1;
  for (int64_t i = 0; i < width; ++i) {
    one.index[p.lane] = arith::AddIOp::create(b, loc, p.index[p.lane], i64(i));
    if (partial) one.index[p.lane] = arith::MinSIOp::create(b, loc, one.index[p.lane], i64(view.shape[p.lane] - 1));
    Value v = LLVM::LoadOp::create(b, loc, memory, address(view, one.index), alignmentOf(memory));
    out = vector::InsertOp::create(b, loc, v, out, i);
  }
  return finish(out);
}

void Emitter::storeAt(const View& view, const Point& p, Value v) {
  Type memory = memoryType(view.element);
  int64_t width = isa<VectorType>(v.getType()) ? cast<VectorType>(v.getType()).getNumElements() : 1;
  if (view.element.isInteger(1))
    v = arith::ExtUIOp::create(b, loc, vectorOr(memory, width), v);
  else if (memory != view.element && !isa<tile::PtrType>(view.element))
    v = arith::BitcastOp::create(b, loc, vectorOr(memory, width), v);
  if (width == 1 || getConstantIntValue(view.strides[p.lane]) == 1) {
    LLVM::StoreOp::create(b, loc, v, address(view, p.index), alignmentOf(memory));
    return;
  }
  Point one = p;
  for (int64_t i = 0; i < width && i < view.shape[p.lane]; ++i) {
    one.index[p.lane] = arith::AddIOp::create(b, loc, p.index[p.lane], i64(i));
    LLVM::StoreOp::create(b, loc, vector::ExtractOp::create(b, loc, v, i), address(view, one.index), alignmentOf(memory));
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
    return transposeBlocks(into, from, [&](const Point& p) { return convert(evalVector(value, p), into.element); });
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

View Emitter::viewOf(const BlockPtr& ptr, ArrayRef<int64_t> shape) {
  View view{.base = ptr.base, .element = ptr.element, .shape = llvm::to_vector(shape), .strides = ptr.strides};
  Stride at = b.getI64IntegerAttr(0);
  for (auto [offset, stride] : llvm::zip_equal(ptr.offsets, ptr.strides)) at = addOf(at, mulOf(offset, stride));
  view.base = LLVM::GEPOp::create(b, loc, ptr.base.getType(), memoryType(ptr.element), ptr.base, ArrayRef<LLVM::GEPArg>{toValue(at)});
  for (auto [d, s] : llvm::enumerate(view.strides))
    if (getConstantIntValue(s) == 1) view.lane = d;
  return view;
}

/// True where the whole window lies inside the array in the dimensions named.
Value Emitter::inside(const BlockPtr& ptr, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape) {
  Value all;
  for (int64_t d : dims) {
    Value lo = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, toValue(ptr.offsets[d]), i64(0));
    Value end = arith::AddIOp::create(b, loc, toValue(ptr.offsets[d]), i64(shape[d]));
    Value hi = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, end, toValue(ptr.shape[d]));
    Value both = arith::AndIOp::create(b, loc, lo, hi);
    all = all ? arith::AndIOp::create(b, loc, all, both).getResult() : both;
  }
  return all;
}

/// Per element of dimension `dim` from tile index `index` on: does it lie inside the array?
Value Emitter::laneMask(const BlockPtr& ptr, int64_t dim, Value index, int64_t width) {
  Value first = arith::AddIOp::create(b, loc, index, toValue(ptr.offsets[dim]));
  Value at = width == 1 ? first : laneIndices(b, loc, first, width);
  Value lo = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, at, splat(i64(0), width));
  Value hi = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, at, splat(toValue(ptr.shape[dim]), width));
  return arith::AndIOp::create(b, loc, lo, hi);
}

/// Is the memory overwritten, perhaps, between this load and the last use of its value? Then it has to be read now.
bool Emitter::overwrittenBeforeUse(Operation* load) const {
  SmallVector<Operation*> users;
  usesOf(load->getResult(0), users);
  Operation* last = load;
  for (Operation* user : users)
    if (Operation* at = load->getBlock()->findAncestorOpInBlock(*user); at && last->isBeforeInBlock(at)) last = at;
  auto writes = [](Operation* op) {
    return op
        ->walk([](Operation* inner) {
          return isa<tile::StoreOp, tile::ScatterOp, tile::AtomicAddOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  };
  for (Operation* op = load->getNextNode(); op; op = op->getNextNode()) {
    // A store that ends the range reads before it writes, but only at the same index: take no chances.
    if (writes(op)) return !(op == last && isa<tile::StoreOp>(op) && llvm::hasSingleElement(users));
    if (op == last) break;
  }
  return false;
}

LogicalResult Emitter::emitLoad(tile::LoadOp op) {
  BlockPtr ptr = blockPtrs.at(op.getPtr());
  auto type = op.getResult().getType();
  View view = viewOf(ptr, type.getShape());
  bool snapshot = overwrittenBeforeUse(op);
  if (!op.getBoundaryCheck().empty()) {
    view = loadBoundary(op, ptr, view);
  }
  if (snapshot) {
    View own = allocate(type.getShape(), type.getElementType(), lanes.lane(op.getResult()));
    copy(view, own);
    release(view);
    view = own;
  }
  views[op.getResult()] = view;
  if (view.slot >= 0) owners.push_back(op.getResult());
  return success();
}

/// A window at the array's edge is copied, with its padding, into scratch; one inside is used where it lies.
View Emitter::loadBoundary(tile::LoadOp op, const BlockPtr& ptr, const View& global) {
  View padded = allocate(global.shape, global.element, global.lane);
  SmallVector<Type> types(1 + global.shape.size(), b.getI64Type());
  types[0] = global.base.getType();
  Value interior = inside(ptr, op.getBoundaryCheck(), global.shape);
  auto branch = scf::IfOp::create(b, loc, types, interior, /*withElseRegion=*/true);
  auto yield = [&](const View& view) {
    SmallVector<Value> out{view.base};
    for (Stride s : view.strides) out.push_back(toValue(s));
    scf::YieldOp::create(b, loc, out);
  };
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  yield(global);
  b.setInsertionPointToStart(branch.elseBlock());
  Type memory = memoryType(global.element);
  Value padding = arith::ConstantOp::create(b, loc, memory, b.getZeroAttr(memory));
  if (auto attr = dyn_cast_or_null<TypedAttr>(op.getPaddingAttr())) {
    padding = arith::ConstantOp::create(b, loc, attr);
    if (memory != global.element)
      padding = memory.isInteger(8) && global.element.isInteger(1) ? arith::ExtUIOp::create(b, loc, memory, padding).getResult()
                                                                   : arith::BitcastOp::create(b, loc, memory, padding).getResult();
  }
  View bytes = padded;  // the copy moves memory types, never interpreted
  bytes.element = memory;
  int lane = global.lane >= 0 ? global.lane : -1;
  nestOver(global.shape, lane, [&](const Point& p) {
    int64_t width = p.lane < 0 ? 1 : p.width;
    Value mask;
    for (int64_t d : op.getBoundaryCheck()) {
      Value m = splat(laneMask(ptr, d, p.index[d], d == p.lane ? width : 1), width);
      mask = mask ? arith::AndIOp::create(b, loc, mask, m).getResult() : m;
    }
    if (p.lane >= 0 && global.shape[p.lane] % width) {
      Value in = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, laneIndices(b, loc, p.index[p.lane], width),
                                       splat(i64(global.shape[p.lane]), width));
      mask = arith::AndIOp::create(b, loc, mask, in);
    }
    Value at = address(global, p.index);
    if (width > 1) {
      Value v = LLVM::MaskedLoadOp::create(b, loc, VectorType::get({width}, memory), at, mask, splat(padding, width), alignmentOf(memory));
      return storeAt(bytes, p, v);
    }
    auto guarded = scf::IfOp::create(b, loc, TypeRange{memory}, mask, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard inner(b);
      b.setInsertionPointToStart(guarded.thenBlock());
      scf::YieldOp::create(b, loc, LLVM::LoadOp::create(b, loc, memory, at, alignmentOf(memory)).getResult());
      b.setInsertionPointToStart(guarded.elseBlock());
      scf::YieldOp::create(b, loc, padding);
    }
    storeAt(bytes, p, guarded.getResult(0));
  });
  yield(padded);
  View view = global;
  view.base = branch.getResult(0);
  for (size_t d = 0; d < view.shape.size(); ++d)
    if (static_cast<int>(d) != global.lane) view.strides[d] = branch.getResult(1 + d);
  view.slot = padded.slot;
  return view;
}

LogicalResult Emitter::emitStore(tile::StoreOp op) {
  BlockPtr ptr = blockPtrs.at(op.getPtr());
  auto type = cast<RankedTensorType>(op.getValue().getType());
  View global = viewOf(ptr, type.getShape());
  int lane = lanes.lane(op.getValue()) < 0 && global.lane < 0 ? -1 : (global.lane >= 0 ? global.lane : lanes.lane(op.getValue()));
  Value value = op.getValue();
  View staged;
  if (lanes.lane(value) >= 0 && lanes.lane(value) != lane) {
    // Stored along another dimension than computed: turn it around in scratch first.
    staged = allocate(type.getShape(), type.getElementType(), lane);
    materialize(value, staged);
  }
  nestOver(type.getShape(), lane, [&](const Point& p) {
    Value v = staged.base ? loadAt(staged, p) : eval(value, p);
    int64_t width = p.lane < 0 ? 1 : p.width;
    v = splat(v, width);
    Value mask;
    auto require = [&](Value m) { mask = mask ? arith::AndIOp::create(b, loc, mask, splat(m, width)).getResult() : splat(m, width); };
    for (int64_t d : op.getBoundaryCheck()) require(laneMask(ptr, d, p.index[d], d == p.lane ? width : 1));
    if (p.lane >= 0 && type.getDimSize(p.lane) % width)
      require(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, laneIndices(b, loc, p.index[p.lane], width),
                                    splat(i64(type.getDimSize(p.lane)), width)));
    if (!mask) return storeAt(global, p, v);
    if (width > 1 && getConstantIntValue(global.strides[p.lane]) == 1) {
      Type memory = memoryType(global.element);
      if (global.element.isInteger(1))
        v = arith::ExtUIOp::create(b, loc, vectorOr(memory, width), v);
      else if (memory != global.element)
        v = arith::BitcastOp::create(b, loc, vectorOr(memory, width), v);
      LLVM::MaskedStoreOp::create(b, loc, v, address(global, p.index), mask, alignmentOf(memory));
      return;
    }
    for (int64_t i = 0; i < width; ++i) {
      Value take = width > 1 ? vector::ExtractOp::create(b, loc, mask, i).getResult() : mask;
      auto branch = scf::IfOp::create(b, loc, take, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      Point one = p;
      one.lane = -1;
      if (width > 1) one.index[p.lane] = arith::AddIOp::create(b, loc, p.index[p.lane], i64(i));
      storeAt(global, one, width > 1 ? vector::ExtractOp::create(b, loc, v, i).getResult() : v);
    }
  });
  if (staged.base) release(staged);
  return success();
}

}  // namespace fattn::cpu
