// SPDX-License-Identifier: Apache-2.0
// Finds the order that memory imposes on a loop's body.
//
// Shared memory: a buffer that is filled once an iteration gets a slot for each iteration in flight, so that its readers only have to come
// behind what fills it (or behind the wait, if that is a copy). All accesses to any other buffer keep the order of the text, round the loop
// as well. Global memory: two accesses of which one writes keep their order at the distances at which they may overlap (Aliasing.h).
// Prints keep their order among themselves. Loops with very many accesses keep all of them in the order of the text, so that the work stays
// proportional to their number.
#include "compiler/gpu/passes/loops/MemoryOrder.h"

#include "compiler/gpu/passes/Buffers.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

using transforms::accessesIn, transforms::MemoryAccess, transforms::Aliasing;

/// Pairs of a write and another access that are compared one by one.
constexpr size_t kMostPairs = 4096;
/// The same of one load that is to move; beyond that it stays.
constexpr size_t kMostMoved = 128;

/// An operation of the body that touches some memory, in it or in its regions.
struct Event {
  Operation* op = nullptr;
  bool writes = false;
};

/// Edges for memory that keeps the order of the text.
void chain(ArrayRef<Event> events, SmallVectorImpl<MemoryEdge>& edges) {
  auto link = [&](Operation* from, Operation* to, int distance) {
    if (from && from != to) edges.push_back({from, to, distance});
  };
  Operation* written = nullptr;
  SmallVector<Operation*> read;
  for (int distance : {0, 1}) {
    for (const Event& event : events) {
      link(written, event.op, distance);
      if (!event.writes) {
        if (distance == 0) read.push_back(event.op);
        continue;
      }
      for (Operation* reader : read) link(reader, event.op, distance);
      if (distance == 1) return;  // what follows is in order with this one
      written = event.op;
      read.clear();
    }
  }
}

class Finder {
 public:
  Finder(scf::ForOp loop, ArrayRef<Operation*> fetches, int most) : loop_(loop), fetches_(fetches), most_(most) {}

  SmallVector<MemoryEdge> run() {
    for (Operation& op : loop_.getBody()->without_terminator())
      if (!llvm::is_contained(fetches_, &op)) collect(&op);
    for (auto& [buffer, events] : buffers_) orderBuffer(buffer, events);
    chain(prints_, edges_);
    orderGlobal();
    return std::move(edges_);
  }

 private:
  void collect(Operation* op) {
    op->walk([&](Operation* inner) {
      if (isa<tile::DevicePrintOp>(inner)) prints_.push_back({op, true});
      for (const BufferAccess& access : accessesOf(inner)) buffers_[access.buffer].push_back({op, access.write});
      if (auto access = transforms::accessOf(inner)) global_.push_back({op, *access});
      if (auto wait = dyn_cast<CopyWaitOp>(inner))
        for (Value token : wait.getTokens())
          for (CopyAsyncOp copy : copiesOf(token)) readUntil(op, copy);
      if (auto store = dyn_cast<StoreBufferOp>(inner))
        if (Operation* load = store.getValue().getDefiningOp(); llvm::is_contained(fetches_, load)) readUntil(op, load);
    });
  }

  void readUntil(Operation* op, Operation* fetch) {
    if (auto access = transforms::accessOf(fetch)) global_.push_back({op, *access});
  }

  void orderBuffer(Value buffer, ArrayRef<Event> events) {
    Operation* writer = nullptr;
    for (Operation* user : buffer.getUsers())
      if (isa<CopyAsyncOp, StoreBufferOp>(user)) writer = user;
    if (!writer || !fillsForIteration(loop_, writer, buffer)) return chain(events, edges_);
    Operation* filled = nullptr;
    for (const Event& event : events) {
      if (filled && filled != event.op) edges_.push_back({filled, event.op, 0});
      if (event.writes) filled = event.op;
    }
  }

  void orderGlobal() {
    auto writes = [](const auto& entry) { return entry.second.writes; };
    size_t count = llvm::count_if(global_, writes);
    if (count * global_.size() > kMostPairs) {
      SmallVector<Event> events;
      for (const auto& [op, access] : global_) events.push_back({op, access.writes});
      return chain(events, edges_);
    }
    for (size_t i = 0; i < global_.size(); ++i)
      for (size_t j = i + 1; j < global_.size(); ++j) {
        if (global_[i].first == global_[j].first || (!writes(global_[i]) && !writes(global_[j]))) continue;
        order(global_[i], global_[j], 0);
        order(global_[j], global_[i], 1);
      }
  }

  using Access = std::pair<Operation*, MemoryAccess>;
  /// The least distance at which they may overlap implies the greater ones, as an operation's trips are in order.
  void order(const Access& from, const Access& to, int distance) {
    for (; distance < most_; ++distance)
      if (aliasing_.mayOverlap(from.second, to.second, loop_, distance)) return edges_.push_back({from.first, to.first, distance});
  }

  scf::ForOp loop_;
  ArrayRef<Operation*> fetches_;
  int most_;
  Aliasing aliasing_;
  llvm::MapVector<Value, SmallVector<Event>> buffers_;
  SmallVector<Event> prints_;
  SmallVector<Access> global_;
  SmallVector<MemoryEdge> edges_;
};

}  // namespace

SmallVector<MemoryEdge> memoryEdges(scf::ForOp loop, ArrayRef<Operation*> fetches, int most) { return Finder(loop, fetches, most).run(); }

bool mayMove(scf::ForOp loop, ArrayRef<MemoryAccess> reads, int64_t early, int64_t late, Aliasing& aliasing) {
  auto inBody = [&](const MemoryAccess& access) { return loop.getBody()->findAncestorOpInBlock(*access.op); };
  auto overlap = [&](const MemoryAccess& first, const MemoryAccess& second, int64_t from, int64_t to) {
    for (int64_t distance = from; distance <= to; ++distance)
      if (aliasing.mayOverlap(first, second, loop, distance)) return true;
    return false;
  };
  size_t compared = 0;
  for (const MemoryAccess& write : accessesIn(loop)) {
    if (!write.writes) continue;
    for (const MemoryAccess& read : reads) {
      if (!write.orders && !aliasing.mayAlias(write.pointer, read.pointer)) continue;
      if (++compared > kMostMoved) return false;
      bool writesFirst = inBody(write)->isBeforeInBlock(inBody(read));
      if (overlap(write, read, writesFirst ? 0 : 1, early) || overlap(read, write, writesFirst ? 1 : 0, late)) return false;
    }
  }
  return true;
}

bool fillsForIteration(scf::ForOp loop, Operation* writer, Value buffer) {
  if (!loop.isDefinedOutsideOfLoop(buffer) || !buffer.getDefiningOp<AllocOp>() || writer->getBlock() != loop.getBody()) return false;
  return llvm::all_of(buffer.getUsers(), [&](Operation* user) {
    if (user == writer || isa<CopyWaitOp, ReleaseOp>(user)) return true;
    Operation* reader = isa<LoadBufferOp>(user) ? loop.getBody()->findAncestorOpInBlock(*user) : nullptr;
    return reader && writer->isBeforeInBlock(reader);
  });
}

}  // namespace fattn::tilegpu
