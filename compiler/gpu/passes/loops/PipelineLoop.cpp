// SPDX-License-Identifier: Apache-2.0
// Overlaps the trips of a loop, with upstream's software pipelining doing the renaming:
//
//   scf.for %i = %lo to %hi step %n {                 (trips -ahead .. -1: copies only, each if it is in range)
//     %t = copy_async %p(%i), %b[0]                   scf.for %i = ... iter_args(%t0, ..., %in, %out) {
//     copy_wait %t                             =>       copy_wait %t0
//     %x = load_buffer %b[0]                            %tn = copy_async %p(%i + ahead * n), %b[%in] if in range
//     ...                                               %x = load_buffer %b[%out]
//   }                                                   ...
//
// - A copy's stage is `ahead` before its first reader's, or as many trips as the schedule says (gpu/schedule/CopyDistances.h). A buffer
// that is filled once an iteration, by a copy or a store, gets a slot for
//   each stage from what fills it to its last reader. The number of the slot is the iteration's modulo the slots, counted in one carried
//   i32 for every stage and modulus in use.
// - A trip waits for all its copies at its first wait: they had a trip's time to arrive, and one barrier then serves for all of them
//   (Waits::Apart: each where its data is read).
// - Copies stand behind the waits before the trip's first read: the barrier that these need anyway separates the readers of the trip
//   before from the copies that refill their slots (PlaceWaits, PlaceBarriers).
// - Where all warps meet behind the last reader of a copy's slot, for an exchange between them, the copy stands behind that and fills the
//   slot that was read: it runs one trip further ahead, with as many slots. A copy with one slot stands behind the last reader itself.
// - A load into registers that only feeds a store_buffer is one trip ahead of the store and stands behind it, where its registers are free.
//   All such stores of a trip stand where the first does (Waits::Together): two barriers then serve for all of them.
// - What an address is loaded from memory is loaded one trip before the copy, which then need not wait for it.
// - What addresses are computed from is repeated for the copies where it follows from the induction variable, else it moves to their
//   stage.
// - A slot that an engine fills in boxes, or one warp group for others, is released behind its last reader; where that is a dot that runs
//   on, in the next trip.
// - In the last trips, copies of what would lie outside of the loop are predicated; a wait behind the loop ends all that are in flight.
// - Where the rest has two stages, the first trip's early stage runs before the loop and the last trip's late stage behind it: the loop
//   itself has one trip less, and no predicates but the copies'. All of it stands in a branch that is taken when there is a trip at all.
#include "compiler/gpu/passes/loops/PipelineLoop.h"

#include "compiler/gpu/dialect/SourceLabels.h"
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/DotShapes.h"
#include "compiler/gpu/passes/loops/LastTrip.h"
#include "compiler/gpu/passes/loops/MemoryOrder.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

/// Whether what uses a load's result reads shared memory in the load's place: a matrix unit does, and a transposition is only another view.
bool readsInPlace(OpOperand& use) {
  auto dot = dyn_cast<tile::DotOp>(use.getOwner());
  return isa<tile::TransOp>(use.getOwner()) || (dot && isReadFromShared(dot, use.getOperandNumber()));
}

class Pipeliner {
 public:
  Pipeliner(scf::ForOp loop, ArrayRef<Operation*> fetches, int64_t ahead, Waits waits, StagedOps compute, CopyDistances distances)
      : loop(loop),
        fetches(fetches),
        ahead(fetches.empty() ? 0 : ahead),
        waits(waits),
        order(std::move(compute)),
        distances(std::move(distances)) {
    for (auto [op, s] : order) stage[op] = s, lateStages |= s != 0 || op->hasAttr(kRunsOnAttr);
  }

