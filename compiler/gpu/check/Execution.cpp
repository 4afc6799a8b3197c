// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/check/Execution.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::check {
namespace {

/// Where labels of what later passes wrote begin.
constexpr int kUnlabelled = 1 << 24;
/// Trips of a scf.while that would not end by its numbers.
constexpr int64_t kMostWhileTrips = 12;
/// Heads of a loop that are compared: more than CheckOrder.cpp tries trips.
constexpr int64_t kMostHeads = 26;

/// A number that looks random and is the same for the same key everywhere (splitmix64).
uint64_t scrambled(uint64_t key) {
  key += 0x9e3779b97f4a7c15U;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9U;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebU;
  return key ^ (key >> 31);
}

Number plus(Number a, Number b) {
  if (!a.known || !b.known) return {};
  return {static_cast<int64_t>(static_cast<uint64_t>(a.value) + static_cast<uint64_t>(b.value)), true};
}

/// Additions whose old values nobody uses have no order among themselves.
bool isUnordered(const Step& step) { return step.act == Act::AtomicGlobal && step.op->use_empty() && !step.orders; }

uint64_t hashOf(Number number, int value) {
  return scrambled(number.known ? static_cast<uint64_t>(number.value) : ~static_cast<uint64_t>(value));
}

}  // namespace

Execution::Execution(const Program& program, const Scenario& scenario, Owners& owners, bool watched, int64_t budget)
    : program(program),
      scenario(scenario),
      memory(program, watched),
      counts(static_cast<size_t>(program.streams)),
      numbers(static_cast<size_t>(program.values)),
      windows(static_cast<size_t>(program.pointers)),
      blockRuns(program.blocks.size()),
      loopTrips(static_cast<size_t>(program.loops), -1),
      loopSettled(static_cast<size_t>(program.loops)),
      copies(static_cast<size_t>(program.slots)),
      waits(static_cast<size_t>(program.slots)),
      watched(watched),
      owners(owners),
      budget(budget) {}

Outcome Execution::run() {
  for (copier = 0; copier < program.copiers; ++copier) {
    role = Role::Copying;
    programs();
    if (outcome != Outcome::Finished) return outcome;
    role = Role::Computing;
    llvm::fill(blockRuns, 0);
    llvm::fill(loopTrips, -1);
  }
  programs();
  if (outcome == Outcome::Finished && watched) atEnd();
  return outcome;
}

/// All programs that the block takes; where the function says itself that it takes several, it does.
void Execution::programs() {
  func::FuncOp function = program.function;
  for (auto [i, value] : llvm::enumerate(program.blocks.front().arguments)) {
    if (value < 0) continue;
    if (isa<tile::PtrType>(function.getArgument(i).getType()))
      setWindow(value, {.array = static_cast<int>(i),
                        .base = {0, true},
                        .noAlias = function.getArgAttr(i, "tile.noalias") != nullptr,
                        .inPlace = function.getArgAttr(i, "tile.in_place") != nullptr});
    else
      setNumber(value, {scenario.arguments[i], true});
  }
  size_t rounds = program.repeats ? 1 : scenario.ids.size();
  for (size_t number = 0; number < rounds; ++number) {
    beginProgram(number);
    if (!block(0)) return;
  }
}

void Execution::beginProgram(size_t number) {
  current = static_cast<int>(number);
  memory.beginProgram(current);
}

void Execution::atEnd() {
  if (apart && nextAhead < ahead.size()) {
    const Copying& first = ahead[nextAhead];
    onHazard(Hazard::CopyWithoutRelease, memory.heldBy(first.slot), first.step);
  }
  if (nextSent < sent.size()) onHazard(Hazard::LaidByNobody, nullptr, sent[nextSent].first);
  if (turnTaken) onHazard(Hazard::TurnNotPassed, nullptr, turnTaken);
  memory.end([&](Hazard kind, const Step* first, const Step* second) { onHazard(kind, first, second); });
}

Instance Execution::instanceOf(const Step& step, int64_t count) const {
  return {.label = step.label >= 0 ? step.label : kUnlabelled + step.stream, .count = count};
}

