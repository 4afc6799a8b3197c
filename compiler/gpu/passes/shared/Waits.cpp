// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/shared/Waits.h"

#include "compiler/gpu/passes/Buffers.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

namespace {

/// For each token of a copy, the copies issued since its own; for each dot in flight, the dots. From kComplete on, of a dot: it is
/// complete.
using Ages = llvm::DenseMap<Value, int64_t>;
constexpr int64_t kComplete = int64_t{1} << 32;

/// The younger state at a join: what either path knows, the lesser count of both. True if `into` changes.
bool join(Ages& into, const Ages& other) {
  bool changed = false;
  for (auto [token, age] : other) {
    auto [it, fresh] = into.try_emplace(token, age);
    if (!fresh && age < it->second)
      it->second = age;
    else if (!fresh)
      continue;
    changed = true;
  }
  return changed;
}

bool anyInFlight(const Ages& ages) {
  return llvm::any_of(ages, [](const auto& entry) { return !isa<TokenType>(entry.first.getType()) && entry.second < kComplete; });
}

class AgeFlow {
 public:
  void block(Block& block, Ages& ages) {
    for (Operation& op : block) visit(&op, ages);
  }

 private:
  static void bind(Ages& ages, ValueRange to, ValueRange from) {
    Ages bound;
    for (auto [t, f] : llvm::zip(to, from))
      if (auto it = ages.find(f); it != ages.end()) bound[t] = it->second;
    for (auto [token, age] : bound) ages[token] = age;
  }

  void visit(Operation* op, Ages& ages) {
    auto copy = dyn_cast<CopyAsyncOp>(op);
    auto bulkWait = dyn_cast<CopyWaitOp>(op);
    if ((copy && copy.isBulk()) || (bulkWait && bulkWait.isBulk())) return;
    if (isa<CopyAsyncOp, DotAsyncOp>(op)) {
      Value issued = op->getResult(0);
      for (auto& [value, age] : ages)
        if (isa<TokenType>(value.getType()) == isa<TokenType>(issued.getType())) ++age;
      ages[issued] = 0;
    } else if (auto dot = dyn_cast<DotWaitOp>(op)) {
      const int64_t age = ages.lookup(dot.getValue());
      dot.setCovered(age >= kComplete);
      if (dot.getCovered()) {
        dot.removePendingAttr();
        return;
      }
      dot.setPending(age);
      for (auto& [value, other] : ages)
        if (!isa<TokenType>(value.getType()) && other >= age) other = kComplete;
    } else if (auto wait = dyn_cast<CopyWaitOp>(op)) {
      int64_t pending = std::numeric_limits<int64_t>::max();
      for (Value token : wait.getTokens())
        if (auto it = ages.find(token); it != ages.end()) pending = std::min(pending, it->second);
      wait.setPending(pending == std::numeric_limits<int64_t>::max() ? 0 : pending);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      visitFor(loop, ages);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      visitWhile(loop, ages);
    } else if (op->getNumRegions() != 0) {
      if (auto owner = dyn_cast<OwnerOnlyOp>(op)) owner.setWaits(owner.getDrained() && anyInFlight(ages));
      visitBranches(op, ages);
    }
  }

  void visitFor(scf::ForOp loop, Ages& ages) {
    Ages entry = ages;
    bind(entry, loop.getRegionIterArgs(), loop.getInitArgs());
    Ages end;
    do {
      end = entry;
      block(*loop.getBody(), end);
      bind(end, loop.getRegionIterArgs(), loop.getYieldedValues());
    } while (join(entry, end));
    join(ages, end);
    bind(ages, loop.getResults(), loop.getRegionIterArgs());
    for (auto [result, argument] : llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
      if (auto it = entry.find(argument); it != entry.end()) ages[result] = it->second;
  }

  void visitWhile(scf::WhileOp loop, Ages& ages) {
    Ages entry = ages;
    bind(entry, loop.getBeforeArguments(), loop.getInits());
    Ages before, end;
    do {
      before = entry;
      block(*loop.getBeforeBody(), before);
      end = before;
      bind(end, loop.getAfterArguments(), loop.getConditionOp().getArgs());
      block(*loop.getAfterBody(), end);
      bind(end, loop.getBeforeArguments(), loop.getYieldOp()->getOperands());
    } while (join(entry, end));
    ages = before;
    bind(ages, loop.getResults(), loop.getConditionOp().getArgs());
  }

  /// scf.if, and regions that may or may not run.
  void visitBranches(Operation* op, Ages& ages) {
    bool one = isa<scf::IfOp>(op) && !op->getRegion(1).empty();  // exactly one of them runs
    Ages out;
    if (!one) out = ages;
    for (Region& region : op->getRegions()) {
      if (region.empty()) continue;
      Ages branch = ages;
      block(region.front(), branch);
      if (isa<scf::IfOp>(op)) bind(branch, op->getResults(), region.front().getTerminator()->getOperands());
      join(out, branch);
    }
    ages = out;
  }
};

}  // namespace

void countPending(func::FuncOp func) {
  Ages ages;
  AgeFlow().block(func.getBody().front(), ages);
}

CopiedMemory::CopiedMemory(ValueRange tokens, transforms::Aliasing& aliasing) : aliasing_(aliasing) {
  for (Value token : tokens)
    for (CopyAsyncOp copy : copiesOf(token)) llvm::append_range(reads_, transforms::accessesIn(copy));
}

bool CopiedMemory::mayChangeIn(Operation* op) const {
  return llvm::any_of(transforms::accessesIn(op), [&](const transforms::MemoryAccess& access) {
    return access.writes && llvm::any_of(reads_, [&](const transforms::MemoryAccess& read) {
             return aliasing_.overlap(read, access) != transforms::Overlap::Never;
           });
  });
}

}  // namespace fattn::tilegpu
