// SPDX-License-Identifier: Apache-2.0
// Finds the nodes of a loop's body.
//
// A dot is a node, with the reads of shared memory and the waits that only it needs; a select_lazy is one; and so is each maximal connected
// group of other operations on tiles of one level, where the level of an operation is the greatest number of dots and select_lazies on a
// path to it. Edges lead from a level to the same or a higher one, and to a higher one behind a dot: no two nodes need each other within an
// iteration. A group that only renames or converts what one other group computes belongs to that one.
//
// Where a matrix unit does dots by itself, groups are smaller: a group needs the same dots, not as many, so that what follows from one of
// two dots can run beside the other one; and a conversion for which warps meet is a node, so that dots can begin before it. Edges then lead
// from a group to one that needs the same nodes or more. The store of what warps exchange is a node, too. Elsewhere other warps run beside
// a dot, and larger groups keep fewer registers.
//
// What is computed from scalars alone belongs to no node. Edges are values, and the order that memory imposes (MemoryOrder.h).
#include "compiler/gpu/passes/loops/LoopGraph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "compiler/dialect/SourceLines.h"
#include "compiler/gpu/Occupancy.h"
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/DotShapes.h"
#include "compiler/gpu/passes/dots/ExchangedOperand.h"
#include "compiler/gpu/passes/lazy/RematerializeLazy.h"
#include "compiler/gpu/passes/loops/LoopGroups.h"
#include "compiler/gpu/passes/loops/MemoryOrder.h"
#include "compiler/gpu/passes/roles/PairedDots.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

/// Registers for addresses, loop control and what else no node accounts for.
constexpr int kOtherRegisters = 16;

/// The store of what warps exchange for a dot, which may be another trip's.
bool isExchange(Operation* op) {
  auto store = dyn_cast<StoreBufferOp>(op);
  auto alloc = store ? store.getBuffer().getDefiningOp<AllocOp>() : AllocOp();
  return alloc && alloc->hasAttr(kExchangeAttr);
}

/// Reads of shared memory, what they wait for, and the renaming between them and their dot.
bool isOperandRead(Operation* op) {
  if (isExchange(op)) return false;
  if (isa<LoadBufferOp, CopyWaitOp, StoreBufferOp>(op)) return true;
  return isa<tile::TransOp>(op) && op->getOperand(0).getDefiningOp<LoadBufferOp>();
}

bool isConversion(Operation* op) { return op->hasTrait<tile::MovesElements>() || isa<arith::TruncFOp, arith::ExtFOp>(op); }

/// What of an iteration leads to an operation: nodes by themselves, and the most of them that are on one path.
struct Needs {
  int level = 0;
  std::set<Operation*> nodes;
};

class GraphBuilder {
 public:
  GraphBuilder(scf::ForOp loop, ArrayRef<Operation*> fetches, int64_t ahead) : loop(loop), fetches(fetches), ahead(ahead) {
    for (Operation& op : loop.getBody()->without_terminator())
      if (!llvm::is_contained(fetches, &op)) body.push_back(&op);
    graph.queued = llvm::any_of(body, [](Operation* op) {
      auto dot = dyn_cast<tile::DotOp>(op);
      std::optional<DotInstruction> instruction = dot ? instructionOf(dot) : std::nullopt;
      return instruction && instruction->row->asynchronous;
    });
  }

  LoopGraph run() {
    classify();
    if (!graph.unfit.empty()) return std::move(graph);
    group();
    mergeConversions();
    mergeFirsts();
    number();
    if (!graph.unfit.empty()) return std::move(graph);
    edges();
    costs();
    resources();
    buffers();
    pairs();
    return std::move(graph);
  }