bool Execution::block(int index) {
  const Body& body = program.blocks[static_cast<size_t>(index)];
  ++blockRuns[static_cast<size_t>(index)];
  for (const Step& next : body.steps) {
    if (++spent > budget) return outcome = Outcome::TooLong, false;
    if (!step(next)) return false;
  }
  for (int number : body.buffers) {
    const Buffer& buffer = program.buffers[static_cast<size_t>(number)];
    for (int slot = 0; slot < buffer.slots; ++slot) memory.forget(buffer.firstSlot + slot);
  }
  return true;
}

bool Execution::step(const Step& step) {
  switch (step.kind) {
    case StepKind::Number:
      return number(step), true;
    case StepKind::Opaque:
      return true;  // unknown from the beginning to the end
    case StepKind::Pointer:
      return pointer(step), true;
    case StepKind::Window:
      return window(step), true;
    case StepKind::Forward:
      return forward(step), true;
    case StepKind::Access:
      return access(step);
    case StepKind::For:
      return forLoop(step);
    case StepKind::While:
      return whileLoop(step);
    case StepKind::If:
      return branch(step);
    case StepKind::Lazy:
      return lazy(step);
    case StepKind::Programs:
      return eachProgram(step);
    case StepKind::Owner:
      return block(step.blocks[0]);  // one of the groups, for all
  }
  return true;
}

void Execution::number(const Step& step) {
  Number result;
  if (auto id = dyn_cast<tile::ProgramIdOp>(step.op)) {
    result = {scenario.ids[static_cast<size_t>(current)][static_cast<size_t>(id.getAxis())], true};
  } else if (auto test = dyn_cast<tilegpu::IsCopierOp>(step.op)) {
    const bool is = role == Role::Copying && (!test.getThread() || static_cast<int>(*test.getThread()) == copier);
    result = {is ? -1 : 0, true};
    if (role == Role::Computing && !apart) {
      apart = true;
      memory.copyApart();
      copyAhead();
    }
  } else if (auto last = dyn_cast<tilegpu::GroupLastOp>(step.op)) {
    result = {lastOf(last), true};
  } else if (auto count = dyn_cast<tile::NumProgramsOp>(step.op)) {
    result = {scenario.programs[static_cast<size_t>(count.getAxis())], true};
  } else if (isa<tile::UnsplatOp>(step.op)) {
    // What tiles hold is not followed: any number, the same wherever the operation runs.
    result = loaded(scenario.seed ^ hashOf({step.number, true}, 0), step.op->getResult(0).getType());
  } else {
    SmallVector<Number, 3> operands;
    for (int operand : step.operands) operands.push_back(numberOf(operand));
    result = evaluate(step.op, operands);
  }
  setNumber(step.results.front(), result);
}

int64_t Execution::lastOf(tilegpu::GroupLastOp op) const {
  constexpr uint64_t kFar = 16;  // times all rows
  constexpr int64_t kBeyondRows = int64_t{1} << 29;
  SmallVector<int64_t> byGroup = op.byGroup();
  if (scenario.bound == GroupBound::Own) return byGroup[scenario.group % byGroup.size()];
  const int64_t greatest = *llvm::max_element(byGroup);
  const auto far = static_cast<int64_t>(scenario.group % (kFar * (static_cast<uint64_t>(greatest) + 1)));
  return scenario.bound == GroupBound::Below ? greatest - far : kBeyondRows + far;
}

void Execution::pointer(const Step& step) {
  Window result = windowOf(step.operands[0]);
  bool tile = isa<RankedTensorType>(step.op->getResult(0).getType());
  result.base = tile ? Number() : plus(result.base, numberOf(step.operands[1]));
  setWindow(step.results.front(), result);
}

