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
  // The old values go to all threads through shared memory.
  if (auto add = dyn_cast<tile::AtomicAddOp>(op)) return !add.getResult().use_empty();
  return false;
}

class Finder {
 public:
  void block(mlir::Block& block, Operation* under) {
    for (Operation& op : block) visit(&op, under);
  }

  std::vector<Divergence> found;

 private:
  void visit(Operation* op, Operation* under) {
    auto lazy = dyn_cast<tile::SelectLazyOp>(op);
    bool byWarp = lazy && warpsMayDecide(lazy);
    bool voted = lazy && !byWarp && tile::isTile(lazy.getCondition().getType());  // a vote of the block is a barrier
    if (under && (needsAllWarps(op) || voted)) found.push_back({op, under});
    Operation* inside = byWarp || (!lazy && op->getNumRegions() != 0 && differs(op)) ? op : under;
    if (isa<tile::ReduceOp>(op)) return;
    for (Region& region : op->getRegions())
      for (mlir::Block& inner : region) block(inner, inside);
  }

  /// Whether a branch or a loop may lead warps different ways: its condition or bounds come out of a tile, or of what warps decided alone.
  bool differs(Operation* op) {
    if (auto branch = dyn_cast<scf::IfOp>(op)) return !isUniform(branch.getCondition());
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return !isUniform(loop.getLowerBound()) || !isUniform(loop.getUpperBound()) || !isUniform(loop.getStep());
    if (auto loop = dyn_cast<scf::WhileOp>(op)) return !isUniform(loop.getConditionOp().getCondition());
    return false;
  }

  bool isUniform(Value value) {
    auto [it, fresh] = uniform.try_emplace(value, true);  // round a loop: until something says otherwise
    if (!fresh) return it->second;
    bool result = computeUniform(value);
    uniform[value] = result;
    return result;
  }

  bool computeUniform(Value value) {
    if (tile::isTile(value.getType())) return false;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation* parent = argument.getOwner()->getParentOp();
      if (auto loop = dyn_cast<scf::ForOp>(parent)) {
        if (argument == loop.getInductionVar()) return !differs(loop);
        return isUniform(loop.getTiedLoopInit(argument)->get()) && isUniform(loop.getTiedLoopYieldedValue(argument)->get());
      }
      return true;
    }
    Operation* op = value.getDefiningOp();
    if (auto lazy = dyn_cast<tile::SelectLazyOp>(op)) return !warpsMayDecide(lazy);
    if (op->getNumRegions() != 0) return !differs(op);
    if (isa<tile::GatherOp, tile::AtomicAddOp>(op)) return true;  // each thread reads the same place
    return llvm::all_of(op->getOperands(), [&](Value operand) { return isUniform(operand); });
  }

  llvm::DenseMap<Value, bool> uniform;
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
  finder.block(function.getBody().front(), nullptr);
  return std::move(finder.found);
}

}  // namespace fattn::check
