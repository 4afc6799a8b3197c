// SPDX-License-Identifier: Apache-2.0
// Gives every buffer its bytes of shared memory; buffers that are never alive together may have the same:
//
//   %a = alloc : buffer<2 x 64x128xbf16>            %a = alloc {offset = 0} : ...
//   scf.for ... { uses of %a }                =>    scf.for ...
//   %b = alloc : buffer<128x128xbf16>               %b = alloc {offset = 0} : ...
//   uses of %b                                      (function: tilegpu.shared_bytes = 32768)
//
// A buffer is alive from its first to its last use in the order of the text, waits for its copies included; a use in a loop that does not
// contain the alloc makes it alive in all of the loop. Buffers are placed by falling size, each at the lowest place where nothing alive
// with it lies; aligned to their size's greatest power of two, from 128 bytes to 1024, the period of the widest swizzle: matrix units
// swizzle by addresses, and each of their layouts repeats after no more than the tile.
//
// Two buffers of one loop's body that take turns with the same bytes cost a barrier in every trip. So what a loop allocates lives in all of
// it too, unless fewer blocks then fit on an SM. In the same way an engine that stores results has bytes of its own for them, as the warps
// would have to meet before they write over operands.
//
// Where blocks may take several programs (`tilegpu.repeats`) the boxes of the next one arrive while a program runs: buffers that are filled
// once a program get two slots, which programs take in turns (-tilegpu-repeat-programs), and buffers of boxes are alive all the time. Where
// that takes too much, such buffers keep one slot, and the boxes arrive while a program ends. Where that takes too much, they share bytes
// with what comes behind their last reader, and are released behind that, too. Where that takes too much as well, a block takes one program
// (the attribute goes).
//
// Where barriers do not tell what threads voted, the warps of a block vote in shared memory: a word for each, which is alive at the vote
// only.
//
// Behind the buffers lie the barrier objects of those that an engine fills, and behind these what roles tell one another of the programs
// that the block is handed (`tilegpu.dynamic`).
//
// Runs before -tilegpu-place-barriers, which knows from the offsets whose bytes overlap and separates the last access of the old owner
// from the first of the new one where no other barrier does.
//
// Test: tests/lit/gpu/allocate-shared.mlir.
#include "compiler/gpu/Occupancy.h"
#include "compiler/gpu/dialect/WarpDecisions.h"
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/roles/Roles.h"
#include "fattn/Error.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_ALLOCATESHAREDPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// What a warp votes with.
constexpr int64_t kVoteBytes = 4;

struct Lifetime {
  AllocOp alloc;            ///< null: a vote
  tile::SelectLazyOp vote;  ///< by which warps decide together; null: a buffer
  int64_t begin = std::numeric_limits<int64_t>::max(), end = -1;
  int64_t offset = 0;
  bool stored = false;  ///< by an engine, to global memory
  int64_t bytes() { return vote ? kVoteBytes * warpsOf(vote->getParentOfType<func::FuncOp>()) : alloc.getResult().getType().getBytes(); }
  bool meets(const Lifetime& other) const { return begin <= other.end && other.begin <= end; }
};

/// When buffers of boxes are alive beyond their uses.
enum class Boxes : uint8_t {
  AsUsed,
  BeforeUse,  ///< those that loops fill: always; the others until their last use, as the copy may come at any time before
  Always,
};

bool isFilledByBoxes(AllocOp alloc, bool inLoop) {
  return llvm::any_of(alloc->getUsers(), [&](Operation* user) {
    auto copy = dyn_cast<CopyAsyncOp>(user);
    return copy && copy.isBulk() && (!inLoop || copy->getParentOfType<LoopLikeOpInterface>());
  });
}

class Allocator {
 public:
  /// `apart`: buffers that a loop allocates are alive in all of it, and those that an engine stores from all the time.
  Allocator(func::FuncOp func, bool apart, Boxes boxes = Boxes::AsUsed) : func(func), apart(apart), boxes(boxes) {}

  int64_t run() {
    int64_t count = 0;
    func.walk<WalkOrder::PreOrder>([&](Operation* op) { first[op] = count++; });
    func.walk([&](AllocOp alloc) {
      index[alloc.getResult()] = lifetimes.size();
      lifetimes.push_back({.alloc = alloc, .vote = {}});
    });
    func.walk([&](Operation* op) {
      for (const BufferAccess& access : accessesOf(op)) use(lifetimes[index.at(access.buffer)], op);
    });
    if (boxes != Boxes::AsUsed) extendBoxes();
    extendStores();
    addVotes();
    return place();
  }

 private:
  /// The number of the last operation inside of `op`.
  int64_t last(Operation* op) {
    int64_t result = first.at(op);
    op->walk([&](Operation* inner) { result = std::max(result, first.at(inner)); });
    return result;
  }