  FailureOr<scf::ForOp> run() {
    limitByTrips();
    if (mayRefill) findRefills();
    if (ahead == 0 && !lateStages && refills.empty()) return loop;
    for (Operation* fetch : fetches) filled.insert(bufferOf(fetch));
    if (ahead > 0 && mayRefill) findEarlyAddresses();
    shift = ahead;
    for (Operation* fetch : fetches) shift = std::max(shift, ahead + refills.contains(fetch) + earlyAddresses.contains(fetch));
    for (auto& [op, s] : order) s += shift, stage[op] = s;
    if ((ahead > 0 || !refills.empty()) && waits == Waits::Together) gatherWaits(), gatherStores();
    for (Operation* fetch : fetches) placeFetch(fetch);
    giveSlots();
    wrapYields();
    if (lateStages) guardTrips();
    return pipeline();
  }

 private:
  /// A loop of few trips, known now, is not overlapped by more.
  void limitByTrips() {
    auto lower = getConstantIntValue(loop.getLowerBound()), upper = getConstantIntValue(loop.getUpperBound()),
         step = getConstantIntValue(loop.getStep());
    if (!lower || !upper || !step || *step <= 0) return;
    int64_t trips = std::max<int64_t>(0, llvm::divideCeil(std::max<int64_t>(0, *upper - *lower), *step));
    if (trips < 2 && lateStages) {
      lateStages = false;
      for (auto& [op, s] : order) s = 0, stage[op] = 0, op->removeAttr(kRunsOnAttr);
      llvm::sort(order, [](auto& a, auto& b) { return a.first->isBeforeInBlock(b.first); });
    }
    ahead = std::min(ahead, std::max<int64_t>(0, trips - 1));
    mayRefill = trips > ahead + 3;
  }

  using Place = StagedOps::iterator;
  /// First and last stage in which the body reads the buffer; where nothing does, the first stage that a copy can be ahead of.
  std::pair<unsigned, unsigned> readStages(Value buffer) {
    unsigned first = ~0U, last = 0;
    for (Operation* user : buffer.getUsers()) {
      Operation* op = isa<LoadBufferOp>(user) ? inBody(loop, user) : nullptr;
      if (!op) continue;
      first = std::min(first, stage.at(op));
      last = std::max(last, stage.at(op));
    }
    if (first == ~0U) first = last = static_cast<unsigned>(shift);
    return {first, last};
  }

  /// Puts all waits for fetches behind the first.
  void gatherWaits() {
    auto isWait = [&](auto& entry) {
      auto wait = dyn_cast<CopyWaitOp>(entry.first);
      return wait && !wait.isBulk() &&
             llvm::any_of(wait.getTokens(), [&](Value token) { return llvm::is_contained(fetches, token.getDefiningOp()); });
    };
    Place first = llvm::find_if(order, isWait);
    StagedOps waiting, others;
    for (auto& entry : llvm::make_range(first, order.end())) (isWait(entry) ? waiting : others).push_back(entry);
    std::ranges::copy(others, std::ranges::copy(waiting, first).out);
  }

  /// Puts all stores of what was loaded into registers behind the first.
  void gatherStores() {
    auto isStore = [&](auto& entry) {
      auto store = dyn_cast<StoreBufferOp>(entry.first);
      return store && llvm::is_contained(fetches, store.getValue().getDefiningOp());
    };
    Place first = llvm::find_if(order, isStore);
    StagedOps storing, others;
    for (auto& entry : llvm::make_range(first, order.end())) (isStore(entry) ? storing : others).push_back(entry);
    std::ranges::copy(others, std::ranges::copy(storing, first).out);
  }

  void placeFetch(Operation* fetch) {
    auto copy = dyn_cast<CopyAsyncOp>(fetch);
    auto store = copy ? StoreBufferOp() : cast<StoreBufferOp>(*fetch->user_begin());
    unsigned first = readStages(bufferOf(fetch)).first;
    Operation* meeting = refills.lookup(fetch);
    unsigned when = first - static_cast<unsigned>(copy ? distanceOf(copy) + (meeting ? 1 : 0) : std::min<int64_t>(ahead, 1));
    SmallVector<Operation*> ops = separate(fetch, when);
    ops.push_back(fetch);
    for (Operation* op : ops) stage[op] = when;
    if (earlyAddresses.contains(fetch)) loadEarlier(ops, when - 1);
    if (meeting) return insert(ops, after(meeting));
    insert(ops, copy && distanceOf(copy) > 0 ? behindFirstWaits()
                : !copy && ahead > 0         ? behindStores(store)
                                             : before(copy ? *copy->user_begin() : store));
  }