void Execution::window(const Step& step) {
  auto type = cast<tile::BlockPtrType>(step.op->getResult(0).getType());
  int rank = static_cast<int>(type.getRank()), kept = std::min(rank, Window::kMostDims);
  Window result = windowOf(step.operands[0]);
  if (isa<tile::MakeBlockPtrOp>(step.op)) {  // base, then shape, strides and offsets
    result.rank = rank;
    for (int i = 1; i <= 2 * rank; ++i) {
      int extent = step.operands[static_cast<size_t>(i)];
      result.extents = scrambled(result.extents ^ hashOf(numberOf(extent), extent));
    }
    for (int d = 0; d < kept; ++d) {
      result.offsets[d] = numberOf(step.operands[1 + 2 * static_cast<size_t>(rank) + static_cast<size_t>(d)]);
      result.sizes[d] = type.getShape()[d];
    }
  } else {
    for (int d = 0; d < kept; ++d) result.offsets[d] = plus(result.offsets[d], numberOf(step.operands[1 + static_cast<size_t>(d)]));
  }
  setWindow(step.results.front(), result);
}

/// What renames a number or a pointer, or makes tiles of pointers.
void Execution::forward(const Step& step) {
  int to = step.results.front();
  if (isa<arith::SelectOp>(step.op)) {
    Window first = windowOf(step.operands[1]), second = windowOf(step.operands[2]);
    Number condition = numberOf(step.operands[0]);
    return setWindow(to, condition.known ? (condition.value ? first : second) : merged(first, second));
  }
  setNumber(to, numberOf(step.operands[0]));
  Window window = windowOf(step.operands[0]);
  if (isa<RankedTensorType>(step.op->getResult(0).getType())) window.base = {};
  setWindow(to, window);
}

/// Notes a copy for copyAhead(), and what is sent for others. Nothing else is done by warps that copy.
bool Execution::noteCopy(const Step& step) {
  if (step.act == Act::Send) sent.emplace_back(&step, windowOf(step.operands[0]));
  if (step.act != Act::Copy || !step.bulk) return true;
  const Buffer& buffer = program.buffers[static_cast<size_t>(step.buffer)];
  Number slot = numberOf(step.operands[2]);
  if (!slot.known) return outcome = Outcome::Undecided, false;
  if (slot.value < 0 || slot.value >= buffer.slots)
    onSlotOutside(step, slot.value);
  else
    ahead.push_back(copyingOf(step, buffer.firstSlot + static_cast<int>(slot.value)));
  return true;
}

/// The copies that may begin by now.
void Execution::copyAhead() {
  if (!apart || unsure > 0) return;
  for (; nextAhead < ahead.size(); ++nextAhead) {
    const Copying& next = ahead[nextAhead];
    bool wanted = !next.wanted.known || next.wanted.value;
    if (wanted && memory.heldBy(next.slot)) return;
    copy(next, counts[static_cast<size_t>(next.step->stream)]++);
  }
}

/// Groups take turns one after the other, and all do the same: what one has taken it passes on, and then takes the next one.
void Execution::turn(const Step& step) {
  if (step.act == Act::WaitTurn) {
    if (!turnsOpen || turnTaken) onHazard(Hazard::TurnNotPassed, turnTaken, &step);
    turnTaken = &step;
    return;
  }
  bool opens = step.number != 0;
  if (opens ? turnsOpen : !turnTaken) onHazard(Hazard::TurnPassedEarly, nullptr, &step);
  turnsOpen |= opens;
  turnTaken = nullptr;
}

bool Execution::access(const Step& step) {
  if (role == Role::Copying) return noteCopy(step);
  bool result = accessNow(step);
  copyAhead();
  return result;
}