 private:
  /// Operations of the body whose results `op` uses, here or in its regions, with the distance in iterations.
  void forUses(Operation* op, llvm::function_ref<void(Value, Operation*, int)> visit) {
    op->walk([&](Operation* inner) {
      for (Value operand : inner->getOperands()) {
        int distance = 0;
        Value value = operand;
        if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == loop.getBody()) {
          if (argument == loop.getInductionVar()) continue;
          value = loop.getTiedLoopYieldedValue(argument)->get();
          distance = 1;
        }
        Operation* def = value.getDefiningOp();
        if (def && def->getBlock() == loop.getBody()) visit(value, def, distance);
      }
    });
  }

  /// What is a node by itself.
  bool isHeavy(Operation* op) const {
    return isa<tile::DotOp, tile::SelectLazyOp>(op) || isExchange(op) || (graph.queued && crossesWarps(dyn_cast<ConvertLayoutOp>(op)));
  }
  bool isSame(const Needs& a, const Needs& b) const { return graph.queued ? a.nodes == b.nodes : a.level == b.level; }

  /// No tile goes in but such as follow from scalars, and memory is left alone.
  bool followsFromScalars(Operation* op) {
    if (!isMemoryEffectFree(op) || isHeavy(op) || op->getNumRegions() != 0) return false;
    // Transposed tiles and tiles of pointers belong to nodes.
    bool source = (op->hasTrait<tile::CheapToRepeat>() && !isa<tile::TransOp, tile::AddPtrOp>(op)) || isa<arith::ConstantOp>(op);
    bool tiles = llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
    if (tiles && !source) return false;
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      if (!isa<RankedTensorType>(operand.getType())) return true;
      Operation* def = operand.getDefiningOp();
      return def && (def->getBlock() != loop.getBody() || free.contains(def));
    });
  }

  void classify() {
    for (Operation* op : body) {
      bool dotInside = op->getNumRegions() != 0 && op->walk([](tile::DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
      if (dotInside) graph.unfit = "a dot stands in a branch";
      if (followsFromScalars(op)) free.insert(op), graph.free.push_back(op);
    }
    for (Operation* op : body) {
      if (free.contains(op)) continue;
      Needs mine;
      forUses(op, [&](Value, Operation* def, int distance) {
        auto it = needs.find(def);
        if (distance != 0 || def == op || it == needs.end()) return;
        mine.level = std::max(mine.level, it->second.level + (isHeavy(def) ? 1 : 0));
        if (!graph.queued) return;
        mine.nodes.insert(it->second.nodes.begin(), it->second.nodes.end());
        if (isHeavy(def)) mine.nodes.insert(def);
      });
      needs[op] = std::move(mine);
    }
  }

  bool isArithmetic(Operation* op) { return needs.contains(op) && !isHeavy(op) && !isOperandRead(op); }

  /// Connects what belongs together; the leader of a class stands for its node.
  void group() {
    for (Operation* op : body)
      if (needs.contains(op)) classes.insert(op);
    for (Operation* op : body) {
      if (!isArithmetic(op)) continue;
      forUses(op, [&](Value, Operation* def, int distance) {
        if (distance == 0 && def != op && isArithmetic(def) && isSame(needs[def], needs[op])) classes.unionSets(op, def);
      });
    }
    for (Operation* op : llvm::reverse(body))
      if (needs.contains(op) && isOperandRead(op))
        if (Operation* reader = readerOf(op)) classes.unionSets(op, reader);
  }

  /// The first operation behind that needs what this one reads or waits for.
  Operation* readerOf(Operation* op) {
    if (op->getNumResults() != 0) {
      Operation* first = nullptr;
      for (Operation* user : op->getUsers()) {
        Operation* inBody = loop.getBody()->findAncestorOpInBlock(*user);
        if (inBody && needs.contains(inBody) && (!first || inBody->isBeforeInBlock(first))) first = inBody;
      }
      return first;
    }
    llvm::SmallSetVector<Value, 4> buffers;
    for (const BufferAccess& access : accessesOf(op)) buffers.insert(access.buffer);
    for (Operation* next = op->getNextNode(); next; next = next->getNextNode())
      if (needs.contains(next) && !isa<CopyWaitOp, StoreBufferOp>(next) && touches(next, buffers)) return next;
    return nullptr;
  }

  /// A class of conversions whose operands all come from one class of arithmetic (or one select_lazy) joins it.
  void mergeConversions() {
    for (Operation* op : body) {
      if (!isArithmetic(op) || classes.getLeaderValue(op) != op) continue;
      Operation* source = nullptr;
      bool one = true;
      for (Operation* member : membersOf(op)) {
        one &= isConversion(member);
        forUses(member, [&](Value, Operation* def, int distance) {
          if (!needs.contains(def) || classes.isEquivalent(def, op)) return;
          Operation* leader = classes.getLeaderValue(def);
          one &= distance == 0 && !isa<tile::DotOp>(def) && !isOperandRead(def) && (!source || source == leader);
          source = leader;
        });
      }
      if (one && source) classes.unionSets(source, op);
    }
  }

  /// A class that needs no other within an iteration and does not read memory (what is made of carried statistics, masks) joins the first
  /// one that uses it: nothing would be gained by doing it at another time, and its results need not be kept. So does one that reads what
  /// was copied ahead, where a matrix unit does dots by itself.
  void mergeFirsts() {
    for (Operation* op : body) {
      if (!needs.contains(op) || classes.getLeaderValue(op) != op) continue;
      SmallVector<Operation*> members = membersOf(op);
      bool first = llvm::none_of(members, [&](Operation* member) { return isHeavy(member); });
      for (Operation* member : members) {
        first &= isMemoryEffectFree(member) || (graph.queued && isa<LoadBufferOp, CopyWaitOp>(member));
        forUses(member, [&](Value, Operation* def, int distance) {
          first &= distance != 0 || !needs.contains(def) || classes.isEquivalent(def, op);
        });
      }
      if (Operation* user = first ? firstUserOf(members) : nullptr) classes.unionSets(user, op);
    }
  }

  /// The one that needs the fewest, and of those arithmetic before others: no path leads to it from another user.
  Operation* firstUserOf(ArrayRef<Operation*> members) {
    Operation* best = nullptr;
    auto rank = [&](Operation* op) { return std::tuple(needs[op].level, needs[op].nodes.size(), isHeavy(op)); };
    for (Operation* member : members)
      for (Operation* user : member->getUsers()) {
        Operation* inBody = loop.getBody()->findAncestorOpInBlock(*user);
        if (!inBody || !needs.contains(inBody) || classes.isEquivalent(inBody, member)) continue;
        if (!best || rank(inBody) < rank(best)) best = inBody;
      }
    return best;
  }

  SmallVector<Operation*> membersOf(Operation* op) {
    return llvm::to_vector(
        llvm::make_filter_range(body, [&](Operation* other) { return needs.contains(other) && classes.isEquivalent(op, other); }));
  }

  /// Nodes in the order of the text.
  void number() {
    int dots = 0, others = 0;
    for (Operation* op : body) {
      if (!needs.contains(op)) continue;
      auto [it, fresh] = numbers.try_emplace(classes.getLeaderValue(op), static_cast<int>(graph.operations.size()));
      if (fresh) graph.operations.emplace_back();
      graph.operations[it->second].push_back(op);
    }
    if (graph.operations.empty() || static_cast<int>(graph.operations.size()) > gpu::kMaxNodes)
      graph.unfit = fmt::format("it has {} nodes, and a model 1 to {}", graph.operations.size(), gpu::kMaxNodes);
    for (auto& operations : graph.operations) {
      bool dot = llvm::any_of(operations, llvm::IsaPred<tile::DotOp>);
      gpu::Node node{.name = std::string(1, static_cast<char>(dot ? 'A' + dots++ : 'a' + others++)),
                     .kind = dot ? gpu::NodeKind::Dot : gpu::NodeKind::Arithmetic};
      graph.model.nodes.push_back(node);
    }
  }

  int nodeOf(Operation* op) {
    auto it = needs.contains(op) ? numbers.find(classes.getLeaderValue(op)) : numbers.end();
    return it == numbers.end() ? -1 : it->second;
  }

  void addEdge(gpu::Edge added) {
    if (added.from < 0 || added.to < 0 || added.from == added.to) return;
    for (gpu::Edge& edge : graph.model.edges)
      if (edge.from == added.from && edge.to == added.to && edge.distance == added.distance) {
        edge.chained &= added.chained;
        edge.order &= added.order;
        return;
      }
    graph.model.edges.push_back(added);
  }

  void edges() {
    for (Operation* op : body) {
      int to = nodeOf(op);
      if (to < 0) continue;
      forUses(op, [&](Value value, Operation* def, int distance) {
        auto dot = dyn_cast<tile::DotOp>(op);
        bool onlyAccumulates = dot && isa<tile::DotOp>(def) && value != dot.getA() && value != dot.getB();
        addEdge({.from = nodeOf(def), .to = to, .distance = distance, .chained = onlyAccumulates});
      });
    }
    for (const MemoryEdge& edge : memoryEdges(loop, fetches, gpu::kMaxStages))
      addEdge({.from = nodeOf(edge.from), .to = nodeOf(edge.to), .distance = edge.distance, .order = true});
  }

  /// What follows from one of several products that each group computes one of (`tilegpu.paired`) is one group's work.
  double shareOfGroup() const { return static_cast<double>(*targetOf(loop).warpGroup) / static_cast<double>(warpsOf(loop)); }

  void costs() {
    const llvm::DenseMap<Operation*, int64_t> chains = chainsOf(*loop.getBody(), pairedGroup);
    for (auto [node, operations] : llvm::zip(graph.model.nodes, graph.operations))
      for (Operation* op : operations) {
        if (auto dot = dyn_cast<tile::DotOp>(op)) {
          node.dot = workOf(dot);
          node.working = std::max(node.working, fragmentRegisters(dot));
        } else if (node.kind == gpu::NodeKind::Arithmetic) {
          const gpu::ArithmeticWork work = workOf(op);
          const double part = chains.contains(op) ? shareOfGroup() : 1;
          node.work.exp2 += work.exp2 * part, node.work.fma += work.fma * part, node.work.add += work.add * part;
          node.work.convert += work.convert * part, node.work.shuffle += work.shuffle * part;
          node.work.sharedBytes += work.sharedBytes * part;
          node.work.latency = std::max(node.work.latency, work.latency);
        }
      }
  }

  /// Values that take over the registers of what the loop carries: yielded, or the accumulator (usual value) of such a one.
  llvm::SmallPtrSet<Value, 16> carriedInPlace() {
    llvm::SmallPtrSet<Value, 16> values;
    for (Value value : loop.getYieldedValues()) {
      while (value && values.insert(value).second) {
        if (auto dot = value.getDefiningOp<tile::DotOp>())
          value = dot.getAcc();
        else if (auto lazy = value.getDefiningOp<tile::SelectLazyOp>())
          value = lazy.getUsual()[cast<OpResult>(value).getResultNumber()];
        else
          break;
      }
    }
    return values;
  }

  void resources() {
    gpu::LoopModel& model = graph.model;
    const gpu::Target& target = targetOf(loop);
    model.threads = static_cast<int>(warpsOf(loop)) * target.warpSize;
    model.name = "loop";
    model.dotsEndInTrip = true;  // -tilegpu-place-waits carries nothing in flight to the next trip
    llvm::SmallPtrSet<Value, 16> inPlace = carriedInPlace();
    model.fixedRegisters = kOtherRegisters;
    for (Value argument : loop.getRegionIterArgs()) model.fixedRegisters += static_cast<int>(registersOf(argument.getType()));
    for (Value tile : tilesFromOutside()) model.fixedRegisters += static_cast<int>(registersOf(tile.getType()));
    for (auto [i, operations] : llvm::enumerate(graph.operations))
      for (Operation* op : operations)
        for (Value result : op->getResults())
          if (!inPlace.contains(result) && !isElsewhere(op, operations)) countRegisters(static_cast<int>(i), result);
    model.registerLimit = gpu::registerLimit(target, 1, model.threads, /*copierRegisters=*/0);
    model.groups = blocksOnSM(target);
    partIntoGroups(model, loop, fetches);
  }

  /// What copies fill ahead, what nodes of the loop fill for others, and the bytes of all other buffers of the block.
  void buffers() {
    llvm::SmallPtrSet<Operation*, 8> counted;
    for (Operation* fetch : fetches) {
      auto copy = dyn_cast<CopyAsyncOp>(fetch);
      if (!copy || static_cast<int>(graph.copies.size()) == gpu::kMaxCopies) continue;
      static_assert(gpu::kMaxCopies + gpu::kMaxNodes <= 'z' - 'a' + 1);
      graph.model.copies.push_back({.name = std::string(1, static_cast<char>('z' - graph.copies.size())),
                                    .readers = readersOf(copy.getBuffer()),
                                    .slotBytes = slotBytesOf(copy.getBuffer()),
                                    .most = static_cast<int>(ahead),
                                    .boxes = copy.isBulk()});
      graph.copies.push_back(copy);
      counted.insert(copy.getBuffer().getDefiningOp());
    }
    for (auto store : loop.getBody()->getOps<StoreBufferOp>())
      if (isExchange(store) && nodeOf(store) >= 0 && counted.insert(store.getBuffer().getDefiningOp()).second)
        graph.model.exchanged.push_back(
            {.filler = nodeOf(store), .readers = readersOf(store.getBuffer()), .slotBytes = slotBytesOf(store.getBuffer())});
    loop->getParentOfType<func::FuncOp>().walk([&](AllocOp alloc) {
      if (!counted.contains(alloc)) graph.model.otherShared += slotBytesOf(alloc) * alloc.getResult().getType().getSlots();
    });
  }

  /// Products that groups compute one each of begin together. What follows from them up to the tiles that groups exchange is of their trip,
  /// and such a tile is read in one trip.
  void pairs() {
    std::vector<int> paired;
    for (auto dot : loop.getBody()->getOps<tile::DotOp>())
      if (pairedGroup(dot)) paired.push_back(nodeOf(dot));
    if (paired.empty()) return;
    graph.model.together.push_back(paired);
    const llvm::DenseMap<Operation*, int64_t> chains = chainsOf(*loop.getBody(), pairedGroup);
    std::map<int64_t, SmallVector<StoreBufferOp>> stores;  // of each group
    for (auto store : loop.getBody()->getOps<StoreBufferOp>())
      if (isOfPair(store.getBuffer())) {
        paired.push_back(nodeOf(store));
        graph.model.oneTrip.push_back(readersOf(store.getBuffer()));
        stores[chains.lookup(store)].push_back(store);
      }
    graph.model.oneTrip.push_back(std::move(paired));
    for (const auto& [group, own] : stores) orderBehindAll(own);
  }

  /// What reads one of a group's stores comes behind all of them: the group stores where the last one stands (AssignPairs.cpp).
  void orderBehindAll(ArrayRef<StoreBufferOp> stores) {
    for (StoreBufferOp read : stores)
      for (int reader : readersOf(read.getBuffer()))
        for (StoreBufferOp store : stores) addEdge({.from = nodeOf(store), .to = reader, .order = true});
  }

  /// With the barrier objects by which it is filled and handed back.
  static int64_t slotBytesOf(Value buffer) { return cast<BufferType>(buffer.getType()).getSlotBytes() + 2 * kBarrierBytes; }

  /// Nodes that read a buffer, each once.
  std::vector<int> readersOf(Value buffer) {
    std::set<int> readers;
    for (Operation* user : buffer.getUsers()) {
      Operation* inBody = isa<LoadBufferOp>(user) ? loop.getBody()->findAncestorOpInBlock(*user) : nullptr;
      if (const int node = inBody ? nodeOf(inBody) : -1; node >= 0) readers.insert(node);
    }
    return {readers.begin(), readers.end()};
  }

  /// Tiles that are made before the loop and live as long as it, because it reads them. Those that are made again where they are used take
  /// no registers.
  llvm::SmallSetVector<Value, 8> tilesFromOutside() {
    llvm::SmallSetVector<Value, 8> tiles;
    loop.getBody()->walk([&](Operation* op) {
      for (Value operand : op->getOperands()) {
        Operation* def = operand.getDefiningOp();
        const bool isCheap = !def || isa<arith::ConstantOp>(def) || def->hasTrait<tile::CheapToRepeat>();
        if (!isCheap && isa<RankedTensorType>(operand.getType()) && !loop->isAncestor(def)) tiles.insert(operand);
      }
    });
    return tiles;
  }

  /// Registers for one step of a dot's operands that threads read from shared memory.
  static int fragmentRegisters(tile::DotOp dot) {
    const std::optional<DotInstruction> instruction = instructionOf(dot);
    if (!instruction) return 0;
    int64_t registers = 0;
    for (unsigned i : {0u, 1u}) {
      Operation* def = dot->getOperand(i).getDefiningOp();
      if (auto trans = dyn_cast_or_null<tile::TransOp>(def)) def = trans.getInput().getDefiningOp();
      if (!isa_and_nonnull<LoadBufferOp>(def) || isReadFromShared(dot, i)) continue;
      registers += llvm::divideCeil(registersOf(dot->getOperand(i).getType()) * instruction->depth, dot.getA().getType().getDimSize(1));
    }
    return static_cast<int>(registers);
  }

  /// Whether nobody has the value in registers of its own: another name of one that is counted, or what a matrix unit reads from shared
  /// memory.
  bool isElsewhere(Operation* op, ArrayRef<Operation*> node) {
    if (isa<tile::TransOp>(op) && llvm::is_contained(node, op->getOperand(0).getDefiningOp())) return true;
    auto dot = op->hasOneUse() ? dyn_cast<tile::DotOp>(*op->user_begin()) : tile::DotOp();
    std::optional<ExchangedOperand> operand = dot ? exchangedOperand(dot) : std::nullopt;
    return operand && llvm::is_contained(operand->chain, op);
  }

  /// Whether the user is on a rare side, which computes the value again.
  static bool isOnExactSide(Operation* user, Operation* inBody, Value value) {
    auto lazy = user == inBody ? tile::SelectLazyOp() : dyn_cast<tile::SelectLazyOp>(inBody);
    return lazy && isComputedAgain(value, lazy);
  }

  /// A value that other nodes use; where only one does and computes elementwise from it, that one takes over the registers.
  void countRegisters(int node, Value result) {
    llvm::SmallSetVector<int, 4> users;
    for (Operation* user : result.getUsers())
      if (Operation* op = loop.getBody()->findAncestorOpInBlock(*user); op && !isOnExactSide(user, op, result))
        if (int to = nodeOf(op); to >= 0 && to != node) users.insert(to);
    if (users.empty()) return;
    // An owner has all of the result.
    const bool owned = result.getDefiningOp() && result.getDefiningOp()->hasAttr(kOwnedAttr);
    const int64_t groups = owned ? warpsOf(loop) / *targetOf(loop).warpGroup : 1;
    graph.model.nodes[node].registers += static_cast<int>(registersOf(result.getType()) * groups);
    if (users.size() != 1) return;
    for (gpu::Edge& edge : graph.model.edges)
      if (edge.from == node && edge.to == users[0] && graph.model.nodes[edge.to].kind == gpu::NodeKind::Arithmetic && !edge.order)
        edge.reuse = true;
  }

  /// Blocks that an SM holds at once, by the buffers of this loop and a block's warps and registers at the limit.
  int blocksOnSM(const gpu::Target& target) {
    llvm::SmallSetVector<Value, 8> buffers;
    loop.walk([&](Operation* op) {
      for (const BufferAccess& access : accessesOf(op)) buffers.insert(access.buffer);
    });
    int64_t bytes = 0;
    for (Value buffer : buffers) {
      bool filled = llvm::any_of(buffer.getUsers(), [&](Operation* user) { return isa<CopyAsyncOp>(user) && loop->isAncestor(user); });
      bytes += cast<BufferType>(buffer.getType()).getSlotBytes() * (filled ? ahead + 1 : 1);
    }
    const gpu::BlockNeeds needs{.warps = static_cast<int>(warpsOf(loop)), .registers = *graph.model.registerLimit, .sharedBytes = bytes};
    return std::clamp(gpu::occupancyOf(target, needs).blocks, 1, gpu::kMaxGroups);
  }

  scf::ForOp loop;
  ArrayRef<Operation*> fetches;
  int64_t ahead;
  SmallVector<Operation*> body;
  llvm::SmallPtrSet<Operation*, 16> free;
  std::map<Operation*, Needs> needs;  // of everything that is not free
  llvm::EquivalenceClasses<Operation*> classes;
  llvm::DenseMap<Operation*, int> numbers;  // of the leaders
  LoopGraph graph;
};

}  // namespace

