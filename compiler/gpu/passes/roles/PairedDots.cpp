// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/roles/PairedDots.h"

#include "compiler/gpu/passes/layouts/AssignLayouts.h"
#include "fattn/Error.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

bool isAlike(tile::DotOp one, tile::DotOp other) {
  return one->getOperandTypes() == other->getOperandTypes() && one.getType() == other.getType();
}

bool isOfLoads(tile::DotOp dot) { return matchPattern(dot.getAcc(), m_AnyZeroFloat()) && loadBehind(dot.getA()) && loadBehind(dot.getB()); }

/// Whether the operation renames a tile, and nothing but dots use that.
bool leadsToDots(Operation* op) {
  if (!isa<tile::TransOp, ConvertLayoutOp>(op)) return false;
  return llvm::all_of(op->getUsers(), [](Operation* user) { return isa<tile::DotOp, DotAsyncOp>(user) || leadsToDots(user); });
}

/// A number becomes a wider one. What is exchanged is the narrow one.
bool widens(Operation* op) { return isa<arith::ExtFOp>(op); }

}  // namespace

std::optional<int64_t> pairedGroup(Operation* op) {
  auto group = op->getAttrOfType<IntegerAttr>(kPairedAttr);
  return isa<tile::DotOp, DotAsyncOp>(op) && group ? std::optional(group.getInt()) : std::nullopt;
}

void failPairs(const std::string& why, const std::string& remedy) {
  throw Error(ErrorCode::Unsupported,
              "an order with `pairs` cannot be kept, by which each warp group computes a product of its own: " + why, remedy);
}

llvm::DenseMap<Operation*, int64_t> chainsOf(Block& block, llvm::function_ref<std::optional<int64_t>(Operation*)> groupOf) {
  llvm::DenseMap<Operation*, int64_t> chains;
  for (Operation& op : block.without_terminator()) {
    if (std::optional<int64_t> group = groupOf(&op)) {
      chains[&op] = *group;
      continue;
    }
    if (isa<tile::DotOp, DotAsyncOp>(op) || leadsToDots(&op)) continue;
    op.walk([&](Operation* inner) {
      for (Value operand : inner->getOperands()) {
        auto found = operand.getDefiningOp() ? chains.find(operand.getDefiningOp()) : chains.end();
        if (found == chains.end()) continue;
        const int64_t group = found->second;
        auto [known, fresh] = chains.try_emplace(&op, group);
        known->second = std::max(known->second, group);
      }
    });
  }
  for (Operation& op : llvm::reverse(block.without_terminator())) {
    auto mine = chains.find(&op);
    if (mine == chains.end() || !widens(&op)) continue;
    std::optional<int64_t> users;
    for (Operation* user : op.getUsers()) {
      auto found = chains.find(block.findAncestorOpInBlock(*user));
      const int64_t group = found == chains.end() ? mine->second : found->second;
      users = std::min(users.value_or(group), group);
    }
    mine->second = std::max(mine->second, users.value_or(mine->second));
  }
  return chains;
}

SmallVector<Value> exchangedValues(Block& block, const llvm::DenseMap<Operation*, int64_t>& chains) {
  SmallVector<Value> values;
  for (Operation& op : block.without_terminator()) {
    auto mine = chains.find(&op);
    if (mine == chains.end()) continue;
    for (Value result : op.getResults()) {
      auto isElsewhere = [&](Operation* user) {
        auto found = chains.find(block.findAncestorOpInBlock(*user));
        return found == chains.end() || found->second != mine->second;
      };
      if (llvm::any_of(result.getUsers(), isElsewhere)) values.push_back(result);
    }
  }
  return values;
}

SmallVector<tile::DotOp> pairedDots(scf::ForOp loop, int64_t groups) {
  if (loop.getBody()->walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); }).wasInterrupted()) return {};
  SmallVector<tile::DotOp> dots, best;
  for (auto dot : loop.getBody()->getOps<tile::DotOp>())
    if (isOfLoads(dot) && (dots.empty() || isAlike(dots.front(), dot)) && std::ssize(dots) < groups) dots.push_back(dot);
  if (std::ssize(dots) < groups) return {};
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, groups));
  int64_t least = INT64_MAX;
  do {
    auto groupOf = [&](Operation* op) -> std::optional<int64_t> {
      auto found = llvm::find(dots, op);
      return found == dots.end() ? std::nullopt : std::optional(order[static_cast<size_t>(found - dots.begin())]);
    };
    int64_t bits = 0;
    for (Value value : exchangedValues(*loop.getBody(), chainsOf(*loop.getBody(), groupOf)))
      if (tile::isTile(value.getType())) bits += cast<RankedTensorType>(value.getType()).getNumElements() * bitsOf(value);
    if (bits >= least) continue;
    least = bits;
    best.resize(dots.size());
    for (auto [dot, group] : llvm::zip_equal(dots, order)) best[static_cast<size_t>(group)] = dot;
  } while (std::ranges::next_permutation(order).found);
  return best;
}

}  // namespace fattn::tilegpu
