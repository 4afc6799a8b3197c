// SPDX-License-Identifier: Apache-2.0
// Tells which slot of a ring is next, and in which phase its barrier objects are, from one count of trips:
//
//   copy_wait in %k[0]                                        copy_wait in %k[%g & 3] phase %g >> 2
//   scf.for ... iter_args(%s = 1, %t = 0) {                   %end = scf.for ... iter_args(%n = %g) {
//     copy_wait in %k[%s]                                       copy_wait in %k[(%n + 1) & 3] phase (%n + 1) >> 2
//     copy_wait in %v[%t]                             =>        copy_wait in %v[%n & 3] phase %n >> 2
//     scf.yield (%s + 1) & 3, (%t + 1) & 3                      scf.yield %n + 1
//   }                                                         }
//   copy_wait in %v[%last]                                    copy_wait in %v[%end & 3] phase %end >> 2
//
// Without it a thread keeps a number for each buffer and a bit for each slot. %g is 0 in the block's first program, and in each later one
// where the rings of the program before have ended: above %end + 1, as each buffer has one wait outside of loops.
//
// The copies and waits of a buffer, which take its slots in turns, are its visits. Each role has as many as the other, in the same order.
//
// Conditions for a buffer, else it stays as it is: C1 its slots are two, four, ..., and what names one of them is a copy of boxes, a wait
// for one, a release, a load or a dot, in the program of a role; C2 in either role each of its visits stands in the program's block, or is
// the only one in the trips of a loop of this block (below: a loop of the ring); C3 a slot's number is a constant in front of the first
// such loop, or what loops of the ring carry, which goes on by one in each trip, or follows from that; and each visit takes the slot behind
// that of the visit before; C4 the role that copies has one loop of the ring, whose last trips copy nothing: as far as it has run ahead.
// The buffers that are counted have the same loops, and as many waits outside of them.
//
// Buffers with a slot for each program (-tilegpu-repeat-programs) are told by the number of the program.
//
// Runs behind -tilegpu-skip-trips. Test: tests/lit/gpu/count-phases.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/roles/Rings.h"
#include "compiler/gpu/passes/roles/Roles.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_COUNTPHASESPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// A role, and the block that is one program of it.
struct Program {
  EachProgramOp each;  ///< null: the block takes one program
  Block* block = nullptr;

  static Program of(Block* role) {
    auto programs = role->getOps<EachProgramOp>();
    if (programs.empty()) return {{}, role};
    return {*programs.begin(), &(*programs.begin()).getBody().front()};
  }
};

/// A buffer that is counted.
struct Counted {
  AllocOp alloc;
  Ring copies, computes;

  bool isLike(const Counted& other) const {
    return computes.outside == other.computes.outside && copies.loops == other.copies.loops && computes.loops == other.computes.loops;
  }
};

class Counting {
 public:
  Counting(Program copier, Program computing) : copier_(copier), computing_(computing) {}

  void run(func::FuncOp func) {
    std::vector<Counted> rings;
    for (AllocOp alloc : func.getBody().front().getOps<AllocOp>()) {
      if (!mayCount(alloc)) continue;
      if (alloc->hasAttr(kSlotByProgramAttr)) {
        countPrograms(alloc);
        continue;
      }
      std::optional<Ring> copies = ringOf(alloc, copier_.block), computes = ringOf(alloc, computing_.block);
      if (copies && computes && copies->loops.size() == 1 && !computes->loops.empty())
        rings.push_back({alloc, std::move(*copies), std::move(*computes)});
    }
    if (rings.empty()) return;
    auto alike = [&](const Counted& one) { return llvm::count_if(rings, [&](const Counted& other) { return one.isLike(other); }); };
    const Counted& most = *std::ranges::max_element(rings, {}, alike);
    std::vector<const Counted*> chosen;
    for (const Counted& one : rings)
      if (one.isLike(most)) chosen.push_back(&one);
    count(copier_, chosen, &Counted::copies, most.computes.outside);
    count(computing_, chosen, &Counted::computes, most.computes.outside);
  }

 private:
  /// C1.
  bool mayCount(AllocOp alloc) {
    const int64_t slots = slotsOf(alloc);
    if (slots < 2 || !llvm::isPowerOf2_64(static_cast<uint64_t>(slots))) return false;
    return llvm::all_of(alloc->getUsers(), [&](Operation* user) {
      const bool stands = copier_.block->findAncestorOpInBlock(*user) || computing_.block->findAncestorOpInBlock(*user);
      if (auto copy = dyn_cast<CopyAsyncOp>(user)) return stands && copy.isBulk();
      return stands && isa<CopyWaitOp, ReleaseOp, LoadBufferOp, DotAsyncOp>(user);
    });
  }

  /// A visit of each program in either role: the phase follows from the number of the program.
  void countPrograms(AllocOp alloc) {
    SmallVector<Operation*> visits;
    for (Operation* user : alloc->getUsers())
      if (isVisit(user)) visits.push_back(user);
    auto copy = [](Operation* visit) { return isa<CopyAsyncOp>(visit); };
    if (visits.size() != 2 || llvm::count_if(visits, copy) != 1) return;
    for (Operation* visit : visits)
      if (visit->getBlock() != (copy(visit) ? copier_ : computing_).block) return;
    for (Operation* visit : visits) setPhase(visit, visit->getBlock()->getArgument(3), slotsOf(alloc));
  }

