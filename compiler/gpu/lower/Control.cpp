// SPDX-License-Identifier: Apache-2.0
// Loops and branches carry registers, and tile.select_lazy becomes a branch.
//
//   %r = scf.for ... iter_args(%x = %x0) -> tensor<16x8xf32, #acc>        =>       %r:4 = scf.for ... iter_args(%x_0 = ..., ... %x_3 = ...)
//   %y = tile.select_lazy %c usual(%u) { exact }                          =>       %y:4 = scf.if (any lane's %c) { exact } else { %u }
//   %t = scf.if %c { tile.load } else { zeros }                           =>       loads under the predicate %c, where a machine prefers
//   that
//
// Registers that hold copies of one element are carried once; tokens and buffers have no value to carry.
//
// Who decides about a lazy branch, each warp or the block: compiler/gpu/dialect/WarpDecisions.h.
#include <map>

#include "compiler/gpu/dialect/WarpDecisions.h"
#include "compiler/gpu/lower/Lowering.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

using layout::Coords, layout::kRegister, layout::LinearLayout;

/// For each register the first that holds the same element in every thread.
std::vector<size_t> firstHolders(const LinearLayout& layout) {
  std::map<Coords, size_t> first;
  std::vector<size_t> result;
  for (int64_t r = 0; r < layout.inputSize(kRegister); ++r)
    result.push_back(first.emplace(Lowering::registerPart(layout, r), static_cast<size_t>(r)).first->second);
  return result;
}

/// How many elements share a carried word: LLVM would keep each number of 8 or 16 bits in a register of its own.
size_t elementsInWord(Type element) {
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
  return bits == 8 || bits == 16 ? 32 / bits : 1;
}

/// The registers that are carried: of those that hold one element the first.
SmallVector<size_t> carriedRegisters(const LinearLayout& layout) {
  SmallVector<size_t> result;
  for (auto [r, first] : llvm::enumerate(firstHolders(layout)))
    if (first == r) result.push_back(r);
  return result;
}

/// The values of a source value in the lowered function.
void flatten(Lowering& to, Value value, SmallVectorImpl<Value>& out) {
  Type type = value.getType();
  if (isa<tilegpu::TokenType, tilegpu::BufferType>(type)) return;
  if (isa<tile::BlockPtrType>(type)) {
    const Window& window = to.window(value);
    out.push_back(window.base);
    for (const auto* part : {&window.shape, &window.strides, &window.offsets}) llvm::append_range(out, *part);
  } else if (const LinearLayout* layout = tilegpu::layoutOf(type)) {
    const Registers& registers = to.registers(value);
    Registers carried;
    for (size_t r : carriedRegisters(*layout)) carried.push_back(registers[r]);
    size_t group = elementsInWord(carried.front().getType());
    for (ArrayRef<Value> rest = carried; !rest.empty(); rest = rest.drop_front(std::min(group, rest.size()))) {
      ArrayRef<Value> word = rest.take_front(group);
      out.push_back(group > 1 && word.size() == group ? to.pack(word, to.b.getI32Type()) : word.front());
      if (word.size() < group) out.append(word.begin() + 1, word.end());
    }
  } else {
    out.push_back(to.scalar(value));
  }
}

SmallVector<Value> flatten(Lowering& to, ValueRange values) {
  SmallVector<Value> result;
  for (Value value : values) flatten(to, value, result);
  return result;
}

/// Their types.
SmallVector<Type> flatTypes(Lowering& to, TypeRange types) {
  SmallVector<Type> result;
  for (Type type : types) {
    if (isa<tilegpu::TokenType, tilegpu::BufferType>(type)) continue;
    if (auto pointer = dyn_cast<tile::BlockPtrType>(type)) {
      result.push_back(LLVM::LLVMPointerType::get(type.getContext(), 1));
      result.append(static_cast<size_t>(3 * pointer.getRank()), to.b.getI64Type());
    } else if (const LinearLayout* layout = tilegpu::layoutOf(type)) {
      Type element = to.registerType(cast<RankedTensorType>(type).getElementType());
      size_t group = elementsInWord(element), count = carriedRegisters(*layout).size();
      if (group > 1) result.append(count / group, to.b.getI32Type());
      result.append(group > 1 ? count % group : count, element);
    } else {
      result.push_back(to.registerType(type));
    }
  }
  return result;
}

/// A tile's registers from the words that `take` gives.
Registers unpacked(Lowering& to, RankedTensorType type, const LinearLayout& layout, llvm::function_ref<ValueRange(size_t)> take) {
  Type element = to.registerType(type.getElementType());
  size_t group = elementsInWord(element), left = carriedRegisters(layout).size();
  Registers carried;
  while (left > 0) {
    bool packed = group > 1 && left >= group;
    if (packed) {
      llvm::append_range(carried, to.unpack(take(1).front(), element, static_cast<int>(group)));
    } else {
      carried.push_back(take(1).front());
    }
    left -= packed ? group : 1;
  }
  Registers registers;
  for (size_t next = 0; auto [r, first] : llvm::enumerate(firstHolders(layout)))
    registers.push_back(first == r ? carried[next++] : registers[first]);
  return registers;
}

