// SPDX-License-Identifier: Apache-2.0
// Global memory as single threads see it, and copies in flight.
#include "compiler/gpu/interpreter/Block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

using namespace mlir;

namespace fattn::adversary {

char* Block::locate(Operation* op, const Element& pointer, int64_t bytes) {
  if (pointer.buffer < 0) {
    run.log.report(FaultKind::Bounds, nullptr, op, [&] { return describe(op) + " uses a pointer that points at no array"; });
    return nullptr;
  }
  Memory& memory = run.global[static_cast<std::size_t>(pointer.buffer)];
  if (pointer.i >= 0 && pointer.i <= memory.bytes - bytes) return memory.data + pointer.i;
  run.log.report(FaultKind::Bounds, nullptr, op, [&] {
    return fmt::format("{} accesses {} bytes at byte {} of an array of {} bytes", describe(op), bytes, pointer.i, memory.bytes);
  });
  return nullptr;
}

void Block::meetOrder(const Access& access, bool orders) {
  auto meet = [&](const Access& other) {
    if (!other.op || other.phase != access.phase || other.thread == access.thread || other.isSameInstance(access)) return;
    run.log.report(FaultKind::Race, other.op, access.op, [&] {
      return fmt::format(
          "{} in thread {} and {} in thread {} of one program have no barrier between them: the one that orders memory does not "
          "order the other one's access",
          describe(access.op), access.thread, describe(other.op), other.thread);
    });
  };
  meet(orderedBy_);
  if (orders) {
    for (const Access& other : accessed_) meet(other);
    orderedBy_ = access;
  }
  if (accessed_[0].op && accessed_[0].phase == access.phase && accessed_[0].thread != access.thread) accessed_[1] = accessed_[0];
  accessed_[0] = access;
}

Element Block::load(const Access& access, const Element& pointer, Type type) {
  int64_t bytes = interpreter::bytesOf(type);
  char* at = locate(access.op, pointer, bytes);
  if (!at) return interpreter::fromBits(0, type);
  meetOrder(access, /*orders=*/false);
  run.global[static_cast<std::size_t>(pointer.buffer)].shadow.read(pointer.i, bytes, access, run.log);
  return interpreter::readBytes(at, type);
}

void Block::store(const Access& access, const Element& pointer, const Element& value, Type type) {
  int64_t bytes = interpreter::bytesOf(type);
  char* at = locate(access.op, pointer, bytes);
  if (!at) return;
  meetOrder(access, /*orders=*/false);
  run.global[static_cast<std::size_t>(pointer.buffer)].shadow.write(pointer.i, bytes, access, run.log);
  interpreter::writeBytes(at, value, type);
}

Element Block::add(const Access& access, const Element& pointer, const Element& value, Type type, bool orders) {
  int64_t bytes = interpreter::bytesOf(type);
  char* at = locate(access.op, pointer, bytes);
  if (!at) return interpreter::fromBits(0, type);
  meetOrder(access, orders);
  run.global[static_cast<std::size_t>(pointer.buffer)].shadow.write(pointer.i, bytes, access, run.log, /*atomic=*/true);
  Element old = interpreter::readBytes(at, type), sum;
  if (isa<FloatType>(type))
    sum.f = interpreter::roundTo(old.f + value.f, type);
  else
    sum.i = interpreter::wrapTo(static_cast<uint64_t>(old.i) + static_cast<uint64_t>(value.i), type);
  interpreter::writeBytes(at, sum, type);
  return old;
}

void Block::land(const Copy& copy) {
  for (const Move& move : copy.moves) {
    char* into = run.shared.data + move.into;
    if (move.from.buffer < 0)
      std::memset(into, 0, static_cast<std::size_t>(move.bytes));
    else
      std::memcpy(into, run.global[static_cast<std::size_t>(move.from.buffer)].data + move.from.i, static_cast<std::size_t>(move.bytes));
  }
}

void Block::issue(Warp& warp, Copy copy) {
  for (const Move& move : copy.moves) {
    Access now = copy.issued;
    now.thread = move.thread;
    if (move.from.buffer >= 0)
      run.global[static_cast<std::size_t>(move.from.buffer)].shadow.beginFrom(move.from.i, move.bytes, now, run.log);
    run.shared.shadow.beginInto(move.into, move.bytes, now, run.log);
    // Until the data is there the bytes are anything; all ones are a NaN.
    std::memset(run.shared.data + move.into, 0xff, static_cast<std::size_t>(move.bytes));
  }
  if (run.order.completion == Completion::AtOnce) land(copy);
  warp.copies.push_back(std::move(copy));
}

void Block::complete(Warp& warp, std::size_t pending) {
  while (warp.copies.size() > pending) {
    const Copy& copy = warp.copies.front();
    if (run.order.completion == Completion::Late) land(copy);
    for (const Move& move : copy.moves) {
      Access now = {run.phase, copy.issued.path, move.thread, copy.issued.op};
      run.shared.shadow.endInto(move.into, move.bytes, now);
      warp.unfenced.emplace_back(move.into, move.bytes);
      if (move.from.buffer >= 0) run.global[static_cast<std::size_t>(move.from.buffer)].shadow.endFrom(move.from.i, move.bytes, now);
    }
    warp.copies.pop_front();
  }
}

Channel& Block::channel(Operation* alloc, int64_t slot) {
  Channel& channel = channels[{alloc, slot}];
  channel.waits.resize(static_cast<std::size_t>(warps));
  channel.releases.resize(static_cast<std::size_t>(warps));
  for (auto* counts : {&channel.laid, &channel.acquired, &channel.committed, &channel.passed})
    counts->resize(static_cast<std::size_t>(warps));
  return channel;
}

void Block::issueBoxes(Channel& channel, Copy copy) {
  auto inside = std::ranges::find_if(copy.moves, [](const Move& move) { return move.from.buffer >= 0; });
  channel.source = inside == copy.moves.end() ? nullptr : &run.global[static_cast<std::size_t>(inside->from.buffer)];
  if (channel.source) channel.boxes = channel.source->shadow.openBoxes(copy.issued.op, warps);
  for (const Move& move : copy.moves) {
    if (move.from.buffer >= 0) channel.source->shadow.beginBoxesFrom(move.from.i, move.bytes, copy.issued, channel.boxes, run.log);
    run.shared.shadow.beginBoxes(move.into, move.bytes, copy.issued, static_cast<int>(warps), run.log);
    std::memset(run.shared.data + move.into, 0xff, static_cast<std::size_t>(move.bytes));
  }
  if (run.order.completion == Completion::AtOnce) land(copy);
  ++channel.copies;
  channel.last = std::move(copy);
}

void Block::completeBoxes(Warp& warp, Channel& channel) {
  bool first = std::ranges::all_of(channel.waits, [&](uint64_t waits) { return waits < channel.copies; });
  if (first && run.order.completion == Completion::Late) land(channel.last);
  ++channel.waits[static_cast<std::size_t>(warp.number)];
  bool all = std::ranges::all_of(channel.waits, [&](uint64_t waits) { return waits == channel.copies; });
  if (channel.source) channel.source->shadow.waitForBoxes(channel.boxes, warp.number);
  for (const Move& move : channel.last.moves) {
    run.shared.shadow.endBoxes(move.into, move.bytes, static_cast<int>(warp.number));
    if (all && move.from.buffer >= 0) channel.source->shadow.endBoxesFrom(move.from.i, move.bytes, channel.boxes);
  }
}

void Block::fence(Warp& warp) {
  for (auto [at, bytes] : warp.unfenced) run.shared.shadow.show(at, bytes);
  warp.unfenced.clear();
}

bool Block::choose(const Warp& warp, uint64_t place, uint64_t number) const {
  uint64_t mixed = run.order.seed * 0x9E3779B97F4A7C15 ^ place * 0xBF58476D1CE4E5B9 ^ uint64_t { warp.path } * 0x94D049BB133111EB ^
                   number * 0xD6E8FEB86659FD93;
  mixed ^= mixed >> 32;
  mixed *= 0xD6E8FEB86659FD93;
  return mixed >> 63 != 0;
}

}  // namespace fattn::adversary