std::vector<gpu::NodeOrigin> LoopGraph::origins() const {
  std::vector<gpu::NodeOrigin> all;
  for (const auto& [node, ops] : llvm::zip(model.nodes, operations)) {
    gpu::NodeOrigin& origin = all.emplace_back();
    origin.operations = static_cast<int>(ops.size());
    origin.what = node.kind == gpu::NodeKind::Dot
                      ? fmt::format("dot {} x {} x {}", node.dot.m, node.dot.n, node.dot.k)
                      : fmt::format("{} operations from {}", ops.size(), ops.front()->getName().getStringRef().str());
    for (Operation* op : ops) op->walk([&](Operation* inner) { compiler::addSourceLines(inner->getLoc(), origin.sources); });
    compiler::sortSourceLines(origin.sources);
  }
  return all;
}

std::vector<gpu::NodeOrigin> LoopGraph::copied() const {
  std::vector<gpu::NodeOrigin> all;
  for (Operation* op : copies) {
    const StringRef argument = argumentOf(cast<CopyAsyncOp>(op).getPtr());
    gpu::NodeOrigin& origin = all.emplace_back();
    origin.operations = 1;
    origin.what = argument.empty() ? "copy" : "copy of " + argument.str();
    compiler::addSourceLines(op->getLoc(), origin.sources);
    compiler::sortSourceLines(origin.sources);
  }
  return all;
}

std::string LoopGraph::legend() const {
  std::vector<std::string> parts;
  for (const auto& [node, origin] : llvm::zip(model.nodes, origins()))
    parts.push_back(fmt::format("{} = {} ({} registers)", node.name, origin.what, node.registers));
  return fmt::format("{}; {} more registers", fmt::join(parts, ", "), model.fixedRegisters);
}

LoopGraph graphOf(scf::ForOp loop, ArrayRef<Operation*> fetches, int64_t ahead) { return GraphBuilder(loop, fetches, ahead).run(); }

}  // namespace fattn::tilegpu