  void use(Lifetime& lifetime, Operation* op) {
    Operation* outside = apart ? func.getOperation() : nullptr;
    for (Operation* parent = op->getParentOp(); parent != outside && (apart || !parent->isAncestor(lifetime.alloc));
         parent = parent->getParentOp())
      if (isa<scf::ForOp, scf::WhileOp>(parent)) op = parent;
    lifetime.begin = std::min(lifetime.begin, first.at(op));
    lifetime.end = std::max(lifetime.end, last(op));
  }

  void extendBoxes() {
    for (Lifetime& lifetime : lifetimes) {
      if (lifetime.vote || !isFilledByBoxes(lifetime.alloc, /*inLoop=*/false)) continue;
      lifetime.begin = 0;
      if (boxes == Boxes::Always || isFilledByBoxes(lifetime.alloc, /*inLoop=*/true)) lifetime.end = static_cast<int64_t>(first.size());
    }
  }

  /// An engine reads what it stores at any time behind the operation. Where blocks take several programs, that is in the next one.
  void extendStores() {
    func.walk([&](StoreBoxesOp store) {
      Lifetime& lifetime = lifetimes[index.at(store.getBuffer())];
      if (apart || boxes != Boxes::AsUsed) lifetime.begin = 0;
      lifetime.stored = true;
      lifetime.end = static_cast<int64_t>(first.size());
    });
  }

  void addVotes() {
    if (targetOf(func).barriers.votes || warpsOf(func) == 1) return;
    func.walk([&](tile::SelectLazyOp lazy) {
      if (!layoutOf(lazy.getCondition()) || decidesWithinWarp(lazy)) return;
      lifetimes.push_back({.alloc = {}, .vote = lazy, .begin = first.at(lazy), .end = first.at(lazy)});
    });
  }

  int64_t place() {
    std::vector<Lifetime*> order;
    for (Lifetime& lifetime : lifetimes) order.push_back(&lifetime);
    // Equals in the order of the text, in which they lie in the vector. What is stored in the end lies behind what loops use: places that
    // are not far from 0 take fewer registers.
    std::ranges::sort(order, {}, [](Lifetime* one) { return std::tuple(one->stored, -one->bytes(), one); });
    int64_t total = 0;
    std::vector<Lifetime*> placed;  // by offset
    for (Lifetime* lifetime : order) {
      auto alignment = static_cast<int64_t>(std::clamp<uint64_t>(llvm::bit_floor(static_cast<uint64_t>(lifetime->bytes())), 128, 1024));
      for (Lifetime* other : placed) {
        if (!lifetime->meets(*other)) continue;
        if (lifetime->offset + lifetime->bytes() <= other->offset) break;
        lifetime->offset = std::max(lifetime->offset, static_cast<int64_t>(llvm::alignTo(other->offset + other->bytes(), alignment)));
      }
      placed.insert(std::ranges::upper_bound(placed, lifetime->offset, {}, &Lifetime::offset), lifetime);
      total = std::max(total, lifetime->offset + lifetime->bytes());
      if (lifetime->vote)
        lifetime->vote->setAttr(kVotesAttr, IntegerAttr::get(IntegerType::get(func.getContext(), 64), lifetime->offset));
      else
        lifetime->alloc.setOffset(lifetime->offset);
    }
    return total;
  }

  func::FuncOp func;
  bool apart;
  Boxes boxes;
  llvm::DenseMap<Operation*, int64_t> first;  // in the order of the text
  llvm::DenseMap<Value, size_t> index;
  std::vector<Lifetime> lifetimes;
};

