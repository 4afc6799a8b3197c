// SPDX-License-Identifier: Apache-2.0
#include "tests/adversary/Mutants.h"

#include <fmt/format.h>

#include "compiler/gpu/dialect/TileGpu.h"
#include "fattn/Error.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace fattn::adversary {

using tilegpu::TurnPassOp, tilegpu::TurnWaitOp, tilegpu::AllocOp, tilegpu::BarrierOp, tilegpu::CopyAsyncOp, tilegpu::CopyWaitOp,
    tilegpu::DotAsyncOp, tilegpu::DotWaitOp, tilegpu::LoadBufferOp, tilegpu::ReleaseOp, tilegpu::StoreBufferOp;

namespace {

std::vector<Operation*> operationsOf(ModuleOp module) {
  std::vector<Operation*> all;
  module.walk<WalkOrder::PreOrder>([&](Operation* op) { all.push_back(op); });
  return all;
}

std::string placeOf(Operation* op) {
  std::string text;
  if (auto file = op->getLoc()->findInstanceOf<FileLineColLoc>())
    text = fmt::format("{}:{}:{}", file.getFilename().str(), file.getLine(), file.getColumn());
  else
    llvm::raw_string_ostream(text) << op->getLoc();
  return fmt::format("'{}' at {}", op->getName().getStringRef().str(), text);
}

bool synchronizes(Operation* op) { return isa<BarrierOp, CopyWaitOp, DotWaitOp, ReleaseOp, TurnWaitOp, TurnPassOp>(op); }
/// Who makes a copy where warps of their own do; it stands in the others' part, too.
StringRef maker(Operation* op) {
  auto by = op->getAttrOfType<StringAttr>(tilegpu::kMadeByAttr);
  return by ? by.getValue() : "";
}
bool touchesGlobal(Operation* op) {
  return isa<tile::LoadOp, tile::StoreOp, tile::AccumulateOp, tile::GatherOp, tile::ScatterOp, tile::AtomicAddOp, CopyAsyncOp>(op);
}
bool writesGlobal(Operation* op) { return isa<tile::StoreOp, tile::AccumulateOp, tile::ScatterOp, tile::AtomicAddOp>(op); }

/// A use of a buffer: the buffer, and the operand that is the slot's number.
struct BufferUse {
  Value buffer;
  OpOperand* slot;
};

SmallVector<BufferUse, 2> buffersOf(Operation* op) {
  SmallVector<BufferUse, 2> uses;
  llvm::TypeSwitch<Operation*>(op)
      .Case<LoadBufferOp, StoreBufferOp, CopyAsyncOp, ReleaseOp>(
          [&](auto access) { uses.push_back({access.getBuffer(), &access.getSlotMutable()}); })
      .Case([&](CopyWaitOp wait) {
        if (wait.isBulk()) uses.push_back({wait.getBuffer(), &*wait.getSlotMutable().begin()});
      })
      .Case([&](DotAsyncOp dot) {
        uses.push_back({dot.getB(), &dot.getBSlotMutable()});
        if (dot.getASlot()) uses.push_back({dot.getA(), &*dot.getASlotMutable().begin()});
      });
  return uses;
}
AllocOp allocOf(const BufferUse& use) { return use.buffer.getDefiningOp<AllocOp>(); }
bool readsOnly(Operation* op) { return isa<LoadBufferOp, DotAsyncOp>(op); }
bool isNode(Operation* op) {
  if (maker(op) == tilegpu::kMadeElsewhere) return false;
  return synchronizes(op) || touchesGlobal(op) || !buffersOf(op).empty();
}

/// Whether the order of the two may matter.
bool meet(Operation* a, Operation* b) {
  if (synchronizes(a) || synchronizes(b)) return true;
  // Boxes of two slots land as they like. Which copy is begun first is how the check numbers them.
  auto first = dyn_cast<CopyAsyncOp>(a), second = dyn_cast<CopyAsyncOp>(b);
  if (first && second && first.isBulk() && second.isBulk()) return false;
  bool sameBuffer = llvm::any_of(buffersOf(a), [&](const BufferUse& use) {
    return llvm::any_of(buffersOf(b), [&](const BufferUse& other) { return use.buffer == other.buffer; });
  });
  sameBuffer = sameBuffer && !(readsOnly(a) && readsOnly(b));
  bool global = touchesGlobal(a) && touchesGlobal(b) && (writesGlobal(a) || writesGlobal(b));
  return sameBuffer || global;
}

bool uses(Operation* user, Operation* def) {
  return user
      ->walk([&](Operation* inner) {
        return llvm::any_of(inner->getOperands(), [&](Value v) { return v.getDefiningOp() == def; }) ? WalkResult::interrupt()
                                                                                                     : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether `first` can stand behind `second`, or `second` before `first`, as far as values go.
bool canSink(Operation* first, Operation* second) {
  for (Operation* op = first->getNextNode(); op != second->getNextNode(); op = op->getNextNode())
    if (uses(op, first)) return false;
  return true;
}
bool canHoist(Operation* first, Operation* second) {
  for (Operation* op = first; op != second; op = op->getNextNode())
    if (uses(second, op)) return false;
  return true;
}

int64_t endOf(AllocOp alloc) { return static_cast<int64_t>(*alloc.getOffset()) + alloc.getResult().getType().getBytes(); }
bool overlap(AllocOp a, AllocOp b) {
  return static_cast<int64_t>(*a.getOffset()) < endOf(b) && static_cast<int64_t>(*b.getOffset()) < endOf(a);
}

/// Whether there is room for `alloc` at the place of `other`.
bool fits(AllocOp alloc, AllocOp other) {
  Operation* kernel = alloc->getParentOfType<FunctionOpInterface>();
  auto bytes = kernel->getAttrOfType<IntegerAttr>(tilegpu::kSharedBytesAttr);
  return bytes && static_cast<int64_t>(*other.getOffset()) + alloc.getResult().getType().getBytes() <= bytes.getInt();
}

/// Finds what one operation offers.
class Finder {
 public:
  explicit Finder(ModuleOp module) : all_(operationsOf(module)) {
    for (auto [i, op] : llvm::enumerate(all_)) numbers_[op] = i;
  }

  std::vector<Mutation> run() {
    for (Operation* op : all_) visit(op);
    return std::move(found_);
  }

 private:
  void add(MutationKind kind, const char* what, Operation* first, Operation* second = nullptr) {
    std::string text = std::string(what) + " " + placeOf(first);
    if (second) text += " and " + placeOf(second);
    found_.push_back({kind, numbers_.at(first), second ? numbers_.at(second) : 0, std::move(text)});
  }

  void visit(Operation* op) {
    if (maker(op) == tilegpu::kMadeElsewhere) return;
    if (maker(op) == tilegpu::kMadeAlone) add(MutationKind::DropCopy, "drop-copy", op);
    if (isa<TurnWaitOp, TurnPassOp>(op)) add(MutationKind::DropTurn, "drop-turn", op);
    if (isa<tilegpu::InitBarriersOp>(op)) add(MutationKind::DropObjects, "drop-objects", op);
    if (auto wait = dyn_cast<CopyWaitOp>(op)) {
      add(MutationKind::DropWait, "drop-wait", op);
      if (!wait.isBulk()) add(MutationKind::RaisePending, "raise-pending", op);
    }
    if (isa<BarrierOp>(op)) add(MutationKind::DropBarrier, "drop-barrier", op);
    if (auto alloc = dyn_cast<AllocOp>(op)) visit(alloc);
    if (auto release = dyn_cast<ReleaseOp>(op)) visit(release);
    auto severalSlots = [](const BufferUse& use) { return allocOf(use).getResult().getType().getSlots() > 1; };
    if (llvm::any_of(buffersOf(op), severalSlots)) add(MutationKind::ShiftSlot, "shift-slot", op);
    if (!isNode(op)) return;
    Operation* next = op->getNextNode();
    while (next && !isNode(next) && next->getNumRegions() == 0) next = next->getNextNode();
    if (next && isNode(next) && meet(op, next) && (canSink(op, next) || canHoist(op, next))) add(MutationKind::Swap, "swap", op, next);
  }

  void visit(ReleaseOp release) {
    add(MutationKind::DropRelease, "drop-release", release);
    for (Operation* op = release->getPrevNode(); op && !isa<BarrierOp, CopyWaitOp>(op); op = op->getPrevNode())
      if (isa<DotWaitOp>(op) && canHoist(op, release)) return add(MutationKind::EarlyRelease, "early-release", release, op);
  }

  void visit(AllocOp alloc) {
    if (alloc.getResult().getType().getSlots() > 1) add(MutationKind::FewerSlots, "fewer-slots", alloc);
    for (Operation* op : all_)
      if (auto other = dyn_cast<AllocOp>(op); other && other != alloc && !overlap(alloc, other) && fits(alloc, other))
        add(MutationKind::Overlap, "overlap", alloc, other);
  }

  std::vector<Operation*> all_;
  llvm::DenseMap<Operation*, std::size_t> numbers_;
  std::vector<Mutation> found_;
};

/// slot = (slot + by) modulo `slots`.
void renumber(OpOperand& slot, int64_t by, int64_t slots) {
  OpBuilder b(slot.getOwner());
  Location loc = slot.getOwner()->getLoc();
  Value number = slot.get();
  auto constant = [&](int64_t n) -> Value { return arith::ConstantIntOp::create(b, loc, n, 32); };
  if (by) number = arith::AddIOp::create(b, loc, number, constant(by));
  slot.set(arith::RemUIOp::create(b, loc, number, constant(slots)));
}

}  // namespace

std::vector<Mutation> mutationsOf(ModuleOp block) { return Finder(block).run(); }

Mutation drawMutation(const std::vector<Mutation>& mutations, generator::Random& random) {
  std::vector<std::vector<const Mutation*>> byKind(kMutationKinds);
  for (const Mutation& mutation : mutations) byKind[static_cast<std::size_t>(mutation.kind)].push_back(&mutation);
  std::erase_if(byKind, [](const auto& one) { return one.empty(); });
  const auto& kind = byKind[static_cast<std::size_t>(random.between(0, static_cast<int64_t>(byKind.size()) - 1))];
  return *kind[static_cast<std::size_t>(random.between(0, static_cast<int64_t>(kind.size()) - 1))];
}

OwningOpRef<ModuleOp> mutate(ModuleOp block, const Mutation& mutation) {
  OwningOpRef<ModuleOp> mutant(block.clone());
  std::vector<Operation*> all = operationsOf(*mutant);
  Operation *first = all.at(mutation.first), *second = all.at(mutation.second);
  switch (mutation.kind) {
    case MutationKind::DropWait:
    case MutationKind::DropBarrier:
    case MutationKind::DropRelease:
    case MutationKind::DropCopy:
    case MutationKind::DropTurn:
    case MutationKind::DropObjects:
      first->erase();
      break;
    case MutationKind::EarlyRelease:
      first->moveBefore(second);
      break;
    case MutationKind::RaisePending: {
      auto wait = cast<CopyWaitOp>(first);
      wait.setPending(wait.getPending().value_or(0) + 1);
      break;
    }
    case MutationKind::FewerSlots: {
      auto alloc = cast<AllocOp>(first);
      tilegpu::BufferType type = alloc.getResult().getType();
      alloc.getResult().setType(type.withSlots(type.getSlots() - 1));
      for (Operation* user : llvm::to_vector(alloc.getResult().getUsers()))
        for (const BufferUse& use : buffersOf(user))
          if (use.buffer == alloc.getResult()) renumber(*use.slot, 0, type.getSlots() - 1);
      break;
    }
    case MutationKind::ShiftSlot:
      for (const BufferUse& use : buffersOf(first))
        if (int64_t slots = allocOf(use).getResult().getType().getSlots(); slots > 1) {
          renumber(*use.slot, 1, slots);
          break;
        }
      break;
    case MutationKind::Swap:
      if (canSink(first, second))
        first->moveAfter(second);
      else
        second->moveBefore(first);
      break;
    case MutationKind::Overlap:
      cast<AllocOp>(first).setOffset(static_cast<uint64_t>(*cast<AllocOp>(second).getOffset()));
      break;
  }
  return mutant;
}

Judge::Judge(ModuleOp block, std::vector<Inputs> inputs, Options options) : inputs_(std::move(inputs)), options_(std::move(options)) {
  for (const Inputs& one : inputs_) {
    Contents& before = before_.emplace_back();
    auto contents = [&] {
      Contents now;
      for (const interpreter::Argument& argument : one.arguments)
        if (const auto* buffer = std::get_if<interpreter::Buffer>(&argument))
          now.emplace_back(static_cast<const char*>(buffer->data), static_cast<const char*>(buffer->data) + buffer->bytes);
      return now;
    };
    before = contents();
    std::vector<Contents>& results = results_.emplace_back();
    Options noting = options_;
    noting.compare = [&](const Order&) {
      results.push_back(contents());
      return std::string();
    };
    std::vector<Fault> wrong = check(block, one.arguments, one.grid, noting);
    if (!wrong.empty()) throw Error(ErrorCode::InvalidArgument, "the program has a fault before anything is changed: " + wrong[0].text);
    std::size_t next = 0;
    for (const interpreter::Argument& argument : one.arguments)
      if (const auto* buffer = std::get_if<interpreter::Buffer>(&argument))
        std::ranges::copy(before[next++], static_cast<char*>(buffer->data));
  }
}

std::vector<Fault> Judge::faults(ModuleOp mutant) const {
  std::vector<Fault> wrong;
  for (std::size_t i = 0; i < inputs_.size() && wrong.empty(); ++i) {
    std::size_t order = 0;
    Options comparing = options_;
    auto forEachBuffer = [&](auto visit) {
      std::size_t next = 0;
      for (const interpreter::Argument& argument : inputs_[i].arguments)
        if (const auto* buffer = std::get_if<interpreter::Buffer>(&argument)) visit(*buffer, next++);
    };
    comparing.compare = [&](const Order&) {
      std::string text;
      forEachBuffer([&](const interpreter::Buffer& buffer, std::size_t number) {
        const std::vector<char>& expected = results_[i][order][number];
        if (!std::equal(expected.begin(), expected.end(), static_cast<const char*>(buffer.data)))
          text = fmt::format("array {} differs from what the unchanged program makes", number);
      });
      ++order;
      return text;
    };
    wrong = check(mutant, inputs_[i].arguments, inputs_[i].grid, comparing);
    forEachBuffer([&](const interpreter::Buffer& buffer, std::size_t number) {
      std::ranges::copy(before_[i][number], static_cast<char*>(buffer.data));
    });
  }
  return wrong;
}

}  // namespace fattn::adversary
