// SPDX-License-Identifier: Apache-2.0
// How the operations of a loop become nodes:
//   a dot is a node, a load is one; a shape operation belongs to what it reshapes, and scalars to nobody
//   arithmetic that depends on the same dots of its trip and is connected is one node: so no two nodes need each other in one trip
//   select_lazy counts as a dot here: what is before it need not wait for the running values that it needs
//   arithmetic that depends on no dot joins its first user
#include "tools/fattn-dump/Loop.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>

#include "compiler/dialect/Tile.h"
#include "compiler/gpu/schedule/Schedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace fattn::dump {
namespace {

using gpu::NodeKind;

std::int64_t elementsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getNumElements() : 1;
}

std::int64_t bytesOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIntOrFloat() ? elementsOf(type) * std::max(element.getIntOrFloatBitWidth() / 8, 1u) : 0;
}

bool isShapeOp(Operation* op) {
  return isa<tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp, tile::TransOp, tile::ReshapeOp, arith::ConstantOp>(op);
}

/// Lane operations of one operation, nested ones included unless they are an exact side.
void count(Operation* op, gpu::ArithmeticWork& work) {
  if (isShapeOp(op) || op->getNumResults() == 0) return;
  const auto n = static_cast<double>(elementsOf(op->getResult(0).getType()));
  if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    work.add += static_cast<double>(elementsOf(reduce.getInputs()[0].getType()));
    work.shuffle += 2 * 4 * n;  // two steps among the four lanes that share a row of an accumulator
  } else if (isa<tile::SelectLazyOp>(op)) {
    work.add += static_cast<double>(elementsOf(op->getOperand(0).getType()));  // the condition; its region almost never runs
  } else if (isa<math::Exp2Op, math::ExpOp, math::Log2Op, math::TanhOp>(op)) {
    work.exp2 += n;
  } else if (isa<math::FmaOp, arith::MulFOp>(op)) {
    work.fma += n;
  } else if (isa<arith::TruncFOp, arith::ExtFOp, arith::SIToFPOp, arith::FPToSIOp>(op)) {
    work.convert += n;
  } else if (isa<RankedTensorType>(op->getResult(0).getType())) {
    work.add += n;
  }
  if (!isa<tile::ReduceOp, tile::SelectLazyOp>(op))
    for (Region& region : op->getRegions())
      for (Operation& inner : region.getOps()) count(&inner, work);
}

class LoopReader {
 public:
  LoopReader(scf::ForOp loop, int threads, int stages) : loop(loop), threads(threads), stages(stages) {}

  std::optional<TileLoop> read() {
    for (Operation& op : loop.getBody()->without_terminator()) place(&op);
    joinFree();
    number();
    if (drafts.empty() || drafts.size() > static_cast<size_t>(gpu::kMaxNodes)) return std::nullopt;
    TileLoop result;
    result.model.name = "loop";
    result.model.threads = threads;
    for (Value init : loop.getInitArgs()) result.model.fixedRegisters += registersOf(init);
    for (size_t n = 0; n < drafts.size(); ++n) addNode(n, result);
    for (size_t n = 0; n < drafts.size(); ++n) addEdges(n, result.model);
    orderOf(result);
    return result;
  }

 private:
  struct Draft {
    NodeKind kind = NodeKind::Arithmetic;
    std::uint64_t needs = 0;  ///< bits of the dots (and exact sides) of its trip that it depends on
    bool lazy = false;
    std::vector<Operation*> ops;
  };

  int registersOf(Value value) const {
    return isa<RankedTensorType>(value.getType()) ? static_cast<int>((bytesOf(value.getType()) / 4 + threads - 1) / threads) : 0;
  }

  /// Values an operation uses, in its regions too.
  static std::vector<Value> usesOf(Operation* op) {
    std::vector<Value> values(op->operand_begin(), op->operand_end());
    llvm::SetVector<Value> above;
    getUsedValuesDefinedAbove(op->getRegions(), above);
    values.insert(values.end(), above.begin(), above.end());
    return values;
  }
  Operation* definition(Value value) const {
    Operation* op = value.getDefiningOp();
    return op != nullptr && op->getBlock() == loop.getBody() ? op : nullptr;
  }

  int draft(NodeKind kind, std::uint64_t needs, Operation* op) {
    drafts.push_back({kind, needs, isa<tile::SelectLazyOp>(op), {op}});
    return static_cast<int>(drafts.size()) - 1;
  }