class AllocateSharedPass : public impl::AllocateSharedPassBase<AllocateSharedPass> {
 public:
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isDeclaration() && failed(allocate(func))) return signalPassFailure();
  }

 private:
  /// Room behind the buffers for the barrier objects of copies by tensor maps, of stores that other warps may send, and of slots that warps
  /// fill for one another. Gives where it ends.
  static int64_t placeBarriers(func::FuncOp func, int64_t total) {
    llvm::SmallSetVector<Value, 4> buffers;
    func.walk([&](CopyAsyncOp copy) {
      if (copy.isBulk()) buffers.insert(copy.getBuffer());
    });
    if (buffers.empty()) return total;
    func.walk([&](StoreBoxesOp store) {
      if (maySendElsewhere(store)) buffers.insert(store.getBuffer());
    });
    func.walk([&](SlotCommitOp commit) { buffers.insert(commit.getBuffer()); });
    int64_t end = static_cast<int64_t>(llvm::alignTo(total, kBarrierBytes));
    for (Value buffer : buffers) {
      auto alloc = buffer.getDefiningOp<AllocOp>();
      alloc.setBarriers(end);
      end += kBarrierBytes * alloc.getResult().getType().getSlots() * (isReleased(buffer) || isStored(buffer) ? 2 : 1);
    }
    return end;
  }

  /// Room behind them for the ids of programs that a block is handed while it runs.
  static int64_t placeClaims(func::FuncOp func, int64_t total) {
    if (!func->hasAttr(kDynamicAttr)) return total;
    const auto begin = static_cast<int64_t>(llvm::alignTo(total, kClaimsAlignment));
    func->setAttr(kClaimsAttr, IntegerAttr::get(IntegerType::get(func.getContext(), 64), begin));
    return begin + kClaimsBytes;
  }

  /// A buffer that boxes fill once a program and that shares its bytes is released behind what uses them last, and fenced from what threads
  /// have written there.
  static void moveReleases(func::FuncOp func) {
    SmallVector<ReleaseOp> releases;
    func.walk([&](ReleaseOp release) {
      auto alloc = release.getBuffer().getDefiningOp<AllocOp>();
      if (isFilledByBoxes(alloc, /*inLoop=*/false) && !isFilledByBoxes(alloc, /*inLoop=*/true)) releases.push_back(release);
    });
    for (ReleaseOp release : releases) {
      Operation* last = release;
      func.walk([&](Operation* op) {
        for (const BufferAccess& access : accessesOf(op)) {
          Operation* outer = release->getBlock()->findAncestorOpInBlock(*op);
          if (outer && overlap(access.buffer, release.getBuffer()) && last->isBeforeInBlock(outer)) last = outer;
        }
      });
      if (last == release) continue;
      release->moveAfter(last);
      OpBuilder b(release);
      FenceAsyncOp::create(b, release.getLoc());
    }
  }

  /// Gives buffers that are filled by boxes once a program so many slots.
  static void setProgramSlots(func::FuncOp func, int64_t slots) {
    func.walk([&](AllocOp alloc) {
      if (!isFilledByBoxes(alloc, /*inLoop=*/false) || isFilledByBoxes(alloc, /*inLoop=*/true)) return;
      alloc.getResult().setType(alloc.getResult().getType().withSlots(slots));
      alloc->setAttr(kSlotByProgramAttr, UnitAttr::get(func.getContext()));
      if (slots == 1) alloc->removeAttr(kSlotByProgramAttr);
    });
  }

  /// For blocks that take several programs: where the memory ends, or nothing where it does not suffice.
  static std::optional<int64_t> allocateForSeveral(func::FuncOp func, int64_t limit) {
    for (auto [slots, boxes] : {std::pair(2, Boxes::Always), std::pair(1, Boxes::Always), std::pair(1, Boxes::BeforeUse)}) {
      setProgramSlots(func, slots);
      for (bool apart : {true, false}) {
        int64_t total = placeClaims(func, placeBarriers(func, Allocator(func, apart, boxes).run()));
        if (total > limit) continue;
        moveReleases(func);
        return total;
      }
    }
    takeOneProgram(func);
    return std::nullopt;
  }

  static int64_t allocateForOne(func::FuncOp func, const gpu::Target& target) {
    int64_t registers = 0;
    func.walk([&](LoopLikeOpInterface loop) { registers = std::max(registers, registersIn(loop)); });
    auto blocks = [&](int64_t bytes) {
      return gpu::occupancyOf(target,
                              {.warps = static_cast<int>(warpsOf(func)), .registers = static_cast<int>(registers), .sharedBytes = bytes})
          .blocks;
    };
    auto place = [&](bool apart) { return placeBarriers(func, Allocator(func, apart).run()); };
    const int64_t least = place(/*apart=*/false), total = place(/*apart=*/true);
    return blocks(total) < blocks(least) ? place(/*apart=*/false) : total;
  }

  LogicalResult allocate(func::FuncOp func) {
    WalkResult barrier = func.walk([](BarrierOp) { return WalkResult::interrupt(); });
    if (barrier.wasInterrupted())
      return func.emitError() << "shared memory is allocated before barriers are placed (-tilegpu-place-barriers), which separate buffers "
                                 "with the same bytes";
    try {
      const gpu::Target& target = targetOf(func);
      std::optional<int64_t> several;
      if (func->hasAttr(kRepeatsAttr)) several = allocateForSeveral(func, target.shared.bytesPerBlock);
      int64_t total = several ? *several : allocateForOne(func, target);
      bool boxes = false;
      func.walk([&](AllocOp alloc) { boxes |= alloc.getBarriers().has_value(); });
      if (boxes) {
        OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
        InitBarriersOp::create(b, func.getLoc());
      }
      func->setAttr(kSharedBytesAttr, IntegerAttr::get(IntegerType::get(func.getContext(), 64), total));
      if (total <= target.shared.bytesPerBlock) return success();
      return func.emitError() << "needs " << total << " bytes of shared memory, but a block of " << llvm::StringRef(target.name)
                              << " has at most " << target.shared.bytesPerBlock << "; take smaller tiles or fewer stages";
    } catch (const Error& error) {
      return func.emitError() << error.what();
    }
  }
};

}  // namespace

}  // namespace fattn::tilegpu