bool Execution::accessNow(const Step& step) {
  auto hazard = [&](Hazard kind, const Step* first, const Step* second) { onHazard(kind, first, second); };
  if (step.act == Act::Barrier) return memory.barrier(), true;
  if (step.act == Act::Wait && !step.bulk) return memory.wait(step.number), true;
  if (step.act == Act::WaitDot) return memory.waitDots(step, hazard), true;
  if (step.act == Act::Fence) return memory.fence(), true;
  if (step.act == Act::MakeBarriers) return memory.makeBarriers(), true;
  if (step.act == Act::WaitTurn || step.act == Act::PassTurn) return turn(step), true;
  int64_t count = counts[static_cast<size_t>(step.stream)]++;
  if (step.buffer < 0) return global(step, count), true;
  const Buffer& buffer = program.buffers[static_cast<size_t>(step.buffer)];
  // The slot is the operand behind the buffer: of a load and of what hands a slot over the second, of others the third. Reads of dots have
  // it alone.
  const bool handsOver = step.act == Act::Acquire || step.act == Act::Commit || step.act == Act::Await;
  const bool second = step.act == Act::ReadBuffer || step.act == Act::Release || handsOver;
  Number slot = numberOf(step.operands[step.act == Act::ReadByDot ? 0 : second ? 1 : 2]);
  if (!slot.known) return outcome = Outcome::Undecided, false;
  if (slot.value < 0 || slot.value >= buffer.slots) {
    onSlotOutside(step, slot.value);
    return true;
  }
  int number = buffer.firstSlot + static_cast<int>(slot.value);
  if (step.act == Act::Copy) return copy(copyingOf(step, number), count), true;
  if (step.act == Act::Wait) {
    checkPhase(step, numberOf(step.phase), waits[static_cast<size_t>(number)]++);
    return memory.waitFor(step, number, hazard), true;
  }
  if (step.act == Act::Release) return memory.release(step, number, hazard), true;
  if (handsOver) return memory.handOver(step, number, hazard), true;
  if (step.act == Act::WriteBuffer) return memory.write(step, number, instanceOf(step, count), owners, hazard), true;
  onRead(step, count, number);
  if (step.act == Act::ReadByDot) return memory.beginDot(step, number, owners, hazard), true;
  memory.read(step, number, owners, hazard);
  return true;
}

Copying Execution::copyingOf(const Step& step, int slot) const {
  Number wanted = step.operands.size() > 3 ? numberOf(step.operands[3]) : Number{1, true};
  return {
      .step = &step, .slot = slot, .wanted = wanted, .from = windowOf(step.operands[0]), .program = current, .phase = numberOf(step.phase)};
}

void Execution::copy(const Copying& copying, int64_t count) {
  const Step& step = *copying.step;
  if (copying.wanted.known && !copying.wanted.value) {
    --counts[static_cast<size_t>(step.stream)];
  } else {
    checkPhase(step, copying.phase, copies[static_cast<size_t>(copying.slot)]++);
    onGlobal(step, count, copying.from, versionsOf(step, copying.from, copying.program));
  }
  memory.copy(copying, instanceOf(step, count), owners,
              [&](Hazard kind, const Step* first, const Step* second) { onHazard(kind, first, second); });
}

/// A barrier object tells a phase from the next one, so the lowest bit has to be right. Behind branches that depend on data nobody counts.
void Execution::checkPhase(const Step& step, Number told, int64_t before) {
  if (told.known && unsure == 0 && (told.value ^ before) % 2 != 0) onOtherPhase(step, told.value, before);
}

/// Whether the warps that copy send the same tile, when it is their turn.
void Execution::layForOthers(const Step& step, const Window& window) {
  const bool any = nextSent < sent.size();
  if (!any || !sent[nextSent].second.saysTheSame(window)) onHazard(Hazard::SentOtherwise, any ? sent[nextSent].first : nullptr, &step);
  ++nextSent;
}

void Execution::global(const Step& step, int64_t count) {
  Window window = step.orders ? Window() : windowOf(step.operands[0]);  // what orders all accesses may touch anything
  if (isa<tilegpu::StoreBoxesOp>(step.op) && tilegpu::isMadeElsewhere(step.op)) layForOthers(step, window);
  Versions versions = versionsOf(step, window, current);
  onGlobal(step, count, window, versions);
  memory.global(step, window, owners, [&](Hazard kind, const Step* first, const Step* second) { onHazard(kind, first, second); });
  if (step.act != Act::ReadGlobal) noteWritten(step, count, window);
  if (step.results.empty() || step.results.front() < 0) return;
  // A scalar that is loaded: what it is depends on where it lies and on what was written there.
  uint64_t key = scenario.seed ^ (step.label < 0 ? 0 : hashOf(window.base, step.label)) ^ static_cast<uint64_t>(window.array) << 32;
  for (const Version& version : versions) key = scrambled(key ^ version.runs);
  if (step.act == Act::AtomicGlobal) key = scrambled(key ^ static_cast<uint64_t>(count));
  setNumber(step.results.front(), loaded(key, step.op->getResult(0).getType()));
}

