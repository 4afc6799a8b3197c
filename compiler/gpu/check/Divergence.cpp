// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/check/Divergence.h"

#include <map>
#include <set>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::check {
namespace {

using layout::LinearLayout;

/// For each row the warps that hold elements of it.
using RowWarps = std::map<int64_t, std::set<int64_t>>;

RowWarps rowWarps(const LinearLayout& layout) {
  RowWarps result;
  int64_t low = (int64_t{1} << layout.outputs().front().bits) - 1;
  auto rows = [&](std::string_view input) {
    std::set<int64_t> found;
    for (int64_t i = 0; i < layout.inputSize(input); ++i) found.insert(layout.at({{input, i}}).front());
    return found;
  };
  std::set<int64_t> registers = rows(layout::kRegister), lanes = rows(layout::kLane);
  for (int64_t w = 0; w < layout.inputSize(layout::kWarp); ++w) {
    int64_t warp = layout.at({{layout::kWarp, w}}).front();
    for (int64_t r : registers)
      for (int64_t l : lanes) result[((warp ^ r ^ l) & low) + (warp & ~low) + (r & ~low) + (l & ~low)].insert(w);
  }
  return result;
}

/// Warps that share a row of the results have to decide alike: each of them has to know the same conditions.
bool decidesAlike(const LinearLayout& conditions, const LinearLayout& results) {
  RowWarps known = rowWarps(conditions), held = rowWarps(results);
  std::map<int64_t, std::set<int64_t>> conditionsOf;
  for (const auto& [row, warps] : known)
    for (int64_t w : warps) conditionsOf[w].insert(row);
  for (const auto& [row, warps] : held)
    for (int64_t w : warps)
      if (!conditionsOf[w].contains(row) || conditionsOf[w] != conditionsOf[*warps.begin()]) return false;
  return true;
}

/// Whether an operation lowers to one that all warps of the block have to execute, whatever is around it.
bool needsAllWarps(Operation* op) {
  if (op->hasTrait<tilegpu::NeedsAllWarps>()) return true;
  // Who sends the tile waits for all of them.
  if (isa<tilegpu::StoreBoxesOp>(op) && tilegpu::isMadeElsewhere(op)) return true;
  if (isa<tilegpu::OwnerOnlyOp>(op)) return true;  // all keep count of what the owner does
  // The old values go to all threads through shared memory.
  if (auto add = dyn_cast<tile::AtomicAddOp>(op)) return !add.getResult().use_empty();
  return false;
}

/// Into a buffer whose slots its writers hand over.
bool isOwnersStore(Operation* op) {
  auto store = dyn_cast<tilegpu::StoreBufferOp>(op);
  return store && llvm::any_of(store.getBuffer().getUsers(), llvm::IsaPred<tilegpu::SlotCommitOp>);
}

/// Whether it is enough that all warps of a warp group execute it together, each for its own part: what a group waits for, reads by the
/// matrix unit or gives back, and a copy that others make.
bool needsItsGroup(Operation* op) {
  if (auto wait = dyn_cast<tilegpu::CopyWaitOp>(op)) return wait.isBulk();
  if (isa<tilegpu::CopyAsyncOp>(op)) return tilegpu::isMadeElsewhere(op);
  if (isa<tilegpu::StoreBoxesOp>(op)) return op->getParentOfType<tilegpu::OwnerOnlyOp>() != nullptr;
  return isa<tilegpu::ReleaseOp, tilegpu::DotAsyncOp, tilegpu::SlotAcquireOp, tilegpu::SlotCommitOp>(op) || isOwnersStore(op);
}

/// Who has the same value: all warps of the block, those of a warp group, or none but the warp.
enum class Shared : std::uint8_t { Block, Group, Warp };

/// A condition that differs between warps, and who goes the same way under it.
struct Condition {
  Operation* op = nullptr;
  Shared by = Shared::Block;
};

class Finder {
 public:
  void block(mlir::Block& block, const Condition& under) {
    for (Operation& op : block) visit(&op, under);
  }

