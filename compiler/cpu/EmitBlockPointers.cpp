// SPDX-License-Identifier: Apache-2.0
// Loads and stores through block pointers: read in place where possible, copied with padding at the edges of arrays.
#include "compiler/cpu/Emitter.h"
#include "compiler/cpu/Reduction.h"
#include "compiler/transforms/Aliasing.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {

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

/// Whether what is between a load and a store takes each element from the same place of its operands.
static bool reachesElementwise(Operation* load, tile::StoreOp store) {
  llvm::SmallPtrSet<Operation*, 16> seen;
  SmallVector<Operation*> pending = {load};
  while (!pending.empty()) {
    for (Operation* user : pending.pop_back_val()->getUsers()) {
      if (user == store || !seen.insert(user).second) continue;
      if (!user->hasTrait<OpTrait::Elementwise>()) return false;
      pending.push_back(user);
    }
  }
  return true;
}

/// Is the memory overwritten, perhaps, between this load and the last use of its value? Then it has to be read now.
bool Emitter::overwrittenBeforeUse(Operation* load) {
  Operation* writer = nextWriter(load);
  if (!writer) return false;
  auto place = [&](Operation* user) { return load->getBlock()->findAncestorOpInBlock(*user); };
  if (anyUse(load->getResult(0), [&](Operation* user) { return place(user) && writer->isBeforeInBlock(place(user)); })) return true;
  if (!anyUse(load->getResult(0), [&](Operation* user) { return place(user) == writer; })) return false;
  // A store that ends the range reads an element before it writes it, which is enough where no element is read for another one.
  auto store = dyn_cast<tile::StoreOp>(writer);
  if (!store || anyUse(load->getResult(0), [&](Operation* user) { return user != writer; })) return true;
  transforms::Aliasing aliasing;
  transforms::Overlap overlap = aliasing.overlap(*transforms::accessOf(load), *transforms::accessOf(store));
  if (overlap == transforms::Overlap::Never) return false;
  return overlap == transforms::Overlap::Maybe || !reachesElementwise(load, store);
}

/// The first operation behind `op`, in its block, that writes to global memory; null where there is none.
Operation* Emitter::nextWriter(Operation* op) {
  auto [entry, isNew] = writers.try_emplace(op->getBlock());
  auto writes = [](Operation* inner) {
    auto access = transforms::accessOf(inner);
    return access && access->writes ? WalkResult::interrupt() : WalkResult::advance();
  };
  if (isNew)
    for (Operation& each : *op->getBlock())
      if (each.walk(writes).wasInterrupted()) entry->second.push_back(&each);
  auto behind = llvm::partition_point(entry->second, [&](Operation* writer) { return !op->isBeforeInBlock(writer); });
  return behind == entry->second.end() ? nullptr : *behind;
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
  auto attr = dyn_cast_or_null<TypedAttr>(op.getPaddingAttr());
  Value padding = toMemory(arith::ConstantOp::create(b, loc, attr ? attr : b.getZeroAttr(global.element)), global.element);
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
      mask = arith::AndIOp::create(b, loc, mask, laneExists(p, global.shape[p.lane]));
    }
    Value at = address(global, p.index);
    if (width > 1) {
      Value v = LLVM::MaskedLoadOp::create(b, loc, VectorType::get({width}, memory), at, mask, splat(padding, width), bytesOf(memory));
      return storeAt(bytes, p, v);
    }
    auto guarded = scf::IfOp::create(b, loc, TypeRange{memory}, mask, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard inner(b);
      b.setInsertionPointToStart(guarded.thenBlock());
      scf::YieldOp::create(b, loc, LLVM::LoadOp::create(b, loc, memory, at, bytesOf(memory)).getResult());
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
  view.shared = true;
  return view;
}

LogicalResult Emitter::emitWrite(tile::StoreOp op) {
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
    if (p.lane >= 0 && type.getDimSize(p.lane) % width) require(laneExists(p, type.getDimSize(p.lane)));
    if (!mask) return storeAt(global, p, v);
    if (width > 1 && getConstantIntValue(global.strides[p.lane]) == 1) {
      LLVM::MaskedStoreOp::create(b, loc, toMemory(v, global.element), address(global, p.index), mask, bytesOf(global.element));
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

/// Element by element: LLVM makes a compare-and-swap loop of each addition of floating-point numbers.
LogicalResult Emitter::emitWrite(tile::AccumulateOp op) {
  BlockPtr ptr = blockPtrs.at(op.getPtr());
  auto type = cast<RankedTensorType>(op.getValue().getType());
  View global = viewOf(ptr, type.getShape());
  auto kind = isa<FloatType>(type.getElementType()) ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
  nestOver(type.getShape(), -1, [&](const Point& p) {
    Value mask;
    for (int64_t d : op.getBoundaryCheck()) {
      Value inside = laneMask(ptr, d, p.index[d], 1);
      mask = mask ? arith::AndIOp::create(b, loc, mask, inside).getResult() : inside;
    }
    Value value = eval(op.getValue(), p);
    auto add = [&] { LLVM::AtomicRMWOp::create(b, loc, kind, address(global, p.index), value, LLVM::AtomicOrdering::monotonic); };
    if (!mask) return add();
    auto branch = scf::IfOp::create(b, loc, mask, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    add();
  });
  return success();
}

}  // namespace fattn::cpu