Number Execution::loaded(uint64_t key, Type type) const {
  if (!type.isIntOrIndex()) return {};
  uint64_t random = scrambled(key);
  if (type.isInteger(1)) return {random & 1 ? -1 : 0, true};
  int64_t scale = 1;
  if (!scenario.scales.empty() && (random >> 8) % 2) scale = scenario.scales[(random >> 16) % scenario.scales.size()];
  int64_t bound = type.isInteger(8) ? 8 : 12;
  return {static_cast<int64_t>(random % static_cast<uint64_t>(bound)) * (type.isInteger(8) ? 1 : scale), true};
}

/// Loops in loops write the same elements again and again: these are one entry.
void Execution::noteWritten(const Step& step, int64_t count, const Window& window) {
  int label = instanceOf(step, count).label;
  auto known = llvm::find_if(
      written, [&](const Written& write) { return write.label == label && write.program == current && write.window.saysTheSame(window); });
  if (known == written.end())
    known = written.insert(known, {.label = label, .window = window, .unordered = isUnordered(step), .program = current});
  ++known->count;
  known->runs += scrambled(static_cast<uint64_t>(count));
}

Versions Execution::versionsOf(const Step& step, const Window& window, int program) {
  constexpr int64_t kComparedInAStep = 16;
  spent += static_cast<int64_t>(written.size()) / kComparedInAStep;
  Versions versions;
  for (const Written& write : written) {
    if (write.program != program || (write.unordered && isUnordered(step)) || !mayOverlap(write.window, window)) continue;
    auto it = llvm::find_if(versions, [&](const Version& version) { return version.label == write.label; });
    if (it == versions.end()) it = versions.insert(it, {write.label, 0, 0});
    it->count += write.count;
    it->runs += write.runs;
  }
  llvm::sort(versions, [](const Version& a, const Version& b) { return a.label < b.label; });
  return versions;
}

SmallVector<Execution::Value> Execution::take(ArrayRef<int> values) const {
  SmallVector<Value> result;
  for (int value : values) result.push_back({numberOf(value), windowOf(value)});
  return result;
}

void Execution::give(ArrayRef<int> values, ArrayRef<Value> from) {
  for (auto [value, what] : llvm::zip(values, from)) {
    setNumber(value, what.number);
    setWindow(value, what.window);
  }
}

Window Execution::merged(const Window& a, const Window& b) {
  if (a == b) return a;
  Window result;
  if (a.array == b.array) result.array = a.array, result.noAlias = a.noAlias, result.inPlace = a.inPlace;
  return result;
}

Execution::Value Execution::merged(const Value& a, const Value& b) {
  return {a.number == b.number ? a.number : Number(), merged(a.window, b.window)};
}

bool Execution::forLoop(const Step& step) {
  Number low = numberOf(step.operands[0]), high = numberOf(step.operands[1]), by = numberOf(step.operands[2]);
  if (!low.known || !high.known || !by.known || by.value <= 0) return outcome = Outcome::Undecided, false;
  const Body& body = program.blocks[static_cast<size_t>(step.blocks[0])];
  ArrayRef<int> carried = ArrayRef(body.arguments).drop_front();
  give(carried, take(ArrayRef(step.operands).drop_front(3)));
  int64_t trips = 0;
  std::vector<Head> heads;
  for (int64_t i = low.value; i < high.value; i += by.value, ++trips) {
    setNumber(body.arguments[0], {i, true});
    if (++spent > budget) return outcome = Outcome::TooLong, false;
    if (watched && trips <= kMostHeads && !loopSettled[static_cast<size_t>(step.loop)]) {
      if (returnsTo(heads)) loopSettled[static_cast<size_t>(step.loop)] = true;
      heads.push_back({memory, counts});
    }
    if (!block(step.blocks[0])) return false;
    give(carried, take(body.yields));
  }
  int64_t& most = loopTrips[static_cast<size_t>(step.loop)];
  most = std::max(most, trips);
  give(step.results, take(carried));
  return true;
}