  /// Trips that a copy runs ahead of its first reader; a loop of few trips is not overlapped by more.
  int64_t distanceOf(CopyAsyncOp copy) {
    auto known = distances.find(copy);
    return known == distances.end() ? ahead : std::min(known->second, ahead);
  }

  /// What follows from carried values is computed once for all fetches, in the first one's stage: those stay together.
  void findRefills() {
    refills = refillsOf(loop, fetches, order, ahead);
    for (Operation* fetch : fetches)
      if (llvm::any_of(sliceOf(loop, fetch), [&](Operation* op) { return dependsOnCarried(op); })) refills.erase(fetch);
  }

  /// A copy whose address is loaded would wait for that in each trip. Such a load can be one trip ahead of it.
  void findEarlyAddresses() {
    transforms::Aliasing aliasing;
    for (Operation* fetch : fetches) {
      if (!isa<CopyAsyncOp>(fetch)) continue;
      SmallVector<Operation*> slice = sliceOf(loop, fetch);
      const bool loads = llvm::any_of(slice, [](Operation* op) { return !isMemoryEffectFree(op); });
      if (!loads || llvm::any_of(slice, [&](Operation* op) { return dependsOnCarried(op); })) continue;
      if (canRunAhead(loop, fetch, ahead + refills.contains(fetch) + 1, aliasing)) earlyAddresses.insert(fetch);
    }
  }

  /// Puts what is loaded of these, and what that is computed from, into an earlier stage.
  void loadEarlier(ArrayRef<Operation*> ops, unsigned earlier) {
    llvm::SmallPtrSet<Operation*, 16> needed;
    for (Operation* op : llvm::reverse(ops)) {
      if (isa<CopyAsyncOp>(op) || (isMemoryEffectFree(op) && !needed.contains(op))) continue;
      stage[op] = earlier;
      op->walk([&](Operation* inner) {
        for (Value operand : inner->getOperands())
          if (Operation* def = operand.getDefiningOp()) needed.insert(def);
      });
    }
  }

  Place find(Operation* op) {
    return llvm::find_if(order, [&](auto& entry) { return entry.first == op; });
  }
  Place before(Operation* op) { return find(op); }
  Place after(Operation* op) { return std::next(find(op)); }
  /// Behind the store and others that follow at once, and the fetches that already are there.
  Place behindStores(StoreBufferOp store) {
    Place place = after(store);
    while (place != order.end() && (isa<StoreBufferOp>(place->first) || fetched.contains(place->first))) ++place;
    return place;
  }
  /// Behind the last wait before the first read of shared memory that the loop fills, and the fetches that already are there.
  Place behindFirstWaits() {
    auto reads = [&](auto& entry) {
      WalkResult found = entry.first->walk(
          [&](LoadBufferOp load) { return filled.contains(load.getBuffer()) ? WalkResult::interrupt() : WalkResult::advance(); });
      return found.wasInterrupted();
    };
    Place place = llvm::find_if(order, reads);
    while (place != order.begin() && !isa<CopyWaitOp>(std::prev(place)->first) && !fetched.contains(std::prev(place)->first)) --place;
    return place;
  }
  void insert(ArrayRef<Operation*> ops, Place place) {
    for (Operation* op : ops) {
      place = std::next(order.insert(place, {op, stage.at(op)}));
      fetched.insert(op);
    }
  }

