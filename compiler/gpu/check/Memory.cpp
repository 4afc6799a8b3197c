// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/check/Memory.h"

#include <algorithm>

namespace fattn::check {
namespace {

Hazard hazardOf(bool earlierWrites, bool laterWrites, bool global) {
  if (!laterWrites) return global ? Hazard::GlobalReadAfterWrite : Hazard::ReadAfterWrite;
  if (!earlierWrites) return global ? Hazard::GlobalWriteAfterRead : Hazard::WriteAfterRead;
  return global ? Hazard::GlobalWriteAfterWrite : Hazard::WriteAfterWrite;
}

template <typename List, typename Entry>
void addMissing(List& list, const Entry& entry) {
  if (!llvm::is_contained(list, entry)) list.push_back(entry);
}

/// Adds copies, or dots, that another state has in flight. Of what is in flight in both, the smaller number of younger ones is certain.
template <typename Flight>
void joinFlights(std::vector<Flight>& flights, const std::vector<Flight>& others) {
  for (const Flight& other : others) {
    auto same = llvm::find_if(flights, [&](const Flight& mine) { return mine.step == other.step && mine.slot == other.slot; });
    if (same == flights.end())
      flights.push_back(other);
    else
      same->younger = std::min(same->younger, other.younger);
  }
}

}  // namespace

bool Memory::overlap(int a, int b) const { return a == b || llvm::is_contained(program->overlaps[static_cast<size_t>(a)], b); }

void Memory::put(int slot, Content what, const Step& by) {
  contents[static_cast<size_t>(slot)] = std::move(what);
  writers[static_cast<size_t>(slot)] = &by;
  for (int other : program->overlaps[static_cast<size_t>(slot)]) {
    contents[static_cast<size_t>(other)] = {Instance{.label = Instance::kOther}};
    writers[static_cast<size_t>(other)] = &by;
  }
}

void Memory::meetDots(const Step& step, int slot, Report report) const {
  for (const Dot& dot : dots)
    if (overlap(slot, dot.slot)) report(Hazard::WriteOverDotInFlight, dot.step, &step);
}

void Memory::beginDot(const Step& step, int slot, Owners& owners, Report report) {
  if (!watched) return;
  if (step.number)
    for (Dot& dot : dots) ++dot.younger;
  read(step, slot, owners, report);
  if (const Step* write = unfenced[static_cast<size_t>(slot)]) report(Hazard::ReadWithoutFence, write, &step);
  dots.push_back({&step, slot, 0});
}

void Memory::waitDots(const Step& step, Report report) {
  auto wait = cast<tilegpu::DotWaitOp>(step.op);
  auto ended = [&](const Dot& dot) { return !wait.getCovered() && dot.younger >= step.number; };
  for (const Dot& dot : dots)
    if (ended(dot)) note({dot.step, dot.slot, /*write=*/false});
  std::erase_if(dots, ended);
  if (!watched) return;
  mlir::Operation* waitedFor = tilegpu::dotOf(wait.getValue());
  if (llvm::any_of(dots, [&](const Dot& dot) { return dot.step->op == waitedFor; }))
    report(wait.getCovered() ? Hazard::CoveredByNothing : Hazard::WaitLeavesDot, nullptr, &step);
}

void Memory::fence() {
  for (size_t slot = 0; slot < unfenced.size(); ++slot) {
    bool copied = llvm::any_of(inFlight, [&](const InFlight& copy) { return copy.slot == static_cast<int>(slot); });
    if (!copied) unfenced[slot] = nullptr;
  }
}

void Memory::note(Access access) {
  std::erase_if(recent, [&](const Access& old) {
    return old.released && old.step == access.step && old.slot == access.slot && old.write == access.write;
  });
  if (!llvm::is_contained(recent, access)) recent.push_back(access);
  if (apart && !access.released) noteUnreleased(access);
}

void Memory::noteUnreleased(const Access& access) {
  auto noteFor = [&](int slot) {
    bool boxes = program->boxSlots.test(static_cast<unsigned>(slot));
    if (boxes && !llvm::is_contained(unreleased, std::pair(access, slot))) unreleased.emplace_back(access, slot);
  };
  noteFor(access.slot);
  for (int other : program->overlaps[static_cast<size_t>(access.slot)]) noteFor(other);
}

// Of accesses somewhere unknown one is enough: with all of them every branch of a loop would double their number.
void Memory::noteGlobal(const GlobalAccess& access) {
  bool known = llvm::any_of(recentGlobal, [&](const GlobalAccess& old) {
    return old.step == access.step && old.program == access.program && old.window.saysTheSame(access.window);
  });
  if (!known) recentGlobal.push_back(access);
}

/// A thread writes the same places of a slot with every copy into it, and its copies complete in order. An engine waits for releases.
void Memory::meetAccesses(const Step& step, int slot, Owners& owners, Report report) const {
  auto meets = [&](const Step* other, int otherSlot) {
    return overlap(slot, otherSlot) && (slot != otherSlot || !owners.same(other->owners, step.owners));
  };
  for (const InFlight& copy : inFlight)
    if (meets(copy.step, copy.slot)) report(Hazard::WriteOverCopyInFlight, copy.step, &step);
  if (step.bulk && apart) return meetApart(step, slot, report);
  for (const Access& access : recent) {
    bool over = step.bulk && access.released && access.slot == slot;
    if (!over && meets(access.step, access.slot)) report(hazardOf(access.write, true, false), access.step, &step);
  }
}

/// Barriers are the computing warps' own: what is not released may come behind any copy, or before it.
void Memory::meetApart(const Step& step, int slot, Report report) const {
  for (const auto& [access, into] : unreleased)
    if (into == slot) report(hazardOf(access.write, true, false), access.step, &step);
}

void Memory::needBarriers(const Step& step, Report report) const {
  if (program->buffers[static_cast<size_t>(step.buffer)].objects && !barriersSeen) report(Hazard::BarriersNotMade, nullptr, &step);
}

void Memory::copy(const Copying& copying, const Instance& what, Owners& owners, Report report) {
  const auto& [step, slot, wanted, from, number, phase] = copying;
  if (!step->bulk)
    for (InFlight& copy : inFlight) ++copy.younger;  // its group is closed in any case
  if (wanted.known && !wanted.value) return;
  Content content = {what};
  if (!wanted.known)
    for (const Instance& old : contents[static_cast<size_t>(slot)])
      if (!llvm::is_contained(content, old)) content.push_back(old);
  if (!watched) return put(slot, std::move(content), *step);
  meetAccesses(*step, slot, owners, report);
  meetDots(*step, slot, report);
  if (step->bulk) {
    needBarriers(*step, report);
    for (size_t other = 0; other < unfenced.size(); ++other)
      if (unfenced[other] && overlap(slot, static_cast<int>(other))) report(Hazard::CopyWithoutFence, unfenced[other], step);
    const Step*& last = unread[static_cast<size_t>(slot)];
    if (last) report(Hazard::CopyWithoutRelease, last, step);
    if (program->buffers[static_cast<size_t>(step->buffer)].released) last = step;
  }
  unfenced[static_cast<size_t>(slot)] = step->bulk ? nullptr : step;
  meetGlobal({step, from, /*write=*/false, /*atomic=*/false, number}, owners, report);
  inFlight.push_back({step, slot, 0, from, number});
  put(slot, std::move(content), *step);
}

void Memory::wait(std::int64_t pending) {
  for (const InFlight& copy : inFlight) {
    if (copy.step->bulk || copy.younger < pending) continue;
    note({copy.step, copy.slot, /*write=*/true});
    noteGlobal({copy.step, copy.from, /*write=*/false, /*atomic=*/false, copy.program});
  }
  std::erase_if(inFlight, [&](const InFlight& copy) { return !copy.step->bulk && copy.younger >= pending; });
}

/// The engine's writes are seen by whoever has waited: no barrier is needed behind it.
void Memory::waitFor(const Step& step, int slot, Report report) {
  if (!watched) return;
  needBarriers(step, report);
  auto isHere = [&](const InFlight& copy) { return copy.step->bulk && copy.slot == slot; };
  if (llvm::none_of(inFlight, isHere)) report(Hazard::WaitWithoutCopy, nullptr, &step);
  std::erase_if(inFlight, isHere);
}

void Memory::release(const Step& step, int slot, Report report) {
  if (!watched) return;
  needBarriers(step, report);
  const Step*& copy = unread[static_cast<size_t>(slot)];
  Held& owned = held[static_cast<size_t>(slot)];
  if (!copy && owned != Held::Awaited) report(Hazard::ReleaseTwice, nullptr, &step);
  copy = nullptr;
  owned = Held::Free;
  for (Access& access : recent)
    if (access.slot == slot && !access.write) access.released = true;
  std::erase_if(unreleased, [&](const auto& entry) { return entry.second == slot; });
}

void Memory::handOver(const Step& step, int slot, Report report) {
  if (!watched) return;
  needBarriers(step, report);
  Held& now = held[static_cast<size_t>(slot)];
  auto isOver = [&](const Access& access) { return access.slot == slot && (access.write || access.released); };
  if (step.act == Act::Acquire) {
    if (now != Held::Free) report(Hazard::AcquireHeld, nullptr, &step);
    now = Held::Acquired;
    std::erase_if(recent, isOver);
  } else if (step.act == Act::Commit) {
    if (now != Held::Acquired) report(Hazard::CommitNotAcquired, nullptr, &step);
    now = Held::Committed;
  } else {
    if (now != Held::Committed) report(Hazard::AwaitNotCommitted, nullptr, &step);
    now = Held::Awaited;
    std::erase_if(recent, isOver);
  }
}

void Memory::end(Report report) const {
  for (const InFlight& copy : inFlight)
    if (copy.step->bulk) report(Hazard::CopyWithoutWait, nullptr, copy.step);
}

void Memory::barrier() {
  recent.clear();
  recentGlobal.clear();
  barriersSeen = barriersMade;
}

void Memory::read(const Step& step, int slot, Owners& owners, Report report) {
  if (!watched) return;
  for (const InFlight& copy : inFlight)
    if (overlap(slot, copy.slot)) report(Hazard::ReadOfCopyInFlight, copy.step, &step);
  for (const Access& access : recent)
    if (access.write && overlap(slot, access.slot) && (slot != access.slot || !owners.same(access.step->owners, step.owners)))
      report(Hazard::ReadAfterWrite, access.step, &step);
  note({&step, slot, /*write=*/false});
}

void Memory::write(const Step& step, int slot, const Instance& what, Owners& owners, Report report) {
  if (!watched) return put(slot, {what}, step);
  for (const InFlight& copy : inFlight)
    if (overlap(slot, copy.slot)) report(Hazard::WriteOverCopyInFlight, copy.step, &step);
  for (const Access& access : recent)
    if (overlap(slot, access.slot) && (slot != access.slot || !owners.same(access.step->owners, step.owners)))
      report(hazardOf(access.write, true, false), access.step, &step);
  meetDots(step, slot, report);
  if (program->buffers[static_cast<size_t>(step.buffer)].committed && held[static_cast<size_t>(slot)] != Held::Acquired)
    report(Hazard::WriteNotAcquired, nullptr, &step);
  unfenced[static_cast<size_t>(slot)] = &step;
  note({&step, slot, /*write=*/true});
  put(slot, {what}, step);
}

/// The same elements in layouts that give each to one thread only are a thread's own business.
void Memory::meetGlobal(const GlobalAccess& access, Owners& owners, Report report) const {
  for (const GlobalAccess& other : recentGlobal) {
    if (access.program != other.program) continue;
    if (!access.orders && !other.orders &&
        ((!access.write && !other.write) || (access.atomic && other.atomic) || !mayOverlap(access.window, other.window)))
      continue;
    bool own =
        (access.window == other.window || areInPlace(access.window, other.window)) && owners.same(access.step->owners, other.step->owners);
    if (!own) report(hazardOf(other.write, access.write, true), other.step, access.step);
  }
}

void Memory::global(const Step& step, const Window& window, Owners& owners, Report report) {
  if (!watched) return;
  GlobalAccess access{&step, window, step.act != Act::ReadGlobal, step.act == Act::AtomicGlobal, current, step.orders};
  if (access.write)
    for (const InFlight& copy : inFlight)
      if (copy.program == current && (step.orders || mayOverlap(window, copy.from))) report(Hazard::StoreOverCopySource, copy.step, &step);
  meetGlobal(access, owners, report);
  noteGlobal(access);
}

void Memory::forget(int slot) {
  contents[static_cast<size_t>(slot)] = {Instance{}};
  writers[static_cast<size_t>(slot)] = nullptr;
}

void Memory::join(const Memory& other) {
  for (size_t slot = 0; slot < contents.size(); ++slot) {
    for (const Instance& what : other.contents[slot]) addMissing(contents[slot], what);
    if (!writers[slot]) writers[slot] = other.writers[slot];
    if (!unfenced[slot]) unfenced[slot] = other.unfenced[slot];
    if (!unread[slot]) unread[slot] = other.unread[slot];
    held[slot] = std::max(held[slot], other.held[slot]);
  }
  joinFlights(inFlight, other.inFlight);
  joinFlights(dots, other.dots);
  for (const Access& access : other.recent) note(access);
  for (const auto& entry : other.unreleased) addMissing(unreleased, entry);
  for (const GlobalAccess& access : other.recentGlobal) noteGlobal(access);
}

bool Memory::repeats(const Memory& earlier, llvm::function_ref<std::int64_t(int label)> advanced) const {
  auto sameContent = [&](const Content& now, const Content& then) {
    return llvm::equal(now, then, [&](const Instance& a, const Instance& b) {
      return a.label == b.label && (a.label < 0 || a.count - b.count == advanced(a.label) || a.count == b.count);
    });
  };
  auto sameCopy = [](const InFlight& a, const InFlight& b) { return a.step == b.step && a.slot == b.slot && a.younger == b.younger; };
  // Windows move with the trips: without a barrier there are more of them in every trip, of the same accesses.
  auto allIn = [](const std::vector<GlobalAccess>& some, const std::vector<GlobalAccess>& all) {
    return llvm::all_of(some,
                        [&](const GlobalAccess& a) { return llvm::any_of(all, [&](const GlobalAccess& b) { return a.step == b.step; }); });
  };
  auto sameUnreleased = [&] {
    return unreleased.size() == earlier.unreleased.size() &&
           std::is_permutation(unreleased.begin(), unreleased.end(), earlier.unreleased.begin());
  };
  auto sameSlots = [&](const Buffer& buffer) {
    auto slots = [&](const Memory& memory) { return llvm::ArrayRef(memory.contents).slice(buffer.firstSlot, buffer.slots); };
    return buffer.rewritten || llvm::equal(slots(*this), slots(earlier), sameContent);
  };
  return llvm::all_of(program->buffers, sameSlots) && llvm::equal(inFlight, earlier.inFlight, sameCopy) && dots == earlier.dots &&
         unfenced == earlier.unfenced && unread == earlier.unread && held == earlier.held && recent.size() == earlier.recent.size() &&
         std::is_permutation(recent.begin(), recent.end(), earlier.recent.begin()) && sameUnreleased() &&
         allIn(recentGlobal, earlier.recentGlobal) && allIn(earlier.recentGlobal, recentGlobal);
}

}  // namespace fattn::check