  void place(Operation* op) {
    std::uint64_t needs = 0;
    for (Value value : usesOf(op))
      if (Operation* from = definition(value)) needs |= needsOf[from];
    int& mine = draftOf.try_emplace(op, -1).first->second;
    bool tensors = llvm::any_of(op->getResultTypes(), [](Type t) { return isa<RankedTensorType>(t); });
    if (isa<tile::DotOp, tile::SelectLazyOp>(op)) needs |= std::uint64_t{1} << std::min(bits++, 63);
    if (isa<tile::DotOp>(op)) {
      mine = draft(NodeKind::Dot, needs, op);
    } else if (isa<tile::LoadOp>(op) && tensors) {
      mine = draft(NodeKind::Copy, needs, op);
    } else if (isShapeOp(op)) {
      Operation* from = op->getNumOperands() > 0 ? definition(op->getOperand(0)) : nullptr;
      mine = from != nullptr ? draftOf[from] : -1;
      if (mine >= 0) drafts[mine].ops.push_back(op);
    } else if (tensors || isa<tile::StoreOp, tile::ScatterOp, tile::AtomicAddOp>(op)) {
      mine = join(op, needs);
    }
    needsOf[op] = needs;
  }

  /// The node of arithmetic that the operation continues; all of them if it connects several.
  int join(Operation* op, std::uint64_t needs) {
    int found = -1;
    for (Value value : usesOf(op)) {
      Operation* from = definition(value);
      int other = from != nullptr ? draftOf[from] : -1;
      if (other < 0 || other == found || drafts[other].kind != NodeKind::Arithmetic || drafts[other].needs != needs) continue;
      if (isa<tile::SelectLazyOp>(op)) continue;
      found = found < 0 ? other : (merge(other, found), found);
    }
    if (found < 0) return draft(NodeKind::Arithmetic, needs, op);
    drafts[found].ops.push_back(op);
    drafts[found].lazy |= isa<tile::SelectLazyOp>(op);
    return found;
  }

  void merge(int from, int into) {
    for (Operation* op : drafts[from].ops) {
      draftOf[op] = into;
      drafts[into].ops.push_back(op);
    }
    drafts[into].lazy |= drafts[from].lazy;
    drafts[from].ops.clear();
  }

  /// Arithmetic that depends on no dot, such as a mask's columns, joins its first user among the arithmetic.
  void joinFree() {
    for (size_t n = drafts.size(); n-- > 0;) {
      if (drafts[n].kind != NodeKind::Arithmetic || drafts[n].needs != 0 || drafts[n].ops.empty()) continue;
      Operation* first = nullptr;
      for (Operation* op : drafts[n].ops)
        for (Operation* user : op->getUsers()) {
          Operation* in = loop.getBody()->findAncestorOpInBlock(*user);
          if (in == nullptr || !draftOf.contains(in) || draftOf[in] < 0 || draftOf[in] == static_cast<int>(n)) continue;
          if (drafts[draftOf[in]].kind == NodeKind::Arithmetic && (first == nullptr || in->isBeforeInBlock(first))) first = in;
        }
      if (first != nullptr) merge(static_cast<int>(n), draftOf[first]);
    }
  }

  /// Drops what was merged away, and orders nodes so that each follows what it needs; otherwise as the program has them.
  void number() {
    std::vector<Draft> kept;
    for (Draft& each : drafts)
      if (!each.ops.empty()) kept.push_back(std::move(each));
    for (Draft& each : kept) llvm::sort(each.ops, [](Operation* a, Operation* b) { return a->isBeforeInBlock(b); });
    llvm::sort(kept, [](const Draft& a, const Draft& b) {
      if (std::popcount(a.needs) != std::popcount(b.needs)) return std::popcount(a.needs) < std::popcount(b.needs);
      return a.ops.front()->isBeforeInBlock(b.ops.front());
    });
    drafts = std::move(kept);
    for (size_t n = 0; n < drafts.size(); ++n)
      for (Operation* op : drafts[n].ops) draftOf[op] = static_cast<int>(n);
  }

  std::string nameOf(size_t node) const {
    auto kind = [](const Draft& d) {
      return std::string(d.kind == NodeKind::Dot ? "dot" : d.kind == NodeKind::Copy ? "load" : d.lazy ? "lazy" : "math");
    };
    int before = 0, all = 0;
    for (size_t n = 0; n < drafts.size(); ++n) {
      if (kind(drafts[n]) != kind(drafts[node])) continue;
      ++all;
      if (n < node) ++before;
    }
    return all == 1 ? kind(drafts[node]) : kind(drafts[node]) + static_cast<char>('A' + before);
  }