  /// The visit numbered `visit` of all slots' in turns.
  static void setPhase(Operation* op, Value visit, int64_t slots) {
    OpBuilder b(op);
    Value turns = arith::ConstantOp::create(b, op->getLoc(), b.getI32IntegerAttr(llvm::Log2_64(static_cast<uint64_t>(slots))));
    Value phase = b.createOrFold<arith::ShRUIOp>(op->getLoc(), visit, turns);
    if (auto copy = dyn_cast<CopyAsyncOp>(op)) copy.getPhaseMutable().assign(phase);
    if (auto wait = dyn_cast<CopyWaitOp>(op)) wait.getPhaseMutable().assign(phase);
  }

  static Value plus(OpBuilder& b, Location loc, Value number, int64_t by) {
    return b.createOrFold<arith::AddIOp>(loc, number, arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(by)));
  }

  /// A role's count, and what its buffers take from it.
  static void count(Program role, ArrayRef<const Counted*> rings, Ring Counted::* ring, int64_t outside) {
    OpBuilder b = OpBuilder::atBlockBegin(role.block);
    Location loc = role.block->getParentOp()->getLoc();
    const SmallVector<Operation*> loops = (rings.front()->*ring).loops;
    SmallVector<Value> behind = {start(b, role)}, inside = {Value()};
    SmallVector<Operation*> counting;
    IRRewriter rewriter(b.getContext());
    for (Operation* loop : loops) {
      auto next = [&](OpBuilder& at, Location where, ArrayRef<BlockArgument> carried) {
        inside.push_back(carried.back());
        return SmallVector<Value>{plus(at, where, carried.back(), 1)};
      };
      rewriter.setInsertionPoint(loop);
      auto replaced = cast<LoopLikeOpInterface>(loop).replaceWithAdditionalYields(rewriter, behind.back(), false, next);
      counting.push_back(*replaced);
      behind.push_back(counting.back()->getResults().back());
    }
    for (const Counted* one : rings)
      for (const SlotUse& use : (one->*ring).uses) take(use, use.inLoop ? inside[use.loops] : behind[use.loops], slotsOf(one->alloc));
    if (role.each) {
      Operation* end = role.block->getTerminator();
      OpBuilder atEnd(end);
      end->insertOperands(end->getNumOperands(), plus(atEnd, loc, behind.back(), outside));
    }
    // The last one first: the others give it what it carries.
    for (Operation* loop : llvm::reverse(counting)) dropNumbers(cast<scf::ForOp>(loop));
  }

  /// The count at a program's start.
  static Value start(OpBuilder& b, Program role) {
    Location loc = role.block->getParentOp()->getLoc();
    auto zero = [&](OpBuilder& at) { return arith::ConstantOp::create(at, loc, at.getI32IntegerAttr(0)).getResult(); };
    if (!role.each) return zero(b);
    OpBuilder before(role.each);
    if (role.block->getNumArguments() == 3) role.block->addArgument(b.getI32Type(), loc);
    role.each.getInitsMutable().append(zero(before));
    return role.block->addArgument(b.getI32Type(), loc);
  }

  static void take(const SlotUse& use, Value count, int64_t slots) {
    Operation* op = use.slot->getOwner();
    OpBuilder b(op);
    Value visit = plus(b, op->getLoc(), count, use.ahead);
    Value most = arith::ConstantOp::create(b, op->getLoc(), b.getI32IntegerAttr(slots - 1));
    use.slot->set(b.createOrFold<arith::AndIOp>(op->getLoc(), visit, most));
    if (isVisit(op)) setPhase(op, visit, slots);
  }

  /// What the loop carried of slots' numbers, and nobody uses any more, goes.
  static void dropNumbers(scf::ForOp loop) {
    for (BlockArgument argument : loop.getRegionIterArgs())
      if (argument.getType().isInteger(32) && loop.getTiedLoopResult(argument).use_empty() && isOnlyYielded(argument))
        loop.getTiedLoopYieldedValue(argument)->set(argument);
    SmallVector<Operation*> steps;
    for (Operation& op : *loop.getBody())
      if (isStepOfNumber(&op)) steps.push_back(&op);
    for (Operation* step : llvm::reverse(steps))
      if (step->use_empty()) step->erase();
    RewritePatternSet patterns(loop.getContext());
    scf::ForOp::getCanonicalizationPatterns(patterns, patterns.getContext());
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingOps);
    (void)applyOpPatternsGreedily(loop.getOperation(), std::move(patterns), config);
  }

  static bool isStepOfNumber(Operation* op) {
    return isa<arith::AndIOp, arith::AddIOp, arith::XOrIOp>(op) && op->getResult(0).getType().isInteger(32);
  }

  static bool isOnlyYielded(Value number) {
    return llvm::all_of(number.getUsers(), [](Operation* user) {
      return isa<scf::YieldOp>(user) || (isStepOfNumber(user) && isOnlyYielded(user->getResult(0)));
    });
  }

  Program copier_, computing_;
};

class CountPhasesPass : public impl::CountPhasesPassBase<CountPhasesPass> {
 public:
  void getDependentDialects(DialectRegistry& registry) const override { registerTileGpuDialects(registry); }
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration()) return;
    Roles roles = rolesOf(func);
    if (!roles.copier || !roles.computing) return;
    Counting(Program::of(roles.copier), Program::of(roles.computing)).run(func);
  }
};

}  // namespace

}  // namespace fattn::tilegpu