/// The opposite of flatten: takes a source value's part from the front.
void assign(Lowering& to, Value value, ValueRange& flat) {
  Type type = value.getType();
  auto take = [&](size_t count) {
    ValueRange taken = flat.take_front(count);
    flat = flat.drop_front(count);
    return taken;
  };
  if (isa<tilegpu::TokenType, tilegpu::BufferType>(type)) return;
  if (auto pointer = dyn_cast<tile::BlockPtrType>(type)) {
    auto rank = static_cast<size_t>(pointer.getRank());
    Window window;
    window.base = take(1).front();
    for (auto* part : {&window.shape, &window.strides, &window.offsets}) llvm::append_range(*part, take(rank));
    to.set(value, std::move(window));
  } else if (const LinearLayout* layout = tilegpu::layoutOf(type)) {
    to.set(value, unpacked(to, cast<RankedTensorType>(type), *layout, take));
  } else {
    to.setScalar(value, take(1).front());
  }
}

void assign(Lowering& to, ValueRange values, ValueRange flat) {
  for (Value value : values) assign(to, value, flat);
}

LogicalResult verifyCarried(Operation* op, TypeRange types) {
  for (Type type : types)
    if (isa<tilegpu::BufferType>(type)) return op->emitOpError() << "cannot carry a buffer; legal is a slot number";
  return success();
}

/// A source region of one block becomes this empty block. `arguments` of the source are those of the block, flattened; `finish` gets what
/// the source yields.
LogicalResult lowerRegion(Lowering& to, Block& source, Block& into, ValueRange arguments, ValueRange flat,
                          llvm::function_ref<void(ValueRange)> finish) {
  OpBuilder::InsertionGuard guard(to.b);
  to.b.setInsertionPointToStart(&into);
  assign(to, arguments, flat);
  if (failed(to.lowerBlock(source))) return failure();
  to.b.setLoc(source.getTerminator()->getLoc());
  finish(flatten(to, source.getTerminator()->getOperands()));
  return success();
}

auto yieldTo(Lowering& to) {
  return [&to](ValueRange yielded) { scf::YieldOp::create(to.b, yielded); };
}

LogicalResult lower(Lowering& to, scf::ForOp op) {
  if (failed(verifyCarried(op, op.getResultTypes()))) return failure();
  auto loop = scf::ForOp::create(to.b, to.scalar(op.getLowerBound()), to.scalar(op.getUpperBound()), to.scalar(op.getStep()),
                                 flatten(to, op.getInitArgs()));
  for (NamedAttribute attribute : op->getDiscardableAttrs()) loop->setAttr(attribute.getName(), attribute.getValue());
  to.setScalar(op.getInductionVar(), loop.getInductionVar());
  Block& body = *loop.getBody();
  if (!body.empty()) body.clear();  // without carried values the builder has put a terminator there
  if (failed(lowerRegion(to, *op.getBody(), body, op.getRegionIterArgs(), loop.getRegionIterArgs(), yieldTo(to)))) return failure();
  to.b.setInsertionPointAfter(loop);
  assign(to, op.getResults(), loop.getResults());
  return success();
}

/// Whether the branch is one load, and zeros where it is not taken.
bool isGuardedLoad(scf::IfOp op) {
  if (!op.elseBlock() || op.getNumResults() != 1) return false;
  auto load = op.thenYield().getOperand(0).getDefiningOp<tile::LoadOp>();
  auto isZero = [](Attribute number) { return matchPattern(number, m_Zero()) || matchPattern(number, m_PosZeroFloat()); };
  DenseElementsAttr other;
  return load && &op.thenBlock()->front() == load && load->getNextNode() == op.thenYield() && tile::isTile(load.getResult().getType()) &&
         (!load.getPadding() || isZero(*load.getPadding())) && matchPattern(op.elseYield().getOperand(0), m_Constant(&other)) &&
         other.isSplat() && isZero(other.getSplatValue<Attribute>());
}

LogicalResult lowerGuardedLoad(Lowering& to, scf::IfOp op) {
  Value outer = to.loadPredicate, condition = to.scalar(op.getCondition());
  to.loadPredicate = outer ? arith::AndIOp::create(to.b, outer, condition).getResult() : condition;
  LogicalResult lowered = to.lowerBlock(*op.thenBlock());
  to.loadPredicate = outer;
  if (failed(lowered)) return failure();
  Registers loaded = to.registers(op.thenYield().getOperand(0));
  to.set(op.getResult(0), std::move(loaded));
  return success();
}