  std::vector<Divergence> found;

 private:
  void visit(Operation* op, const Condition& under) {
    auto lazy = dyn_cast<tile::SelectLazyOp>(op);
    bool byWarp = lazy && warpsMayDecide(lazy);
    bool voted = lazy && !byWarp && tile::isTile(lazy.getCondition().getType());  // a vote of the block is a barrier
    bool alone = needsAllWarps(op) && !(under.by == Shared::Group && needsItsGroup(op));
    if (under.by != Shared::Block && (alone || voted)) found.push_back({op, under.op});
    if (isa<tile::ReduceOp>(op)) return;
    Shared by = byWarp ? Shared::Warp : lazy || op->getNumRegions() == 0 ? Shared::Block : decidedBy(op);
    const Condition inside = by > under.by ? Condition{op, by} : under;
    for (Region& region : op->getRegions())
      for (mlir::Block& inner : region) block(inner, inside);
  }

  /// Who goes the same way at a branch or a loop: those who have the same condition or bounds.
  Shared decidedBy(Operation* op) {
    if (auto branch = dyn_cast<scf::IfOp>(op)) return sharedBy(branch.getCondition());
    if (auto loop = dyn_cast<scf::ForOp>(op)) return sharedBy({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    if (auto loop = dyn_cast<scf::WhileOp>(op)) return sharedBy(loop.getConditionOp().getCondition());
    return isa<tilegpu::OwnerOnlyOp>(op) ? Shared::Group : Shared::Block;
  }

  Shared sharedBy(ValueRange values) {
    Shared result = Shared::Block;
    for (Value value : values) result = std::max(result, sharedBy(value));
    return result;
  }

  Shared sharedBy(Value value) {
    auto [it, fresh] = known.try_emplace(value, Shared::Block);  // round a loop: until something says otherwise
    if (!fresh) return it->second;
    Shared result = compute(value);
    known[value] = result;
    return result;
  }

  Shared compute(Value value) {
    if (tile::isTile(value.getType())) return Shared::Warp;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation* parent = argument.getOwner()->getParentOp();
      auto loop = dyn_cast<scf::ForOp>(parent);
      if (!loop) return Shared::Block;
      if (argument == loop.getInductionVar()) return decidedBy(loop);
      return sharedBy({loop.getTiedLoopInit(argument)->get(), loop.getTiedLoopYieldedValue(argument)->get()});
    }
    Operation* op = value.getDefiningOp();
    if (auto lazy = dyn_cast<tile::SelectLazyOp>(op)) return warpsMayDecide(lazy) ? Shared::Warp : Shared::Block;
    if (op->getNumRegions() != 0) return decidedBy(op);
    if (isa<tile::GatherOp, tile::AtomicAddOp>(op)) return Shared::Block;  // each thread reads the same place
    if (isa<tile::UnsplatOp>(op)) return Shared::Block;                    // each thread has the element
    if (isa<tilegpu::GroupLastOp>(op)) return Shared::Group;
    return sharedBy(op->getOperands());
  }

  llvm::DenseMap<Value, Shared> known;
};

}  // namespace

bool warpsMayDecide(tile::SelectLazyOp lazy) {
  const LinearLayout* conditions = tilegpu::layoutOf(lazy.getCondition());
  if (!conditions) return false;
  WalkResult others = lazy.getExact().walk(
      [](Operation* op) { return op->hasTrait<tilegpu::NeedsAllWarps>() ? WalkResult::interrupt() : WalkResult::advance(); });
  if (others.wasInterrupted()) return false;
  return llvm::all_of(lazy.getResultTypes(), [&](Type type) {
    const LinearLayout* results = tilegpu::layoutOf(type);
    return results && decidesAlike(*conditions, *results);
  });
}

std::vector<Divergence> divergences(func::FuncOp function) {
  Finder finder;
  finder.block(function.getBody().front(), {});
  return std::move(finder.found);
}

}  // namespace fattn::check
