// SPDX-License-Identifier: Apache-2.0
// Tiles between global memory and registers.
//
// tile.load, tile.store and tile.accumulate move the widest vectors that the layout holds and the IR proves to be aligned
// (transforms/Divisibility); what is checked against the array's bounds is checked once a vector. Where the array may end within a vector,
// a branch that all threads take alike moves element by element where it does:
//
//   scf.if (%columns % 8 == 0 or the window ends inside) { vectors } else { elements }
//
// Machines that prefer predicates have a branch of this kind around what a loop loads for a later trip: where all of the window lies inside
// of the array, nothing is checked.
//
// gather, scatter and atomic_add go element by element. Elements that several threads hold are read by all of them and written by one. A
// scalar is read by all threads, and written by the first of the block.
#include "compiler/gpu/lower/WindowAccess.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::gpu {

using layout::kRegister, layout::LinearLayout;

namespace {

/// A number of a register's type, given as an attribute of the element's.
Value registerConstant(Lowering& to, Attribute number, Type element) {
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8)
    return arith::ConstantOp::create(to.b, to.b.getIntegerAttr(to.b.getI8Type(), cast<FloatAttr>(number).getValue().bitcastToAPInt()));
  return arith::ConstantOp::create(to.b, cast<TypedAttr>(number));
}

/// A branch on whether no vector of the access is cut by the array's end; each side makes its values with addresses and bounds of its own.
template <typename Whole, typename Each>
SmallVector<Value> branchWhereCut(Lowering& to, WindowAccess& access, const WindowVectors& vectors, TypeRange types, Whole whole,
                                  Each each) {
  WindowAccess narrow = access;
  auto branch =
      scf::IfOp::create(to.b, types, access.endsBetween(vectors.dim, vectors.width), /*addThenBlock=*/true, /*addElseBlock=*/true);
  auto fill = [&](Block* block, WindowAccess& with, auto make) {
    to.b.setInsertionPointToStart(block);
    SmallVector<Value> values = make(with);
    scf::YieldOp::create(to.b, values);
  };
  fill(branch.thenBlock(), access, whole);
  fill(branch.elseBlock(), narrow, each);
  to.b.setInsertionPointAfter(branch);
  return llvm::to_vector_of<Value>(branch.getResults());
}

class WindowLoad {
 public:
  WindowLoad(Lowering& to, tile::LoadOp op)
      : to_(to),
        op_(op),
        element_(op.getResult().getType().getElementType()),
        layout_(*tilegpu::layoutOf(op.getResult().getType())),
        vectors_(windowVectors(op.getPtr(), op.getBoundaryCheck(), tilegpu::extentsOf(op), layout_, tilegpu::elementBits(element_))),
        access_(to, op.getPtr().getType(), to.window(op.getPtr()), op.getBoundaryCheck(), tilegpu::extentsOf(op), layout_) {
    if (op.getBoundaryCheck().empty() && !access_.isPadded() && !to.loadPredicate) return;
    const Attribute padding = op.getPadding().value_or(to.b.getZeroAttr(element_));
    padsWithZeros_ = padding == to.b.getZeroAttr(element_);
    padding_ = registerConstant(to, padding, element_);
  }

  Registers emit() {
    auto whole = [&](WindowAccess& access) { return vectors(access, rows()); };
    auto each = [&](WindowAccess& access) { return elements(access); };
    SmallVector<Type> types(vectors_.groups.size(), memoryType(to_, element_, vectors_.width));
    SmallVector<Value> loaded = vectors_.mayBeCut ? branchWhereCut(to_, access_, vectors_, types, whole, each) : branchWhereInside(types);
    std::map<layout::Coords, Value> values;
    for (auto [group, vector] : llvm::zip_equal(vectors_.groups, loaded))
      for (auto [r, value] : llvm::zip_equal(group, fromMemory(to_, vector, element_, vectors_.width)))
        values[Lowering::registerPart(layout_, r)] = value;
    Registers result;
    for (int64_t r = 0; r < layout_.inputSize(kRegister); ++r) result.push_back(values[Lowering::registerPart(layout_, r)]);
    return result;
  }

 private:
  /// What stands for `count` elements that lie outside; nothing where all lie inside.
  Value outside(int count) {
    return padding_ ? toMemory(to_, SmallVector<Value>(static_cast<size_t>(count), padding_), element_) : Value();
  }

  /// Of what is loaded for a later trip of a loop, a window that lies inside of its array, as nearly all do, is loaded without looking at
  /// each vector. Elsewhere the branch costs more registers than the looking costs time.
  SmallVector<Value> branchWhereInside(ArrayRef<Type> types) {
    Value inside = access_.isPadded() || !to_.machine.prefersPredicates() || !to_.loadPredicate ? Value() : access_.insideWhole();
    if (!inside) return vectors(access_, rows());
    WindowAccess checked = access_;
    auto branch = scf::IfOp::create(to_.b, types, both(to_.b, inside, to_.loadPredicate), /*addThenBlock=*/true, /*addElseBlock=*/true);
    to_.b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> loaded;
    for (auto [group, type] : llvm::zip_equal(vectors_.groups, types))
      loaded.push_back(to_.machine.loadGlobal(to_.b, access_.address(group[0]), type, Value(), Value()));
    scf::YieldOp::create(to_.b, loaded);
    to_.b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(to_.b, vectors(checked, std::nullopt));  // LLVM shares the loads of both sides, whose addresses are alike
    to_.b.setInsertionPointAfter(branch);
    return llvm::to_vector_of<Value>(branch.getResults());
  }