  /// What the fetch is computed from, for it alone: repeated where others need it, too. What follows from carried values is shared and
  /// moves to the fetch's stage.
  SmallVector<Operation*> separate(Operation* fetch, unsigned when) {
    SmallVector<Operation*> own;
    IRMapping map;
    OpBuilder b(fetch);
    for (Operation* op : sliceOf(loop, fetch)) {
      if (fetched.contains(op)) continue;
      if (dependsOnCarried(op)) {
        if (Place place = find(op); place != order.end()) order.erase(place);
        own.push_back(op);
        continue;
      }
      own.push_back(b.clone(*op, map));
      if (auto label = sourceLabelOf(fetch)) relabelClone(own.back(), label->source + 1);
    }
    for (Operation* op : own)
      if (!map.contains(op)) remap(op, map);
    remap(fetch, map);
    return own;
  }

  static void remap(Operation* op, const IRMapping& map) {
    for (OpOperand& operand : op->getOpOperands()) operand.set(map.lookupOrDefault(operand.get()));
  }

  /// Whether the operation uses what is carried, at first or second hand, or gives it.
  bool dependsOnCarried(Operation* op) {
    auto [known, fresh] = carried.try_emplace(op, false);
    if (!fresh) return known->second;
    auto comesFrom = [&](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument) return argument.getOwner() == loop.getBody() && argument != loop.getInductionVar();
      Operation* def = value.getDefiningOp();
      return def->getBlock() == loop.getBody() && dependsOnCarried(def);
    };
    bool depends = llvm::is_contained(op->getUsers(), loop.getBody()->getTerminator()) || llvm::any_of(op->getOperands(), comesFrom);
    return carried[op] = depends;
  }

  /// Slots for the iterations that a buffer serves at once: a fetch's, or one that an operation of the body fills.
  void giveSlots() {
    SmallVector<Operation*> fills;
    for (Operation& op : loop.getBody()->without_terminator()) {
      auto copy = dyn_cast<CopyAsyncOp>(op);
      auto store = dyn_cast<StoreBufferOp>(op);
      if (copy ? fillsForIteration(loop, copy, copy.getBuffer()) : store && fillsForIteration(loop, store, store.getBuffer()))
        fills.push_back(&op);
    }
    for (Operation* fill : fills) giveSlots(fill);
  }

  /// One slot for each stage from what fills the buffer to the last reader, or as many as it has, each access with the number of its
  /// iteration's.
  void giveSlots(Operation* fill) {
    auto copy = dyn_cast<CopyAsyncOp>(fill);
    auto alloc = (copy ? copy.getBuffer() : cast<StoreBufferOp>(fill).getBuffer()).getDefiningOp<AllocOp>();
    unsigned when = stage.at(fill), last = std::max(when, readStages(alloc).second) + (lastRunsOn(alloc) ? 1 : 0);
    int64_t slots = std::max(static_cast<int64_t>(last) - when + (refills.contains(fill) ? 0 : 1), alloc.getResult().getType().getSlots());
    if ((copy && copy.isBulk()) || isOfPair(alloc)) release(alloc, slots);
    if (slots == 1) return;
    alloc.getResult().setType(alloc.getResult().getType().withSlots(slots));
    (copy ? copy.getSlotMutable() : cast<StoreBufferOp>(fill).getSlotMutable()).assign(counter(when, slots));
    if (copy && copy.isBulk())
      for (Operation* user : copy->getUsers())
        if (auto wait = dyn_cast<CopyWaitOp>(user)) wait.getSlotMutable().assign(counter(stage.at(wait), slots));
    for (Operation* user : alloc.getResult().getUsers())
      if (auto load = dyn_cast<LoadBufferOp>(user))
        if (Operation* op = inBody(loop, load)) load.getSlotMutable().assign(counter(stage.at(op), slots));
  }

  /// Operations of the body that may read what is loaded from shared memory: the load itself, and dots of a matrix unit.
  SmallVector<Operation*> readersOf(LoadBufferOp load) {
    SmallVector<Operation*> readers;
    if (Operation* op = inBody(loop, load)) readers.push_back(op);
    for (size_t i = 0; i < readers.size(); ++i)
      for (OpOperand& use : readers[i]->getUses()) {
        Operation* reader = inBody(loop, use.getOwner());
        if (reader && readsInPlace(use)) readers.push_back(reader);
      }
    return readers;
  }

  /// The last place in that stage where the buffer is read; the end of the order where there is none.
  Place lastReader(AllocOp alloc, unsigned when) {
    Place last = order.end();
    for (Operation* user : alloc.getResult().getUsers()) {
      auto load = dyn_cast<LoadBufferOp>(user);
      if (!load) continue;
      for (Operation* reader : readersOf(load)) {
        Place place = find(reader);
        if (place == order.end() || place->second != when) continue;
        if (last == order.end() || place > last) last = place;
      }
    }
    return last;
  }

  /// Whether a dot reads the buffer in the last stage that runs on when its trip ends.
  bool lastRunsOn(AllocOp alloc) {
    const unsigned last = readStages(alloc).second;
    return llvm::any_of(alloc.getResult().getUsers(), [&](Operation* user) {
      auto load = dyn_cast<LoadBufferOp>(user);
      return load && llvm::any_of(readersOf(load), [&](Operation* op) { return op->hasAttr(kRunsOnAttr) && stage.at(op) == last; });
    });
  }

  /// Behind the last reader of the last stage the slot is free for the engine.
  void release(AllocOp alloc, int64_t slots) {
    unsigned last = readStages(alloc).second;
    Place reader = lastReader(alloc, last);
    if (reader == order.end()) return;
    const bool runsOn = lastRunsOn(alloc);
    if (runsOn) ++last;
    OpBuilder b(loop.getBody()->getTerminator());
    auto op = ReleaseOp::create(b, alloc.getLoc(), alloc.getResult(), arith::ConstantIntOp::create(b, alloc.getLoc(), 0, 32));
    Operation* zero = op.getSlot().getDefiningOp();
    zero->moveBefore(loop);
    stage[op] = last;
    order.insert(runsOn ? order.begin() : std::next(reader), {op, last});
    op.getSlotMutable().assign(counter(last, slots));
  }

  /// The carried number of the iteration modulo `slots` as that stage sees it.
  Value counter(unsigned when, int64_t slots) {
    IRRewriter b(loop.getContext());
    b.setInsertionPoint(loop);
    Location loc = loop.getLoc();
    auto constant = [&](int64_t n) -> Value { return arith::ConstantIntOp::create(b, loc, n, 32); };
    if (slots == 1) return constant(0);
    auto [known, fresh] = counters.try_emplace({when, slots}, loop.getNumRegionIterArgs());
    if (!fresh) return loop.getRegionIterArgs()[known->second];
    Value zero = constant(0), one = constant(1), most = constant(slots - 1);
    auto next = [&](OpBuilder& inner, Location, ArrayRef<BlockArgument> arguments) -> SmallVector<Value> {
      Value at = arguments.front(), sum = arith::AddIOp::create(inner, loc, at, one), result;
      counting.push_back({sum.getDefiningOp(), when});
      if (llvm::isPowerOf2_64(slots)) {
        result = arith::AndIOp::create(inner, loc, sum, most);
      } else {
        Value last = arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::eq, at, most);
        counting.push_back({last.getDefiningOp(), when});
        result = arith::SelectOp::create(inner, loc, last, zero, sum);
      }
      counting.push_back({result.getDefiningOp(), when});
      return {result};
    };
    loop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(b, zero, /*replaceInitOperandUsesInLoop=*/false, next));
    return loop.getRegionIterArgs().back();
  }

  /// Upstream takes what is yielded from operations of the body only.
  void wrapYields() {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    unsigned last = 0;
    for (auto& entry : order) last = std::max(last, entry.second);
    OpBuilder b(yield);
    for (OpOperand& operand : yield->getOpOperands()) {
      Operation* def = operand.get().getDefiningOp();
      if (def && def->getBlock() == loop.getBody()) continue;
      Value yes = arith::ConstantIntOp::create(b, loop.getLoc(), 1, 1);
      Value same = arith::SelectOp::create(b, loop.getLoc(), yes, operand.get(), operand.get());
      order.push_back({yes.getDefiningOp(), last});
      order.push_back({same.getDefiningOp(), last});
      operand.set(same);
    }
  }

  /// if (it has a trip) { the loop } else { what it started with }
  void guardTrips() {
    OpBuilder b(loop);
    Location loc = loop.getLoc();
    SmallVector<Value> results, inits;
    for (auto [result, init] : llvm::zip(loop.getResults(), loop.getInitArgs()))
      if (!result.use_empty()) results.push_back(result), inits.push_back(init);
    Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound());
    auto guard = scf::IfOp::create(b, loc, ValueRange(results).getTypes(), any, /*withElseRegion=*/true);
    for (auto [result, to] : llvm::zip(results, guard.getResults())) result.replaceAllUsesWith(to);
    auto close = [&](Block* block, ValueRange values) {
      if (!block->empty()) block->back().erase();
      OpBuilder inner = OpBuilder::atBlockEnd(block);
      scf::YieldOp::create(inner, loc, values);
    };
    close(guard.elseBlock(), inits);
    close(guard.thenBlock(), results);
    loop->moveBefore(guard.thenBlock()->getTerminator());
  }

  /// The operation as it may run where `pred` does not hold: copies get the predicate, what touches global memory a branch; other
  /// results nobody uses.
  Operation* predicate(RewriterBase& b, Operation* op, Value pred) {
    predicates.insert(pred);
    if (auto copy = dyn_cast<CopyAsyncOp>(op)) {
      predicated.insert(copy);
      b.setInsertionPoint(copy);
      Value both = copy.getPred() ? arith::AndIOp::create(b, copy.getLoc(), copy.getPred(), pred).getResult() : pred;
      copy.getPredMutable().assign(both);
      return copy;
    }
    auto wait = dyn_cast<CopyWaitOp>(op);
    // Nobody reads what is stored where its trip is none, and nobody waits for its boxes or gives them back.
    if (isa<StoreBufferOp, ReleaseOp>(op) || (wait && wait.isBulk())) predicated.insert(op);
    if (isMemoryEffectFree(op) || !touchesGlobal(op)) return op;
    b.setInsertionPointAfter(op);
    bool results = op->getNumResults() != 0;
    auto guard = scf::IfOp::create(b, op->getLoc(), op->getResultTypes(), pred, /*withElseRegion=*/results);
    auto close = [&](Block* block, ValueRange values) {
      if (results) b.setInsertionPointToEnd(block), scf::YieldOp::create(b, op->getLoc(), values);
    };
    op->moveBefore(guard.thenBlock(), guard.thenBlock()->begin());
    close(guard.thenBlock(), op->getResults());
    if (!results) return guard;
    SmallVector<Value> zeros;
    b.setInsertionPointToEnd(guard.elseBlock());
    for (Type type : op->getResultTypes()) zeros.push_back(arith::ConstantOp::create(b, op->getLoc(), b.getZeroAttr(type)));
    close(guard.elseBlock(), zeros);
    return guard;
  }

  static bool touchesGlobal(Operation* op) {
    auto global = [](Operation* inner) {
      bool is = inner->hasTrait<tile::AccessesArrays>() || isa<tile::DevicePrintOp>(inner);
      return is ? WalkResult::interrupt() : WalkResult::advance();
    };
    return op->walk(global).wasInterrupted();
  }

  FailureOr<scf::ForOp> pipeline() {
    order.insert(order.end(), counting.begin(), counting.end());
    scf::PipeliningOption options;
    options.getScheduleFn = [&](scf::ForOp, StagedOps& schedule) { schedule = order; };
    options.peelEpilogue = false;
    options.supportDynamicLoops = true;
    options.predicateFn = [&](RewriterBase& b, Operation* op, Value pred) { return predicate(b, op, pred); };
    DictionaryAttr attributes = loop->getDiscardableAttrDictionary();
    IRRewriter rewriter(loop.getContext());
    rewriter.setInsertionPoint(loop);
    FailureOr<scf::ForOp> result = scf::pipelineForLoop(rewriter, loop, options);
    if (failed(result)) return result;
    (*result)->setDiscardableAttrs(attributes);
    sinkReads(*result);
    if (lateStages) peelLastTrip(*result);
    drain(*result);
    return result;
  }

  /// Copies whose predicate did not hold may still write their slots: these are free for others when that is over.
  void drain(scf::ForOp pipelined) {
    OpBuilder b(pipelined.getContext());
    if (lateStages)
      b.setInsertionPoint(pipelined->getBlock()->getTerminator());  // of the branch around the loop and its last trip
    else
      b.setInsertionPointAfter(pipelined);
    SmallVector<Value> tokens;
    for (Value result : pipelined.getResults())
      if (isa<TokenType>(result.getType()) && llvm::none_of(copiesOf(result), [](CopyAsyncOp copy) { return copy.isBulk(); }))
        tokens.push_back(result);
    if (!tokens.empty()) CopyWaitOp::create(b, pipelined.getLoc(), tokens, Value(), Value(), Value(), IntegerAttr());
  }

  /// Runs the last trip behind the loop, where only the last stage has work: every predicate is false, and what fills buffers under one is
  /// left out. Copies of the last stage itself have none. In the loop, the predicate of the stage before is true.
  void peelLastTrip(scf::ForOp kernel) {
    Location loc = kernel.getLoc();
    OpBuilder b(kernel);
    Value low = kernel.getLowerBound(), high = kernel.getUpperBound(), step = kernel.getStep();
    Value one = arith::ConstantOp::create(b, loc, b.getIntegerAttr(high.getType(), 1));
    Value yes = arith::ConstantIntOp::create(b, loc, 1, 1), no = arith::ConstantIntOp::create(b, loc, 0, 1);
    Value span = arith::SubIOp::create(b, loc, arith::SubIOp::create(b, loc, high, low), one);
    Value last = arith::AddIOp::create(b, loc, low, arith::MulIOp::create(b, loc, arith::DivSIOp::create(b, loc, span, step), step));
    SmallVector<Operation*> tests;
    for (Value predicate : predicates)
      if (Operation* op = predicate.getDefiningOp(); op && op->getBlock() == kernel.getBody()) tests.push_back(op);
    llvm::sort(tests, [](Operation* x, Operation* y) { return x->isBeforeInBlock(y); });
    IRMapping map;
    b.setInsertionPointAfter(kernel);
    map.map(kernel.getInductionVar(), last);
    map.map(kernel.getRegionIterArgs(), kernel.getResults());
    for (Operation* test : tests) map.map(test->getResult(0), no);
    SmallVector<Operation*> clones;
    llvm::SmallPtrSet<Operation*, 4> skipped;
    for (Operation& op : kernel.getBody()->without_terminator()) {
      if (llvm::is_contained(tests, &op)) continue;
      clones.push_back(b.clone(op, map));
      if (predicated.contains(&op)) skipped.insert(clones.back());
    }
    kernel.getUpperBoundMutable().assign(last);
    if (!tests.empty()) tests.back()->getResult(0).replaceAllUsesWith(yes);
    for (auto [result, yielded] : llvm::zip(kernel.getResults(), kernel.getYieldedValues())) {
      Value value = map.lookupOrDefault(yielded);
      result.replaceUsesWithIf(value, [&](OpOperand& use) { return !isIn(clones, use.getOwner()); });
    }
    eraseUnneeded(clones, skipped, no);
  }

  static bool isIn(ArrayRef<Operation*> ops, Operation* user) {
    return llvm::any_of(ops, [&](Operation* op) { return op->isAncestor(user); });
  }

  /// An exchange between warps, which waits for what it exchanges, and what only rearranges its result.
  static bool isExchanged(Operation* op) {
    while (op && op->getNumOperands() == 1 && op->hasTrait<tile::MovesElements>() && isMemoryEffectFree(op)) {
      if (crossesWarps(dyn_cast<ConvertLayoutOp>(op))) return true;
      op = op->getOperand(0).getDefiningOp();
    }
    return false;
  }

  /// A branch that only loads numbers, as one around what an address is loaded from.
  static bool onlyLoads(Operation* op) {
    auto isOther = [](Operation* inner) {
      return isa<scf::IfOp, scf::YieldOp, tile::GatherOp>(inner) || isMemoryEffectFree(inner) ? WalkResult::advance()
                                                                                              : WalkResult::interrupt();
    };
    return isa<scf::IfOp>(op) && !op->walk(isOther).wasInterrupted();
  }

  /// Fragments that are read, or exchanged between warps, before the loop and used in it only come behind the first trips' copies, which
  /// then need not wait for them.
  static void sinkReads(scf::ForOp pipelined) {
    SmallVector<Operation*> reads;
    auto inside = [&](Operation* user) {
      return pipelined->isProperAncestor(user) || (llvm::is_contained(reads, user) && user->getBlock() == pipelined->getBlock());
    };
    llvm::SmallSetVector<Value, 4> written;
    for (Operation* op = pipelined->getPrevNode(); op; op = op->getPrevNode()) {
      auto load = dyn_cast<LoadBufferOp>(op);
      bool transposed = isa<tile::TransOp>(op) && op->getOperand(0).getDefiningOp<LoadBufferOp>();
      bool read = load ? !written.contains(load.getBuffer()) : transposed || isExchanged(op);
      if (read && llvm::all_of(op->getUsers(), inside)) reads.push_back(op);
      if (op->getNumRegions() != 0 && !onlyLoads(op)) break;
      for (const BufferAccess& access : accessesOf(op))
        if (access.write) written.insert(access.buffer);
    }
    for (Operation* op : llvm::reverse(reads)) op->moveBefore(pipelined);
  }

  scf::ForOp loop;
  ArrayRef<Operation*> fetches;
  int64_t ahead, shift = 0;  ///< trips; all that stages have been moved by
  Waits waits;
  StagedOps order, counting;
  bool lateStages = false, mayRefill = true;
  llvm::DenseMap<Operation*, Operation*> refills;  ///< copies that run one trip further ahead, and what each stands behind
  CopyDistances distances;
  llvm::SmallPtrSet<Operation*, 4> earlyAddresses;  ///< copies whose addresses are loaded a trip before them
  llvm::DenseMap<Operation*, unsigned> stage;
  llvm::DenseMap<Operation*, bool> carried;                   // what dependsOnCarried found
  llvm::SmallSetVector<Value, 8> predicates;                  // of all stages but the last
  llvm::SmallPtrSet<Operation*, 8> predicated;                // what has one of these: copies, stores to buffers, box waits and releases
  llvm::SmallSetVector<Value, 4> filled;                      // buffers that the loop's fetches write
  llvm::SmallPtrSet<Operation*, 16> fetched;                  // what brings data and what it is computed from
  std::map<std::pair<unsigned, int64_t>, unsigned> counters;  // number of the carried value
};

}  // namespace

FailureOr<scf::ForOp> pipelineLoop(scf::ForOp loop, ArrayRef<Operation*> fetches, int64_t ahead, Waits waits, StagedOps compute,
                                   CopyDistances distances) {
  return Pipeliner(loop, fetches, ahead, waits, std::move(compute), std::move(distances)).run();
}

}  // namespace fattn::tilegpu