bool Execution::returnsTo(const std::vector<Head>& heads) const {
  return llvm::any_of(heads, [&](const Head& head) {
    return memory.repeats(head.memory, [&](int label) {
      for (const Body& body : program.blocks)
        for (const Step& step : body.steps)
          if (step.stream >= 0 && step.act != Act::ReadBuffer && step.act != Act::ReadByDot && instanceOf(step, 0).label == label)
            return counts[static_cast<size_t>(step.stream)] - head.counts[static_cast<size_t>(step.stream)];
      return int64_t{0};
    });
  });
}

bool Execution::whileLoop(const Step& step) {
  const Body &before = program.blocks[static_cast<size_t>(step.blocks[0])], &after = program.blocks[static_cast<size_t>(step.blocks[1])];
  give(before.arguments, take(step.operands));
  for (int64_t trip = 0;; ++trip) {
    if (!block(step.blocks[0])) return false;
    Number condition = numberOf(before.yields[0]);
    SmallVector<Value> passed = take(ArrayRef(before.yields).drop_front());
    bool again = condition.known ? condition.value && trip < kMostWhileTrips : trip < scenario.trips;
    if (!again) {
      give(step.results, passed);
      return true;
    }
    give(after.arguments, passed);
    if (!block(step.blocks[1])) return false;
    give(before.arguments, take(after.yields));
  }
}

bool Execution::branch(const Step& step) {
  Number condition = numberOf(step.operands[0]);
  auto side = [&](int which) {
    if (step.blocks[static_cast<size_t>(which)] < 0) return true;
    return block(step.blocks[static_cast<size_t>(which)]);
  };
  auto yields = [&](int which) -> SmallVector<Value> {
    int index = step.blocks[static_cast<size_t>(which)];
    return index < 0 ? SmallVector<Value>() : take(program.blocks[static_cast<size_t>(index)].yields);
  };
  if (condition.known) {
    int which = condition.value ? 0 : 1;
    if (!side(which)) return false;
    give(step.results, yields(which));
    return true;
  }
  ++unsure;
  llvm::scope_exit sure([&] { --unsure; });
  Memory entry = memory;
  if (!side(0)) return false;
  SmallVector<Value> first = yields(0);
  std::swap(entry, memory);  // entry is now what the first side leaves
  if (!side(1)) return false;
  memory.join(entry);
  SmallVector<Value> both;
  for (auto [a, b] : llvm::zip(first, yields(1))) both.push_back(merged(a, b));
  give(step.results, both);
  return true;
}

bool Execution::eachProgram(const Step& step) {
  const Body& body = program.blocks[static_cast<size_t>(step.blocks[0])];
  ArrayRef<int> carried = ArrayRef(body.arguments).take_back(step.operands.size());
  give(carried, take(step.operands));
  for (size_t number = 0; number < scenario.ids.size(); ++number) {
    beginProgram(number);
    for (size_t axis = 0; axis < 3; ++axis) setNumber(body.arguments[axis], {scenario.ids[number][axis], true});
    if (body.arguments.size() > 3) setNumber(body.arguments[3], {static_cast<int64_t>(number), true});
    if (!block(step.blocks[0])) return false;
    give(carried, take(body.yields));
  }
  return true;
}

bool Execution::lazy(const Step& step) {
  ++unsure;
  llvm::scope_exit sure([&] { --unsure; });
  Memory skipped = memory;
  if (!block(step.blocks[0])) return false;
  memory.join(skipped);
  SmallVector<Value> both;
  for (auto [exact, usual] :
       llvm::zip(take(program.blocks[static_cast<size_t>(step.blocks[0])].yields), take(ArrayRef(step.operands).drop_front())))
    both.push_back(merged(exact, usual));
  give(step.results, both);
  return true;
}

}  // namespace fattn::check