  void addNode(size_t n, TileLoop& result) const {
    const Draft& d = drafts[n];
    gpu::Node node{.name = nameOf(n), .kind = d.kind};
    std::set<SourceLine> lines;
    for (Operation* op : d.ops) {
      op->getLoc()->walk([&](Location part) {
        if (auto file = dyn_cast<FileLineColLoc>(part)) lines.insert({file.getFilename().str(), file.getLine()});
        return WalkResult::advance();
      });
      if (d.kind == NodeKind::Arithmetic) count(op, node.work);
      for (Value value : op->getResults())
        if (d.kind != NodeKind::Copy && !isShapeOp(op) && leaves(value, static_cast<int>(n))) node.registers += registersOf(value);
    }
    if (auto dot = dyn_cast<tile::DotOp>(d.ops.front())) {
      auto a = dot.getA().getType(), b = dot.getB().getType();
      node.dot = {tile::dtypeOf(a.getElementType()), static_cast<int>(a.getShape()[0]), static_cast<int>(b.getShape()[1]),
                  static_cast<int>(a.getShape()[1]), true};
      Operation* from = definition(dot.getA());
      node.dot.aInShared = from == nullptr || draftOf.lookup(from) < 0 || drafts[draftOf.lookup(from)].kind == NodeKind::Copy;
    }
    if (d.kind == NodeKind::Copy) {
      node.shared = bytesOf(d.ops.front()->getResult(0).getType());
      node.bytes = static_cast<double>(node.shared);
    }
    result.model.nodes.push_back(node);
    result.sources.emplace_back(lines.begin(), lines.end());
  }

  /// Whether another node of the trip uses the value. What the loop carries has registers anyway.
  bool leaves(Value value, int node) const {
    bool outside = false;
    for (Operation* user : value.getUsers()) {
      if (user == loop.getBody()->getTerminator()) return false;
      Operation* in = loop.getBody()->findAncestorOpInBlock(*user);
      outside |= in != nullptr && draftOf.lookup(in) >= 0 && draftOf.lookup(in) != node;
    }
    return outside;
  }

  void addEdges(size_t to, gpu::LoopModel& model) const {
    std::map<std::pair<int, int>, bool> seen;  // from and distance: whether it only hands on an accumulator
    auto add = [&](Value value, int distance, bool accumulates) {
      Operation* from = definition(value);
      int node = from != nullptr ? draftOf.lookup(from) : -1;
      if (node < 0 || (node == static_cast<int>(to) && distance == 0)) return;
      bool chained = accumulates && drafts[node].kind == NodeKind::Dot;
      auto [it, fresh] = seen.try_emplace({node, distance}, chained);
      it->second = it->second && chained;
    };
    for (Operation* op : drafts[to].ops)
      for (Value value : usesOf(op)) {
        auto dot = dyn_cast<tile::DotOp>(op);
        bool accumulates = dot && value == dot.getAcc();
        add(value, 0, accumulates);
        auto argument = dyn_cast<BlockArgument>(value);
        if (argument && argument.getOwner() == loop.getBody() && argument.getArgNumber() > 0)
          add(loop.getYieldedValues()[argument.getArgNumber() - 1], 1, accumulates);
      }
    for (const auto& [from, chained] : seen)
      model.edges.push_back({.from = from.first, .to = static_cast<int>(to), .distance = from.second, .chained = chained});
  }

  /// Copies first and of this trip, the rest of the one that their data were copied for.
  void orderOf(TileLoop& result) const {
    std::string late = stages > 1 && llvm::any_of(drafts, [](const Draft& d) { return d.kind == NodeKind::Copy; })
                           ? std::to_string(std::min(stages, gpu::kMaxStages) - 1)
                           : "";
    for (bool copies : {true, false})
      for (size_t n = 0; n < drafts.size(); ++n)
        if ((drafts[n].kind == NodeKind::Copy) == copies)
          result.order += (result.order.empty() ? "" : " ") + result.model.nodes[n].name + (copies ? "" : late);
  }

  using SourceLine = compiler::SourceLine;
  mutable scf::ForOp loop;  // whose accessors are not const
  int threads, stages, bits = 0;
  std::vector<Draft> drafts;
  llvm::DenseMap<Operation*, int> draftOf;
  llvm::DenseMap<Operation*, std::uint64_t> needsOf;
};

}  // namespace

std::optional<TileLoop> findLoop(ModuleOp module, int threads, int stages) {
  scf::ForOp best;
  std::pair<int, int> bestRank;  // dots, and less of everything else
  module.walk([&](scf::ForOp loop) {
    int dots = 0, all = 0;
    bool innermost = true;
    for (Operation& op : *loop.getBody()) {
      dots += isa<tile::DotOp>(op);
      ++all;
      innermost &= !op.walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); }).wasInterrupted();
    }
    if (innermost && dots > 0 && (!best || std::pair(dots, -all) > bestRank)) {
      best = loop;
      bestRank = {dots, -all};
    }
  });
  if (!best) return std::nullopt;
  return LoopReader(best, threads, stages).read();
}

}  // namespace fattn::dump