  /// For loads under a predicate, where the machine adds lanes' offsets by itself. Without one, addresses in lanes' registers, which a loop
  /// advances, are as good.
  std::optional<WindowAccess> rows() {
    if (!padding_ || !to_.machine.addsLanesLast()) return std::nullopt;
    return WindowAccess(to_, op_.getPtr().getType(), to_.window(op_.getPtr()), op_.getBoundaryCheck(), tilegpu::extentsOf(op_), layout_,
                        /*lanesLast=*/true);
  }

  /// The `width` elements from register r on, or what stands for them.
  Value loadAt(WindowAccess& access, std::optional<WindowAccess>& rows, int64_t r, int width, Type type, Value other) {
    ImplicitLocOpBuilder& b = to_.b;
    const Value predicate = both(b, to_.loadPredicate, access.inside(r));
    const Value ofZeros = predicate && rows ? rows->addressOrZeros(r, predicate, width) : Value();
    if (!ofZeros) return to_.machine.loadGlobal(b, access.address(r), type, predicate, other);
    const Value loaded = to_.machine.loadGlobal(b, ofZeros, type, Value(), Value());
    return padsWithZeros_ ? loaded : LLVM::SelectOp::create(b, predicate, loaded, other).getResult();
  }

  SmallVector<Value> vectors(WindowAccess& access, std::optional<WindowAccess> byRow) {
    SmallVector<Value> loaded;
    Type type = memoryType(to_, element_, vectors_.width);
    Value other = outside(vectors_.width);
    for (const std::vector<int64_t>& group : vectors_.groups)
      loaded.push_back(loadAt(access, byRow, group[0], vectors_.width, type, other));
    return loaded;
  }

  SmallVector<Value> elements(WindowAccess& access) {
    SmallVector<Value> loaded;
    Type type = memoryType(to_, element_, 1);
    Value other = outside(1);
    std::optional<WindowAccess> byRow = rows();
    for (const std::vector<int64_t>& group : vectors_.groups) {
      Registers registers;
      for (int64_t r : group) {
        registers.push_back(fromMemory(to_, loadAt(access, byRow, r, 1, type, other), element_, 1)[0]);
      }
      loaded.push_back(toMemory(to_, registers, element_));
    }
    return loaded;
  }

  Lowering& to_;
  tile::LoadOp op_;
  Type element_;
  const LinearLayout& layout_;
  WindowVectors vectors_;
  WindowAccess access_;
  Value padding_;
  bool padsWithZeros_ = true;
};

LogicalResult load(Lowering& to, tile::LoadOp op) {
  to.set(op.getResult(), WindowLoad(to, op).emit());
  return success();
}

/// What a thread has of a tile goes to its window: one(address, elements, predicate) for each vector, or for each element where the array
/// ends within one.
template <typename Op, typename One>
LogicalResult write(Lowering& to, Op op, One one) {
  RankedTensorType type = op.getValue().getType();
  const LinearLayout& layout = *tilegpu::layoutOf(type);
  WindowVectors vectors =
      windowVectors(op.getPtr(), op.getBoundaryCheck(), tilegpu::extentsOf(op), layout, tilegpu::elementBits(type.getElementType()));
  WindowAccess access(to, op.getPtr().getType(), to.window(op.getPtr()), op.getBoundaryCheck(), tilegpu::extentsOf(op), layout);
  Value holder = isHolder(to, holdersOf(layout));
  const Registers& registers = to.registers(op.getValue());
  auto put = [&](WindowAccess& with, ArrayRef<int64_t> group) {
    SmallVector<Value> elements;
    for (int64_t r : group) elements.push_back(registers[static_cast<size_t>(r)]);
    one(with.address(group[0]), elements, both(to.b, holder, with.inside(group[0])));
  };
  auto whole = [&](WindowAccess& with) {
    for (const std::vector<int64_t>& group : vectors.groups) put(with, group);
    return SmallVector<Value>();
  };
  auto each = [&](WindowAccess& with) {
    for (const std::vector<int64_t>& group : vectors.groups)
      for (int64_t r : group) put(with, r);
    return SmallVector<Value>();
  };
  if (vectors.mayBeCut)
    branchWhereCut(to, access, vectors, {}, whole, each);
  else
    whole(access);
  return success();
}

LogicalResult store(Lowering& to, tile::StoreOp op) {
  Type element = op.getValue().getType().getElementType();
  return write(to, op, [&](Value address, ValueRange elements, Value predicate) {
    to.machine.storeGlobal(to.b, address, toMemory(to, elements, element), predicate);
  });
}

LogicalResult accumulate(Lowering& to, tile::AccumulateOp op) {
  return write(to, op,
               [&](Value address, ValueRange elements, Value predicate) { to.machine.accumulateGlobal(to, address, elements, predicate); });
}

}  // namespace

void Machine::accumulateGlobal(Lowering& to, Value address, ValueRange elements, Value predicate) {
  for (auto [i, element] : llvm::enumerate(elements)) {
    Value at = LLVM::GEPOp::create(to.b, address.getType(), element.getType(), address, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    atomicAdd(to.b, at, element, predicate, tile::MemoryOrder::relaxed, /*used=*/false);
  }
}

LogicalResult lowerGlobal(Lowering& to, Operation* op) {
  return llvm::TypeSwitch<Operation*, LogicalResult>(op)
      .Case([&](tile::LoadOp one) { return load(to, one); })
      .Case([&](tile::StoreOp one) { return store(to, one); })
      .Case([&](tile::AccumulateOp one) { return accumulate(to, one); })
      .Default([](Operation* other) { return other->emitOpError() << "does not access a window of global memory"; });
}

}  // namespace fattn::gpu
