// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/check/EmittedRun.h"

#include <fmt/format.h>

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace fattn::check {
namespace {

std::string lineOf(Operation* op) {
  std::string text;
  op->getLoc()->walk([&](Location part) {
    auto place = dyn_cast<FileLineColLoc>(part);
    if (!place) return WalkResult::advance();
    text = fmt::format(" of line {}", place.getLine());
    return WalkResult::interrupt();
  });
  return text;
}

std::string nameOf(Operation* op) { return op->getName().getStringRef().str(); }

std::string times(int64_t count, std::string_view one) { return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s"); }

std::string textOf(const Window& window) {
  std::string text = fmt::format("element {}", window.base.value);
  for (int d = 0; d < std::min(window.rank, Window::kMostDims); ++d)
    text += fmt::format("{}{}", d ? ", " : " and offsets [", window.offsets[d].known ? std::to_string(window.offsets[d].value) : "?");
  return window.rank > 0 ? text + "]" : text;
}

struct Words {
  std::string_view text, note;
};

/// Of slots and tiles that warps hand over to others.
Words wordsOfHandOver(Hazard hazard) {
  switch (hazard) {
    case Hazard::SentOtherwise:
      return {"lays a tile for other warps to send, whose tilegpu.send_boxes sends another one, or none, at this place in their order",
              "what they send"};
    case Hazard::LaidByNobody:
      return {"sends a tile that no tilegpu.store_boxes lays: it would never begin", ""};
    case Hazard::AcquireHeld:
      return {"waits for a slot whose last content no owner has released: it would never end", ""};
    case Hazard::WriteNotAcquired:
      return {"writes a slot that an owner may still be reading: a tilegpu.slot_acquire is missing before it", ""};
    case Hazard::CommitNotAcquired:
      return {"commits a slot that nobody has acquired since the last commit: the order of the slots would be lost", ""};
    case Hazard::AwaitNotCommitted:
      return {"waits for a slot that no tilegpu.slot_commit has filled: it would never end", ""};
    case Hazard::ReleaseTwice:
      return {"releases a slot that holds nothing since its last release: the copies' order of slots would be lost", ""};
    default:
      return {};
  }
}

Words wordsOf(Hazard hazard) {
  switch (hazard) {
    case Hazard::ReadOfCopyInFlight:
      return {"reads a slot that a copy may still be filling: no tilegpu.copy_wait covers the copy before this read", "the copy"};
    case Hazard::WriteOverCopyInFlight:
      return {"writes a slot that a copy may still be filling: no tilegpu.copy_wait covers the copy before this write", "the copy"};
    case Hazard::StoreOverCopySource:
      return {"stores to global memory that a copy may still be reading: no tilegpu.copy_wait covers the copy before this store",
              "the copy"};
    case Hazard::WriteOverDotInFlight:
      return {"writes a slot that a dot may still be reading: no tilegpu.dot_wait covers the dot before this write", "the dot"};
    case Hazard::WaitLeavesDot:
      return {"waits for a dot, but lets so many younger dots go on that it may be among them: pending must be less", ""};
    case Hazard::CoveredByNothing:
      return {"counts on a wait before it for a dot that may be in flight: covered must go", ""};
    case Hazard::CopyWithoutWait:
      return {"copies boxes that no tilegpu.copy_wait waits for: they may land when the block has ended", ""};
    case Hazard::CopyWithoutFence:
      return {"copies boxes over what threads have written: a tilegpu.fence_async is missing behind the write", "the write"};
    case Hazard::WaitWithoutCopy:
      return {"waits for boxes that no tilegpu.copy_async has begun to copy into the slot: it would never end", ""};
    case Hazard::CopyWithoutRelease:
      return {"copies boxes into a slot whose last content no tilegpu.release has given back: it would never begin", "the last copy"};
    case Hazard::BarriersNotMade:
      return {"needs barrier objects: tilegpu.init_barriers is missing before it, or a tilegpu.barrier between the two", ""};
    case Hazard::TurnNotPassed:
      return {"waits for a turn that no tilegpu.turn_pass of the group before passes on: it would never end", "the turn before"};
    case Hazard::TurnPassedEarly:
      return {"passes on a turn that no tilegpu.turn_wait has taken: the next group's turns would be lost", ""};
    case Hazard::SentOtherwise:
    case Hazard::LaidByNobody:
    case Hazard::AcquireHeld:
    case Hazard::WriteNotAcquired:
    case Hazard::CommitNotAcquired:
    case Hazard::AwaitNotCommitted:
    case Hazard::ReleaseTwice:
      return wordsOfHandOver(hazard);
    case Hazard::ReadWithoutFence:
      return {"reads by the matrix unit what threads have written: a tilegpu.fence_async is missing behind the write", "the write"};
    case Hazard::ReadAfterWrite:
      return {"reads what other threads write: a tilegpu.barrier is missing between the write and this read", "the write"};
    case Hazard::WriteAfterRead:
      return {"overwrites what other threads may still be reading: a tilegpu.barrier is missing between the read and this write",
              "the read"};
    case Hazard::WriteAfterWrite:
      return {"overwrites what other threads may still be writing: a tilegpu.barrier is missing between the two writes", "the first write"};
    case Hazard::GlobalReadAfterWrite:
      return {"reads global memory that other threads write: a tilegpu.barrier is missing between the write and this read", "the write"};
    case Hazard::GlobalWriteAfterRead:
      return {"writes global memory that other threads may still be reading: a tilegpu.barrier is missing between the read and this write",
              "the read"};
    case Hazard::GlobalWriteAfterWrite:
      return {"writes global memory that other threads may still be writing: a tilegpu.barrier is missing between the two writes",
              "the first write"};
  }
  return {};
}

}  // namespace

void Faults::add(std::string_view kind, const Step* at, const Step* other, std::string text, std::string note) {
  if (!known.insert({kind, at->op, other ? other->op : nullptr}).second) return;
  Fault fault{.at = at->op, .text = std::move(text), .other = std::nullopt, .note = std::move(note)};
  if (other) fault.other = other->op->getLoc();
  list.push_back(std::move(fault));
}

std::string EmittedRun::accessOf(int label) const {
  bool named = label >= 0 && static_cast<size_t>(label) < sourceSteps.size() && sourceSteps[static_cast<size_t>(label)];
  if (!named) return "a later pass's write";
  Operation* op = sourceSteps[static_cast<size_t>(label)]->op;
  return fmt::format("the {}{}", nameOf(op), lineOf(op));
}

std::string EmittedRun::describe(const Content& content) const {
  std::string text;
  for (const Instance& what : content) {
    if (!text.empty()) text += " or ";
    if (what.label == Instance::kNothing)
      text += "nothing written";
    else if (what.label == Instance::kOther)
      text += "what another access left";
    else
      text += fmt::format("run {} of {}", what.count + 1, accessOf(what.label));
  }
  return text;
}

std::optional<int64_t> EmittedRun::sourceRun(const Step& step, int64_t count) {
  auto label = static_cast<size_t>(step.label);
  const Step* before = step.label >= 0 && label < sourceSteps.size() ? sourceSteps[label] : nullptr;
  if (!before) return count;
  size_t depth = SourceRun::depthAround(*before);
  if (step.loops.size() < depth) return count;
  Entry& entry = entries[static_cast<size_t>(step.stream)];
  if (int64_t number = entryOf(step, depth); entry.number != number) entry = {number, count};
  return source->runOf(step.label, entry.number, count - entry.firstRun);
}

void EmittedRun::onRead(const Step& step, int64_t count, int slot) {
  if (!source) return;
  const Buffer& buffer = program.buffers[static_cast<size_t>(step.buffer)];
  Content ofOneWriter;
  std::optional<int64_t> run = sourceRun(step, count);
  const Content* expected = run ? source->read(step.label, *run) : nullptr;
  if (step.label < 0 && buffer.onlyWriter) expected = &(ofOneWriter = {instanceOf(*buffer.onlyWriter, count)});
  if (!expected) return;  // more often than before scheduling: nobody uses the result
  const Content& found = memory.content(slot);
  if (llvm::all_of(found, [&](const Instance& what) { return llvm::is_contained(*expected, what); })) return;
  faults.add("content", &step, memory.writer(slot),
             fmt::format("finds {} in slot {}, where the program before scheduling finds {}", describe(found), slot - buffer.firstSlot,
                         describe(*expected)),
             "the last write of that memory");
}

void EmittedRun::compareOrder(const Step& step, const Versions& expected, const Versions& found) {
  auto runs = [](const Versions& versions, int label) {
    const auto* it = llvm::find_if(versions, [&](const Version& version) { return version.label == label; });
    return it == versions.end() ? Version{label, 0, 0} : *it;
  };
  for (const Versions* side : {&expected, &found})
    for (const Version& version : *side) {
      Version before = runs(expected, version.label), now = runs(found, version.label);
      if (before == now) continue;
      bool named = static_cast<size_t>(version.label) < sourceSteps.size();
      faults.add("order", &step, named ? sourceSteps[static_cast<size_t>(version.label)] : nullptr,
                 fmt::format("comes after {} of {} of the same memory, where the program before scheduling has it after {}",
                             times(now.count, "run"), accessOf(version.label), times(before.count, "run")),
                 "the write");
      return;
    }
}

void EmittedRun::onGlobal(const Step& step, int64_t count, const Window& window, const Versions& after) {
  if (!source) return;
  if (step.label < 0)
    return faults.add("unknown", &step, nullptr, "accesses global memory, but comes from no access of the program before scheduling", "");
  std::optional<int64_t> run = step.act == Act::ReadGlobal ? sourceRun(step, count) : count;
  const SourceRun::Global* before = run ? source->global(step.label, *run) : nullptr;
  if (!before) return;  // compareRuns() speaks of writes; of reads nobody uses the result
  compareOrder(step, before->after, after);
  bool known = before->window.base.known && window.base.known && before->window.array == window.array;
  if (!known || before->window.rank != window.rank) return;
  bool moved = before->window.base != window.base;
  tilegpu::SliceOp part = storedPartOf(step.op);
  for (int d = 0; d < std::min(window.rank, Window::kMostDims); ++d) {
    const Number &now = window.offsets[d], &then = before->window.offsets[d];
    moved |= now.known && then.known && now.value != then.value + (part ? part.getOffsets()[d] : 0);
  }
  if (moved)
    faults.add("place", &step, nullptr,
               fmt::format("accesses {} in its run {}, where the program before scheduling accesses {}", textOf(window), count + 1,
                           textOf(before->window)),
               "");
}

void EmittedRun::compareRuns() {
  if (!source) return;
  std::vector<std::pair<const Step*, int64_t>> made(static_cast<size_t>(source->labels()), {nullptr, 0});
  for (const Body& block : program.blocks)
    for (const Step& step : block.steps) {
      bool writes = step.act == Act::WriteGlobal || step.act == Act::AtomicGlobal;
      if (writes && step.label >= 0 && step.label < source->labels())
        made[static_cast<size_t>(step.label)] = {&step, counts[static_cast<size_t>(step.stream)]};
    }
  for (auto [label, entry] : llvm::enumerate(made)) {
    const Step* before = label < sourceSteps.size() ? sourceSteps[label] : nullptr;
    if (!before || (before->act != Act::WriteGlobal && before->act != Act::AtomicGlobal)) continue;
    int64_t wanted = source->runs(static_cast<int>(label));
    if (entry.second == wanted) continue;
    Step whole{.op = program.function};
    faults.add("runs", entry.first ? entry.first : &whole, before,
               fmt::format("makes {} of {}, where the program before scheduling makes {}", times(entry.second, "run"),
                           accessOf(static_cast<int>(label)), times(wanted, "run")),
               "the write");
  }
}

void EmittedRun::onHazard(Hazard hazard, const Step* first, const Step* second) {
  Words words = wordsOf(hazard);
  faults.add(words.text, second, first, std::string(words.text), std::string(words.note));
}

void EmittedRun::onSlotOutside(const Step& step, int64_t slot) {
  const Buffer& buffer = program.buffers[static_cast<size_t>(step.buffer)];
  faults.add("slot", &step, nullptr, fmt::format("accesses slot {} of a buffer that has {}", slot, times(buffer.slots, "slot")), "");
}

void EmittedRun::onOtherPhase(const Step& step, int64_t told, int64_t before) {
  faults.add("phase", &step, nullptr, fmt::format("is for phase {} of a slot, whose phase is {}", told, before), "");
}

}  // namespace fattn::check
