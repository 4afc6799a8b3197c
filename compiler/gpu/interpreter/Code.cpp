// SPDX-License-Identifier: Apache-2.0
// Control flow becomes jumps:
//
//   scf.for %i = %lo to %hi step %s iter_args(%x = %a) {        i = lo; x = a
//     ...                                                   L:  if not i < hi go to X
//     scf.yield %y                                     =>       ...
//   }                                                           x = y; i = i + s; go to L
//                                                           X:  results = x
#include "compiler/gpu/interpreter/Code.h"

#include "fattn/Error.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

namespace fattn::adversary {

using Kind = Instruction::Kind;

std::vector<int> Flattener::slots(ValueRange values) {
  std::vector<int> result;
  for (Value value : values) result.push_back(slot(value));
  return result;
}

std::shared_ptr<const Distribution> Flattener::distribution(const layout::LinearLayout& layout) {
  auto key = tilegpu::RegsAttr::get(kernel_.getContext(), layout);
  auto& known = distributions_[key];
  if (!known) known = std::make_shared<const Distribution>(layout);
  return known;
}

std::shared_ptr<const Distribution> Flattener::distribution(Type tile) {
  const layout::LinearLayout* layout = tilegpu::layoutOf(tile);
  if (!layout) {
    std::string text;
    llvm::raw_string_ostream(text) << tile;
    throw Error(ErrorCode::InvalidArgument, "a tile of type " + text + " has no layout; -tilegpu-assign-layouts gives it one");
  }
  return distribution(*layout);
}

std::size_t Flattener::emit(Instruction instruction) {
  code_.instructions.push_back(std::move(instruction));
  return code_.instructions.size() - 1;
}

void Flattener::jumpTo(Operation* op, std::size_t target) {
  emit({.kind = Kind::Branch, .op = op, .act = {}, .test = [](auto&, auto&) { return false; }, .target = target});
}

Action Flattener::assign(ValueRange to, ValueRange from) {
  return [to = slots(to), from = slots(from)](Block&, Warp& warp) {
    if (to.size() == 1) {
      warp.values[to[0]] = warp.values[from[0]];
      return;
    }
    std::vector<Datum> data;
    for (int slot : from) data.push_back(warp.values[slot]);
    for (std::size_t i = 0; i < to.size(); ++i) warp.values[to[i]] = std::move(data[i]);
  };
}

void Flattener::block(mlir::Block& block) {
  for (Operation& op : block.without_terminator()) visit(&op);
}

namespace {

void enterLoop(Warp& warp) { warp.loops.push_back({warp.path, 0}); }
void nextTrip(Warp& warp) {
  Warp::Loop& loop = warp.loops.back();
  warp.path = (loop.outer ^ ++loop.trip) * 0x9E3779B1U + 0x7F4A7C15U;
}
void leaveLoop(Warp& warp) {
  warp.path = warp.loops.back().outer;
  warp.loops.pop_back();
}

/// Numbers of a loop's induction variable in order.
struct Before {
  Type type;
  bool isUnsigned;
  bool operator()(int64_t a, int64_t b) const {
    return isUnsigned ? interpreter::asUnsigned(a, type) < interpreter::asUnsigned(b, type) : a < b;
  }
};

}  // namespace

void Flattener::visit(scf::ForOp loop) {
  Before before{loop.getInductionVar().getType(), loop.getUnsignedCmp()};
  int at = slot(loop.getInductionVar()), low = slot(loop.getLowerBound()), high = slot(loop.getUpperBound()), step = slot(loop.getStep());
  Operation* op = loop;
  act(op, [=](Block&, Warp& warp) {
    if (warp.values[step].scalar.i <= 0) interpreter::fail(op, "needs a positive step");
    warp.values[at].scalar = warp.values[low].scalar;
    enterLoop(warp);
  });
  act(op, assign(loop.getRegionIterArgs(), loop.getInitArgs()));
  std::size_t head = emit({.kind = Kind::Branch, .op = op, .act = {}, .test = [=](Block&, Warp& warp) {
                             return before(warp.values[at].scalar.i, warp.values[high].scalar.i);
                           }});
  act(op, [](Block&, Warp& warp) { nextTrip(warp); });
  block(*loop.getBody());
  act(op, assign(loop.getRegionIterArgs(), loop.getYieldedValues()));
  act(op, [=](Block&, Warp& warp) {
    int64_t now = warp.values[at].scalar.i;
    int64_t next = interpreter::wrapTo(static_cast<uint64_t>(now) + static_cast<uint64_t>(warp.values[step].scalar.i), before.type);
    // Beyond the last number of the type there is no further trip.
    warp.values[at].scalar.i = before(now, next) ? next : warp.values[high].scalar.i;
  });
  jumpTo(op, head);
  patch(head);
  act(op, [](Block&, Warp& warp) { leaveLoop(warp); });
  act(op, assign(loop.getResults(), loop.getRegionIterArgs()));
}

void Flattener::visit(scf::WhileOp loop) {
  Operation* op = loop;
  act(op, [](Block&, Warp& warp) { enterLoop(warp); });
  act(op, assign(loop.getBeforeArguments(), loop.getInits()));
  std::size_t head = act(op, [](Block&, Warp& warp) { nextTrip(warp); });
  block(*loop.getBeforeBody());
  scf::ConditionOp condition = loop.getConditionOp();
  std::size_t exit = emit({.kind = Kind::Branch, .op = op, .act = {}, .test = [goOn = slot(condition.getCondition())](Block&, Warp& warp) {
                             return warp.values[goOn].scalar.i != 0;
                           }});
  act(op, assign(loop.getAfterArguments(), condition.getArgs()));
  block(*loop.getAfterBody());
  act(op, assign(loop.getBeforeArguments(), loop.getYieldOp()->getOperands()));
  jumpTo(op, head);
  patch(exit);
  act(op, [](Block&, Warp& warp) { leaveLoop(warp); });
  act(op, assign(loop.getResults(), condition.getArgs()));
}

void Flattener::visit(scf::IfOp branch) {
  auto test = [condition = slot(branch.getCondition())](Block&, Warp& warp) { return warp.values[condition].scalar.i != 0; };
  std::size_t start = emit({.kind = Kind::Branch, .op = branch, .act = {}, .test = test});
  auto side = [&](mlir::Block* body) {
    if (!body) return;
    block(*body);
    act(branch, assign(branch.getResults(), body->getTerminator()->getOperands()));
  };
  side(branch.thenBlock());
  std::size_t end = emit({.kind = Kind::Branch, .op = branch, .act = {}, .test = [](auto&, auto&) { return false; }});
  patch(start);
  side(branch.elseBlock());
  patch(end);
}

namespace {

std::set<int64_t> rowsOf(const Distribution& tile, int64_t warp) {
  int64_t perRow = tile.shape().empty() ? 1 : tile.elementCount() / tile.shape()[0];
  std::set<int64_t> rows;
  for (int32_t element : tile.elements(warp)) rows.insert(element / perRow);
  return rows;
}

/// Whether each warp has the conditions of all rows of the results it holds, and warps that share a row have the same conditions.
bool warpDecides(const Distribution& conditions, const Distribution& results) {
  std::vector<std::set<int64_t>> known, needed;
  for (int64_t warp = 0; warp < results.warps(); ++warp) {
    known.push_back(rowsOf(conditions, warp));
    needed.push_back(rowsOf(results, warp));
    if (!std::ranges::includes(known.back(), needed.back())) return false;
    for (int64_t other = 0; other < warp; ++other) {
      bool share = std::ranges::any_of(needed[other], [&](int64_t row) { return needed.back().contains(row); });
      if (share && known[other] != known.back()) return false;
    }
  }
  return true;
}

}  // namespace

/// Whether each warp may decide by itself: nothing in the region needs the others, and no row's results come from two sides.
bool Flattener::warpsDecide(tile::SelectLazyOp lazy) {
  auto visit = [&](Operation* op) {
    if (op->hasTrait<tilegpu::NeedsAllWarps>()) return WalkResult::interrupt();
    auto inner = dyn_cast<tile::SelectLazyOp>(op);
    if (!inner || !tilegpu::layoutOf(inner.getCondition())) return WalkResult::advance();
    return warpsDecide(inner) ? WalkResult::skip() : WalkResult::interrupt();
  };
  if (lazy.getExact().walk<WalkOrder::PreOrder>(visit).wasInterrupted()) return false;
  auto conditions = distribution(lazy.getCondition());
  return llvm::all_of(lazy.getResultTypes(),
                      [&](Type type) { return tilegpu::layoutOf(type) && warpDecides(*conditions, *distribution(type)); });
}

void Flattener::visit(tile::SelectLazyOp lazy) {
  int condition = slot(lazy.getCondition());
  uint64_t place = code_.instructions.size();
  bool isTile = tilegpu::layoutOf(lazy.getCondition()) != nullptr, alone = isTile && warpsDecide(lazy);
  std::vector<uint64_t> deciders;  // what warps that decide alike have in common
  if (isTile) {
    auto conditions = distribution(lazy.getCondition());
    for (int64_t warp = 0; warp < conditions->warps(); ++warp)
      deciders.push_back(alone ? 1 + static_cast<uint64_t>(*rowsOf(*conditions, warp).begin()) : 0);
  }
  auto test = [=](Block& block, Warp& warp) {
    if (block.run.order.lazy == Lazy::Everywhere) return true;
    if (block.run.order.lazy == Lazy::Random && block.choose(warp, place, isTile ? deciders[warp.number] : 0)) return true;
    if (!isTile) return warp.values[condition].scalar.i != 0;
    return std::ranges::any_of(*warp.values[condition].tile, [](const Element& e) { return e.i != 0; });
  };
  std::size_t start = emit({.kind = isTile && !alone ? Kind::Vote : Kind::Branch, .op = lazy, .act = {}, .test = test});
  mlir::Block& exact = lazy.getExact().front();
  block(exact);
  act(lazy, assign(lazy.getResults(), exact.getTerminator()->getOperands()));
  std::size_t end = emit({.kind = Kind::Branch, .op = lazy, .act = {}, .test = [](auto&, auto&) { return false; }});
  patch(start);
  act(lazy, assign(lazy.getResults(), lazy.getUsual()));
  patch(end);
}

void Flattener::visit(tile::AtomicAddOp add) {
  auto [first, second] = atomicActions(*this, add);
  act(add, std::move(first));
  if (!second) return;
  emit({.kind = Kind::Meet, .op = add, .act = {}, .test = {}});
  act(add, std::move(second));
  emit({.kind = Kind::Meet, .op = add, .act = {}, .test = {}});
}

void Flattener::visit(tilegpu::OwnerOnlyOp owned) {
  const int64_t size = *tilegpu::targetOf(owned).warpGroup, groups = tilegpu::warpsOf(owned) / size;
  auto test = [=, turn = slot(owned.getTurn())](Block&, Warp& warp) { return warp.number / size == warp.values[turn].scalar.i % groups; };
  std::size_t start = emit({.kind = Kind::Branch, .op = owned, .act = {}, .test = test});
  block(owned.getBody().front());
  std::size_t end = emit({.kind = Kind::Branch, .op = owned, .act = {}, .test = [](auto&, auto&) { return false; }});
  patch(start);
  act(owned, passOwned(*this, owned));
  patch(end);
}

/// The programs are the trips of a loop.
void Flattener::visit(tilegpu::EachProgramOp each) {
  Operation* op = each;
  auto programsOf = [axis = each.getAxis(), dynamic = each.getDynamic()](const Block& block) {
    const interpreter::Grid& grid = block.run.grid;
    if (dynamic) return tilegpu::dealtPrograms(int64_t{grid[0]} * grid[1] * grid[2], block.id[0], block.run.blocks, block.run.order.seed);
    return tilegpu::programsOf({grid[0], grid[1], grid[2]}, axis, block.id[0], block.run.blocks);
  };
  mlir::Block& body = each.getBody().front();
  auto carried = body.getArguments().take_back(each.getInits().size());
  act(op, [](Block&, Warp& warp) { enterLoop(warp); });
  act(op, assign(carried, each.getInits()));
  std::size_t head = emit({.kind = Kind::Branch, .op = op, .act = {}, .test = [=](Block& block, Warp& warp) {
                             return warp.loops.back().trip < std::ssize(programsOf(block));
                           }});
  act(op, [=, ids = slots(body.getArguments())](Block& block, Warp& warp) {
    const interpreter::Grid& grid = block.run.grid;
    int64_t number = programsOf(block)[static_cast<std::size_t>(warp.loops.back().trip)], rows = number / grid[0];
    warp.values[ids[0]].scalar = Element::integer(number % grid[0]);
    warp.values[ids[1]].scalar = Element::integer(rows % grid[1]);
    warp.values[ids[2]].scalar = Element::integer(rows / grid[1]);
    if (ids.size() > 3) warp.values[ids[3]].scalar = Element::integer(warp.loops.back().trip);
    nextTrip(warp);
  });
  block(body);
  act(op, assign(carried, body.getTerminator()->getOperands()));
  jumpTo(op, head);
  patch(head);
  act(op, [](Block&, Warp& warp) { leaveLoop(warp); });
}

void Flattener::visit(Operation* op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) return visit(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op)) return visit(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op)) return visit(branch);
  if (auto lazy = dyn_cast<tile::SelectLazyOp>(op)) return visit(lazy);
  if (auto add = dyn_cast<tile::AtomicAddOp>(op)) return visit(add);
  if (auto each = dyn_cast<tilegpu::EachProgramOp>(op)) return visit(each);
  if (auto owned = dyn_cast<tilegpu::OwnerOnlyOp>(op)) return visit(owned);
  if (isa<tilegpu::BarrierOp>(op)) {
    emit({.kind = Kind::Barrier, .op = op, .act = {}, .test = {}});
    return;
  }
  if (isa<tilegpu::AllocOp, tilegpu::SetRegistersOp, tilegpu::ClaimProgramOp, tilegpu::TakeProgramOp, tilegpu::AwaitSentOp,
          tilegpu::AwaitLaunchesOp, tile::DevicePrintOp>(op))
    return;
  for (auto family : {boxAction, roleAction})
    if (std::optional<Awaited> awaited = family(*this, op)) {
      if (awaited->ready) emit({.kind = Kind::Await, .op = op, .act = {}, .test = std::move(awaited->ready)});
      act(op, std::move(awaited->act));
      return;
    }
  for (auto family : {elementwiseAction, shapeAction, computeAction, globalAction, sharedAction})
    if (Action action = family(*this, op)) {
      act(op, std::move(action));
      return;
    }
  interpreter::fail(op, "is not known to the interpreter of tilegpu", ErrorCode::Unsupported);
}

Code Flattener::run() {
  if (!kernel_.getBody().hasOneBlock()) throw Error(ErrorCode::InvalidArgument, "the kernel must have a body of one block");
  code_.arguments = slots(kernel_.getArguments());
  code_.warps = tilegpu::warpsOf(kernel_);
  code_.copiers = tilegpu::copierWarpsOf(kernel_) ? 1 : 0;
  kernel_.walk([&](tilegpu::IsCopierOp test) {
    if (auto thread = test.getThread()) code_.copiers = std::max(code_.copiers, static_cast<int64_t>(*thread) + 1);
  });
  code_.repeats = kernel_->hasAttr(tilegpu::kRepeatsAttr);
  code_.lanes = tilegpu::targetOf(kernel_).warpSize;
  if (auto bytes = kernel_->getAttrOfType<IntegerAttr>(tilegpu::kSharedBytesAttr)) code_.sharedBytes = bytes.getInt();
  block(kernel_.getBody().front());
  emit({.kind = Kind::End, .op = kernel_.getBody().front().getTerminator(), .act = {}, .test = {}});
  code_.values = slots_.size();
  return std::move(code_);
}

}  // namespace fattn::adversary