LogicalResult lower(Lowering& to, scf::IfOp op) {
  if (to.machine.prefersPredicates() && isGuardedLoad(op)) return lowerGuardedLoad(to, op);
  if (failed(verifyCarried(op, op.getResultTypes()))) return failure();
  auto branch = scf::IfOp::create(to.b, flatTypes(to, op.getResultTypes()), to.scalar(op.getCondition()), /*addThenBlock=*/true,
                                  /*addElseBlock=*/op.elseBlock() != nullptr);
  for (auto [source, into] : {std::pair(op.thenBlock(), branch.thenBlock()), std::pair(op.elseBlock(), branch.elseBlock())}) {
    if (!source) continue;
    into->clear();
    if (failed(lowerRegion(to, *source, *into, {}, {}, yieldTo(to)))) return failure();
  }
  to.b.setInsertionPointAfter(branch);
  assign(to, op.getResults(), branch.getResults());
  return success();
}

LogicalResult lower(Lowering& to, scf::WhileOp op) {
  if (failed(verifyCarried(op, op.getOperandTypes())) || failed(verifyCarried(op, op.getResultTypes()))) return failure();
  SmallVector<Value> inits = flatten(to, op.getInits());
  SmallVector<Type> results = flatTypes(to, op.getResultTypes());
  auto loop = scf::WhileOp::create(to.b, results, inits);
  auto addBlock = [&](Region& region, TypeRange types) {
    OpBuilder::InsertionGuard guard(to.b);
    return to.b.createBlock(&region, {}, types, SmallVector<Location>(types.size(), op.getLoc()));
  };
  Block *before = addBlock(loop.getBefore(), ValueRange(inits).getTypes()), *after = addBlock(loop.getAfter(), results);
  // The terminator's first operand is the condition, a scalar.
  auto test = [&](ValueRange yielded) { scf::ConditionOp::create(to.b, yielded.front(), yielded.drop_front()); };
  if (failed(lowerRegion(to, *op.getBeforeBody(), *before, op.getBeforeArguments(), before->getArguments(), test)) ||
      failed(lowerRegion(to, *op.getAfterBody(), *after, op.getAfterArguments(), after->getArguments(), yieldTo(to))))
    return failure();
  to.b.setInsertionPointAfter(loop);
  assign(to, op.getResults(), loop.getResults());
  return success();
}

/// The condition of the branch: a scalar is the same in the block; a tile's conditions are gathered as far as they have to be. The vote
/// gathers what lanes have of a row's, too.
Value anyCondition(Lowering& to, tile::SelectLazyOp op) {
  if (!tilegpu::layoutOf(op.getCondition())) return to.scalar(op.getCondition());
  auto reduce = op.getCondition().getDefiningOp<tile::ReduceOp>();
  Value voted = reduce && isVote(reduce) ? reduce.getInputs().front() : op.getCondition();
  const LinearLayout* conditions = tilegpu::layoutOf(voted);
  const Registers registers = to.registers(voted);
  Value any;
  for (auto [r, first] : llvm::enumerate(firstHolders(*conditions)))
    if (first == r) any = any ? arith::OrIOp::create(to.b, any, registers[r]).getResult() : registers[r];
  if (tilegpu::decidesWithinWarp(op)) return to.machine.anyInWarp(to.b, any);
  auto place = op->getAttrOfType<IntegerAttr>(tilegpu::kVotesAttr);
  return to.machine.anyInBlock(to, any, place ? std::optional(place.getInt()) : std::nullopt);
}

LogicalResult lower(Lowering& to, tile::SelectLazyOp op) {
  Value any = anyCondition(to, op);
  SmallVector<Value> usual;
  if (to.machine.keepsUsualSidesEmpty()) usual = flatten(to, op.getUsual());
  auto branch = scf::IfOp::create(to.b, flatTypes(to, op.getResultTypes()), any, /*addThenBlock=*/true, /*addElseBlock=*/true);
  if (failed(lowerRegion(to, op.getExact().front(), *branch.thenBlock(), {}, {}, yieldTo(to)))) return failure();
  {
    OpBuilder::InsertionGuard guard(to.b);
    to.b.setInsertionPointToStart(branch.elseBlock());
    yieldTo(to)(to.machine.keepsUsualSidesEmpty() ? usual : flatten(to, op.getUsual()));
  }
  to.b.setInsertionPointAfter(branch);
  assign(to, op.getResults(), branch.getResults());
  return success();
}

}  // namespace

LogicalResult lowerControl(Lowering& to, Operation* op) {
  return llvm::TypeSwitch<Operation*, LogicalResult>(op)
      .Case<scf::ForOp, scf::IfOp, scf::WhileOp, tile::SelectLazyOp>([&](auto control) { return lower(to, control); })
      .Default([](Operation* other) {
        return other->emitOpError() << "has no lowering for a GPU; legal are scf.for, scf.if, scf.while and tile.select_lazy";
      });
}

}  // namespace fattn::gpu
