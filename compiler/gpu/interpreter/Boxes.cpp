// SPDX-License-Identifier: Apache-2.0
// Copies of boxes by an engine: the first warp begins them, or one that does nothing else, when all warps have released the slot, and each
// warp waits for them by itself. Stores of boxes that one warp sends for all: it waits until each has laid its part of the tile, and each
// until the tile before has been sent. Slots that all warps fill for one group, which owns what they hold.
#include <fmt/format.h>

#include <numeric>

#include "compiler/gpu/interpreter/BufferPlaces.h"
#include "compiler/gpu/interpreter/Code.h"
#include "compiler/gpu/interpreter/WindowPlaces.h"

using namespace mlir;

namespace fattn::adversary {
namespace {

/// Whether the warp may use the buffer's barrier objects: they are made, and a barrier was behind that.
void needBarriers(Block& block, const Warp& warp, Operation* op, tilegpu::AllocOp alloc) {
  if (!alloc.getBarriers() || block.barriersMade < block.run.phase) return;
  block.run.log.report(FaultKind::Undefined, nullptr, op, [&] {
    return fmt::format("{} in warp {} uses barrier objects that nobody has made, with a barrier of the block behind it", describe(op),
                       warp.number);
  });
}

bool isReleased(Value buffer) { return llvm::any_of(buffer.getUsers(), llvm::IsaPred<tilegpu::ReleaseOp>); }

/// What an operation says about the number of copies or waits before, where it says it, must be true in its lowest bit.
std::function<void(Block&, Warp&, uint64_t)> phaseCheck(Flattener& to, Operation* op, Value phase) {
  if (!phase) return [](Block&, Warp&, uint64_t) {};
  return [op, told = to.slot(phase)](Block& block, Warp& warp, uint64_t before) {
    if ((static_cast<uint64_t>(warp.values[told].scalar.i) ^ before) % 2 == 0) return;
    block.run.log.report(FaultKind::Undefined, nullptr, op, [&] {
      return fmt::format("{} in warp {} is for phase {} of a slot, whose phase is {}", describe(op), warp.number,
                         warp.values[told].scalar.i, before);
    });
  };
}

Awaited copyBoxes(Flattener& to, tilegpu::CopyAsyncOp op) {
  auto places = std::make_shared<const BufferPlaces>(op, op.getBuffer());
  tile::BlockPtrType type = op.getPtr().getType();
  auto window = std::make_shared<const WindowPlaces>(type.getShape(), op.getBoundaryCheck(), tilegpu::extentsOf(op), type.getElementType());
  std::optional<int> pred;
  if (op.getPred()) pred = to.slot(op.getPred());
  auto alloc = op.getBuffer().getDefiningOp<tilegpu::AllocOp>();
  bool released = isReleased(op.getBuffer());
  int slot = to.slot(op.getSlot()), from = to.slot(op.getPtr());
  bool elsewhere = tilegpu::isMadeElsewhere(op), alone = op->hasAttr(tilegpu::kMadeByAttr) && !elsewhere;
  auto begins = [=](Warp& warp) { return !elsewhere && (alone || warp.number == 0) && (!pred || warp.values[*pred].scalar.i); };
  Test ready;
  if (released)
    ready = [=](Block& block, Warp& warp) {
      Channel& channel = block.channel(alloc, warp.values[slot].scalar.i);
      return !begins(warp) || llvm::all_of(channel.releases, [&](uint64_t releases) { return releases == channel.copies; });
    };
  Action act = [=, checkPhase = phaseCheck(to, op, op.getPhase())](Block& block, Warp& warp) mutable {
    if (!begins(warp)) return;
    needBarriers(block, warp, op, alloc);
    checkPhase(block, warp, block.channel(alloc, warp.values[slot].scalar.i).copies);
    std::optional<int64_t> start = places->slotStart(block, warp.values[slot].scalar.i);
    if (!start) return;
    Copy copy{.issued = block.access(warp, op, 0), .moves = {}};
    for (int64_t element = 0; element < places->elementCount(); ++element) {
      std::optional<Element> source = window->locate(block, op, *warp.values[from].window, static_cast<int32_t>(element));
      if (source && !block.locate(op, *source, places->elementBytes())) source.reset();
      copy.moves.push_back(
          {.thread = 0, .from = source.value_or(Element()), .into = *start + places->offset(element), .bytes = places->elementBytes()});
    }
    block.issueBoxes(block.channel(alloc, warp.values[slot].scalar.i), std::move(copy));
  };
  return {std::move(ready), std::move(act)};
}

Awaited waitForBoxes(Flattener& to, tilegpu::CopyWaitOp op) {
  auto alloc = op.getBuffer().getDefiningOp<tilegpu::AllocOp>();
  int slot = to.slot(op.getSlot());
  auto channelOf = [=](Block& block, Warp& warp) -> Channel& { return block.channel(alloc, warp.values[slot].scalar.i); };
  return {[=](Block& block, Warp& warp) {
            Channel& channel = channelOf(block, warp);
            return channel.waits[static_cast<std::size_t>(warp.number)] < channel.copies;
          },
          [=, checkPhase = phaseCheck(to, op, op.getPhase())](Block& block, Warp& warp) {
            needBarriers(block, warp, op, alloc);
            Channel& channel = channelOf(block, warp);
            checkPhase(block, warp, channel.waits[static_cast<std::size_t>(warp.number)]);
            block.completeBoxes(warp, channel);
          }};
}

Awaited release(Flattener& to, tilegpu::ReleaseOp op) {
  auto places = std::make_shared<const BufferPlaces>(op, op.getBuffer());
  auto alloc = op.getBuffer().getDefiningOp<tilegpu::AllocOp>();
  int slot = to.slot(op.getSlot());
  return {{}, [=](Block& block, Warp& warp) {
            needBarriers(block, warp, op, alloc);
            std::optional<int64_t> start = places->slotStart(block, warp.values[slot].scalar.i);
            if (!start) return;
            Channel& channel = block.channel(alloc, warp.values[slot].scalar.i);
            if (++channel.releases[static_cast<std::size_t>(warp.number)] > channel.waits[static_cast<std::size_t>(warp.number)])
              block.run.log.report(FaultKind::Undefined, nullptr, op, [&] {
                return fmt::format("{} in warp {} releases a slot of which the warp has waited for nothing since its last release",
                                   describe(op), warp.number);
              });
            block.run.shared.shadow.release(*start, places->elementCount() * places->elementBytes(), warp.number, block.run.log);
          }};
}

/// A barrier object tells a phase from the next one only. Whether the phase before the awaited one is complete, else a fault: the machine
/// would take a phase that was complete long ago for the awaited one.
bool isTellingPhases(Block& block, Warp& warp, Operation* op, bool beforeIsComplete) {
  if (!beforeIsComplete)
    block.run.log.report(FaultKind::Undefined, nullptr, op, [&] {
      return fmt::format("{} in warp {} waits for a phase of a barrier object while the phase before it is not complete", describe(op),
                         warp.number);
    });
  return beforeIsComplete;
}

Awaited layForOthers(Flattener& to, tilegpu::StoreBoxesOp op) {
  auto alloc = op.getBuffer().getDefiningOp<tilegpu::AllocOp>();
  auto laidBy = [=](Block& block, Warp& warp) -> uint64_t& { return block.channel(alloc, 0).laid[static_cast<std::size_t>(warp.number)]; };
  return {[=](Block& block, Warp& warp) {
            const uint64_t sent = block.channel(alloc, 0).sent, laid = laidBy(block, warp);
            return isTellingPhases(block, warp, op, sent + 1 >= laid) && sent == laid;
          },
          [=, lay = layBoxes(to, op)](Block& block, Warp& warp) mutable {
            needBarriers(block, warp, op, alloc);
            lay(block, warp);
            ++laidBy(block, warp), ++block.channel(alloc, 0).parts;
          }};
}

Awaited sendBoxes(Flattener& to, tilegpu::SendBoxesOp op) {
  auto places = std::make_shared<const BufferPlaces>(op, op.getBuffer());
  tile::BlockPtrType type = op.getPtr().getType();
  Type element = type.getElementType();
  auto window = std::make_shared<const WindowPlaces>(type.getShape(), op.getBoundaryCheck(), tilegpu::extentsOf(op), element);
  auto alloc = op.getBuffer().getDefiningOp<tilegpu::AllocOp>();
  // An owner lays all of a tile.
  uint64_t layers = 0;
  for (Operation* user : alloc->getUsers())
    if (isa<tilegpu::StoreBoxesOp>(user)) layers = static_cast<uint64_t>(tilegpu::warpsOf(user));
  auto ready = [=](Block& block, Warp&) {
    const Channel& channel = block.channel(alloc, 0);
    return channel.parts >= (channel.sent + 1) * layers;
  };
  auto act = [=, from = to.slot(op.getPtr()), adds = op.getAdd()](Block& block, Warp& warp) mutable {
    needBarriers(block, warp, op, alloc);
    std::optional<int64_t> start = places->slotStart(block, 0);
    for (int64_t i = 0; start && i < places->elementCount(); ++i) {
      std::optional<Element> place = window->locate(block, op, *warp.values[from].window, static_cast<int32_t>(i));
      if (!place) continue;
      Element value = interpreter::readBytes(block.run.shared.data + *start + places->offset(i), element);
      if (adds)
        block.add(block.access(warp, op, 0), *place, value, element, /*orders=*/false);
      else
        block.store(block.access(warp, op, 0), *place, value, element);
    }
    if (start) block.run.shared.shadow.handOver(*start, places->elementCount() * places->elementBytes());
    ++block.channel(alloc, 0).sent;
  };
  return {std::move(ready), std::move(act)};
}

/// Warps that fill a slot, or read it: all of them, or one group's.
template <typename Op>
uint64_t warpsAt(tilegpu::AllocOp alloc) {
  for (Operation* user : alloc->getUsers())
    if (isa<Op>(user)) return static_cast<uint64_t>(tilegpu::warpsOf(user));
  return 0;
}

/// What warps fill for others: the slot is free when all warps that read it have released it.
Awaited acquire(Flattener& to, tilegpu::SlotAcquireOp op) {
  auto alloc = op.getBuffer().getDefiningOp<tilegpu::AllocOp>();
  const uint64_t readers = warpsAt<tilegpu::ReleaseOp>(alloc);
  auto channelOf = [=, slot = to.slot(op.getSlot())](Block& block, Warp& warp) -> Channel& {
    return block.channel(alloc, warp.values[slot].scalar.i);
  };
  return {[=](Block& block, Warp& warp) {
            Channel& channel = channelOf(block, warp);
            const uint64_t released = std::accumulate(channel.releases.begin(), channel.releases.end(), uint64_t{0});
            const uint64_t awaited = channel.acquired[static_cast<std::size_t>(warp.number)] * readers;
            return isTellingPhases(block, warp, op, released + readers >= awaited) && released >= awaited;
          },
          [=](Block& block, Warp& warp) {
            needBarriers(block, warp, op, alloc);
            ++channelOf(block, warp).acquired[static_cast<std::size_t>(warp.number)];
          }};
}

Awaited commit(Flattener& to, tilegpu::SlotCommitOp op) {
  auto alloc = op.getBuffer().getDefiningOp<tilegpu::AllocOp>();
  return {{}, [=, slot = to.slot(op.getSlot())](Block& block, Warp& warp) {
            ++block.channel(alloc, warp.values[slot].scalar.i).committed[static_cast<std::size_t>(warp.number)];
          }};
}

Awaited waitForFill(Flattener& to, tilegpu::SlotWaitOp op) {
  auto places = std::make_shared<const BufferPlaces>(op, op.getBuffer());
  auto alloc = op.getBuffer().getDefiningOp<tilegpu::AllocOp>();
  const int slot = to.slot(op.getSlot());
  return {[=, writers = warpsAt<tilegpu::SlotCommitOp>(alloc)](Block& block, Warp& warp) {
            Channel& channel = block.channel(alloc, warp.values[slot].scalar.i);
            const uint64_t before = channel.passed[static_cast<std::size_t>(warp.number)];
            // Where one group fills the slot the others have never committed it.
            std::vector<uint64_t> committed = channel.committed;
            llvm::sort(committed, std::greater<>());
            const uint64_t fewest = committed[writers - 1];
            return isTellingPhases(block, warp, op, fewest >= before) && fewest > before;
          },
          [=](Block& block, Warp& warp) {
            Channel& channel = block.channel(alloc, warp.values[slot].scalar.i);
            ++channel.passed[static_cast<std::size_t>(warp.number)], ++channel.waits[static_cast<std::size_t>(warp.number)];
            if (std::optional<int64_t> start = places->slotStart(block, warp.values[slot].scalar.i))
              block.run.shared.shadow.handOver(*start, places->elementCount() * places->elementBytes());
          }};
}

}  // namespace

Action passOwned(Flattener& to, tilegpu::OwnerOnlyOp op) {
  std::vector<std::pair<Operation*, int>> waits;
  std::vector<Operation*> stores;
  op.getBody().walk([&](tilegpu::SlotWaitOp wait) { waits.emplace_back(wait.getBuffer().getDefiningOp(), to.slot(wait.getSlot())); });
  op.getBody().walk([&](tilegpu::StoreBoxesOp store) {
    if (tilegpu::isMadeElsewhere(store)) stores.push_back(store.getBuffer().getDefiningOp());
  });
  return [=](Block& block, Warp& warp) {
    const auto number = static_cast<std::size_t>(warp.number);
    for (auto [alloc, slot] : waits) ++block.channel(alloc, warp.values[slot].scalar.i).passed[number];
    for (Operation* alloc : stores) ++block.channel(alloc, 0).laid[number];
  };
}

std::optional<Awaited> boxAction(Flattener& to, Operation* op) {
  if (auto store = dyn_cast<tilegpu::StoreBoxesOp>(op); store && tilegpu::isMadeElsewhere(store)) return layForOthers(to, store);
  if (auto send = dyn_cast<tilegpu::SendBoxesOp>(op)) return sendBoxes(to, send);
  if (auto copy = dyn_cast<tilegpu::CopyAsyncOp>(op); copy && copy.isBulk()) return copyBoxes(to, copy);
  if (auto wait = dyn_cast<tilegpu::CopyWaitOp>(op); wait && wait.isBulk()) return waitForBoxes(to, wait);
  if (auto done = dyn_cast<tilegpu::ReleaseOp>(op)) return release(to, done);
  if (auto slot = dyn_cast<tilegpu::SlotAcquireOp>(op)) return acquire(to, slot);
  if (auto slot = dyn_cast<tilegpu::SlotCommitOp>(op)) return commit(to, slot);
  if (auto slot = dyn_cast<tilegpu::SlotWaitOp>(op)) return waitForFill(to, slot);
  return std::nullopt;
}

}  // namespace fattn::adversary
