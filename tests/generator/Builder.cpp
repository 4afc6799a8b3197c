// SPDX-License-Identifier: Apache-2.0
// The frame of a random program, and the choice of what comes next.
#include "tests/generator/Builder.h"

#include <fmt/format.h>

#include "compiler/interpreter/Number.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace fattn::generator {

/// Of a program: a few milliseconds of the interpreter.
constexpr int64_t kOperations = 400000;

Builder::Builder(MLIRContext& context, const std::string& name, Choices choices, const Options& options)
    : random_(std::move(choices)),
      options_(options),
      b_(&context),
      loc_(NameLoc::get(StringAttr::get(&context, name))),
      budget_(kOperations) {
  program_.module = ModuleOp::create(loc_);
  program_.entry = name;
  program_.grid = {static_cast<int32_t>(random_.between(1, 3)), static_cast<int32_t>(random_.between(1, 2)), 1};
  repeated_ = program_.grid[0] * program_.grid[1];
  b_.setInsertionPointToEnd(program_.module->getBody());
  function_ = func::FuncOp::create(b_, loc_, program_.entry, b_.getFunctionType({}, {}));
  function_->setAttr("tile.kernel", b_.getUnitAttr());
  b_.setInsertionPointToStart(function_.addEntryBlock());
  for (auto [i, axis] : llvm::enumerate(std::array{tile::Axis::x, tile::Axis::y})) {
    Value id = tile::ProgramIdOp::create(b_, loc_, b_.getI32Type(), axis);
    id_[i] = arith::ExtSIOp::create(b_, loc_, b_.getI64Type(), id);
  }
  // Most tiles of a program share a few sizes, so that they meet.
  bool regular = random_.chance(45);
  for (int i = 0; i < 3; ++i)
    sizes_.push_back(regular ? random_.pick({16, 32, 64, 8}) : random_.pick({1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 24, 33, 64}));
}

Type Builder::randomFloat() {
  return random_.pick(std::array<Type, 4>{b_.getF32Type(), b_.getF32Type(), b_.getF16Type(), b_.getBF16Type()});
}

int64_t Builder::randomSize() {
  if (!random_.chance(20)) return random_.pick(sizes_);
  return random_.pick({1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 24, 32, 33});
}

std::array<int64_t, 2> Builder::randomShape(int64_t factor) {
  int64_t m = randomSize(), n = randomSize();
  while (m * n > 1 && !affords(m * n * factor)) (m > n ? m : n) /= 2;
  return {m, n};
}

int64_t Builder::randomTrips(int64_t cost) {
  int64_t trips = random_.pick({1, 2, 0, 3, 4, 7});
  while (trips > 1 && !affords(trips * cost)) --trips;
  return trips;
}

void Builder::note(const char* feature) { notes_.emplace_back(&*std::prev(b_.getInsertionPoint()), feature); }

/// A value whose error bound is a great part of it would hide defects where it is stored.
void Builder::keep(Tracked tile) {
  if (!tile.isFloat() || tile.error <= 0.05 * std::max(tile.bound, 0.01)) pool_.push_back(tile);
}

void Builder::elementwise() { keep(changed(any(!random_.chance(20)))); }

void Builder::store() { store(any(!random_.chance(25))); }

/// The simplest come first.
ArrayRef<Builder::Step> Builder::stepTable() {
  static constexpr Step kSteps[] = {
      {16, [](Builder& b) { b.elementwise(); }, 9, Step::Reads},
      {6, [](Builder& b) { b.keep(b.loadAnything()); }, 9, Step::Reads},
      {5, [](Builder& b) { b.castStep(); }, 9, Step::Reads},
      {6, [](Builder& b) { b.keep(b.reduced(b.any(!b.random_.chance(25)))); }, 9, Step::Reads},
      {3, [](Builder& b) { b.keep(b.cumsum(b.any(!b.random_.chance(25)))); }, 9, Step::Reads},
      {3, [](Builder& b) { b.keep(b.transposed(b.any(!b.random_.chance(25)))); }, 9, Step::Reads},
      {4, [](Builder& b) { b.keep(b.rearranged(b.any(!b.random_.chance(25)))); }, 9, Step::Reads},
      {6, [](Builder& b) { b.masked(); }, 9, Step::Reads},
      {6, [](Builder& b) { b.vectorStep(); }, 9, Step::Reads},
      {8, [](Builder& b) { b.dot(); }, 9, Step::Reads},
      {4, [](Builder& b) { b.gathered(); }, 9, Step::Reads},
      {6, [](Builder& b) { b.lazy(); }, 2, Step::Reads},
      {3, [](Builder& b) { b.branch(); }, 2, Step::Reads},
      {2, [](Builder& b) { b.whileLoop(); }, 1, Step::Reads},
      {5, [](Builder& b) { b.loop(); }, 1, Step::Reads},
      {5, [](Builder& b) { b.dotLoop(); }, 1, Step::Reads},
      {6, [](Builder& b) { b.chain(); }, 1, Step::Reads},
      {1, [](Builder& b) { b.store(); }, 2, Step::Writes},
      {2, [](Builder& b) { b.scattered(); }, 2, Step::Writes},
      {4, [](Builder& b) { b.atomics(); }, 2, Step::Writes},
      {7, [](Builder& b) { b.storeThenLoad(); }, 2, Step::Writes},
      {3, [](Builder& b) { b.fiveDots(); }, 0, Step::Writes},
      {3, [](Builder& b) { b.inPlace(); }, 1, Step::ReadsWritten},
      {4, [](Builder& b) { b.loadThenStore(); }, 1, Step::ReadsWritten},
      {6, [](Builder& b) { b.carriedThroughMemory(); }, 1, Step::ReadsWritten},
      {4, [](Builder& b) { b.chasedTable(); }, 1, Step::ReadsWritten},
  };
  return kSteps;
}

void Builder::step() {
  SmallVector<const Step*> legal;
  SmallVector<int> weights;
  for (const Step& step : stepTable()) {
    bool allowed = step.memory == Step::Reads || (!quiet_ && (step.memory == Step::Writes || loops_ == 0));
    if (depth_ > step.depth || !allowed) continue;
    legal.push_back(&step);
    weights.push_back(step.weight);
  }
  legal[random_.weighted(weights)]->run(*this);
}

void Builder::steps(int64_t most) {
  for (Choices::Repeat again(random_, 0, most); again.next() && budget_ > 0;) step();
}

/// What was made and is not used would be computed for nobody, so most of it is stored.
Program Builder::finish() {
  for (Choices::Repeat again(random_, 3, 9); again.next() && budget_ > 0;) step();
  int stored = 0;
  for (const std::vector<Tracked>* tiles : {&pool_, &vectors_})
    for (const Tracked& tile : llvm::reverse(*tiles))
      if (tile.value.use_empty() && stored < 4 && random_.chance(80)) store(tile), ++stored;
  bool writes =
      function_.walk([](Operation* op) { return hasEffect<MemoryEffects::Write>(op) ? WalkResult::interrupt() : WalkResult::advance(); })
          .wasInterrupted();
  if (!writes) store(pool_.empty() ? any(true) : pool_.back());
  func::ReturnOp::create(b_, loc_);
  eraseDeadCode();
  eraseUnusedArguments();
  promiseNoAliases();
  program_.choices = random_.values();
  program_.spans = random_.spans();
  return std::move(program_);
}

void Builder::eraseDeadCode() {
  SmallVector<Operation*> all;
  function_.walk<WalkOrder::PostOrder>([&](Operation* op) { all.push_back(op); });
  llvm::DenseSet<Operation*> erased;
  for (Operation* op : llvm::reverse(all)) {
    if (erased.contains(op) || !isOpTriviallyDead(op)) continue;
    op->walk([&](Operation* inner) { erased.insert(inner); });
    op->erase();
  }
  for (auto [op, feature] : notes_)
    if (!erased.contains(op)) program_.features.insert(feature);
}

/// An argument that another one is the same memory as stays: its array is there for both.
void Builder::eraseUnusedArguments() {
  llvm::BitVector unused(function_.getNumArguments());
  for (BlockArgument argument : function_.getArguments())
    if (argument.use_empty()) unused.set(argument.getArgNumber());
  for (BlockArgument argument : function_.getArguments())
    if (auto same = sameAs(function_, argument.getArgNumber()); same && !argument.use_empty()) unused.reset(*same);
  std::vector<std::variant<Array, int64_t>> arguments;
  std::vector<int64_t> numbers;  // as they will be
  for (BlockArgument argument : function_.getArguments()) {
    unsigned number = argument.getArgNumber();
    numbers.push_back(static_cast<int64_t>(arguments.size()));
    if (unused.test(number)) continue;
    auto& contents = program_.arguments[number];
    if (auto* array = std::get_if<Array>(&contents)) {
      if (array->misalignment > 0) program_.features.insert("array.unaligned");
      if (function_.getArgAttr(number, "tile.divisibility")) program_.features.insert("array.aligned");
    }
    if (auto same = sameAs(function_, number)) function_.setArgAttr(number, kSameAttr, b_.getI64IntegerAttr(numbers.at(*same)));
    arguments.push_back(std::move(contents));
  }
  if (failed(function_.eraseArguments(unused))) std::abort();
  program_.arguments = std::move(arguments);
}

/// What no other argument leads to may be said to be so.
void Builder::promiseNoAliases() {
  llvm::BitVector shared(function_.getNumArguments());
  for (unsigned i = 0; i < function_.getNumArguments(); ++i)
    if (auto same = sameAs(function_, i)) shared.set(i), shared.set(*same);
  for (unsigned i = 0; i < function_.getNumArguments(); ++i)
    if (isa<tile::PtrType>(function_.getArgument(i).getType()) && !shared.test(i) && random_.chance(15)) {
      function_.setArgAttr(i, "tile.noalias", b_.getUnitAttr());
      program_.features.insert("array.noalias");
    }
}

std::optional<size_t> sameAs(func::FuncOp function, size_t argument) {
  auto same = function.getArgAttrOfType<IntegerAttr>(static_cast<unsigned>(argument), kSameAttr);
  return same ? std::optional(static_cast<size_t>(same.getInt())) : std::nullopt;
}

std::optional<size_t> sameAs(const Program& program, size_t argument) {
  ModuleOp module = program.module.get();
  auto function = module ? module.lookupSymbol<func::FuncOp>(program.entry) : func::FuncOp();
  return function ? sameAs(function, argument) : std::nullopt;
}

Program generate(MLIRContext& context, uint64_t seed, const Options& options) {
  return Builder(context, fmt::format("random_{}", seed), Choices(seed), options).finish();
}

Program replay(MLIRContext& context, std::vector<uint64_t> choices, const Options& options) {
  return Builder(context, "replayed", Choices(std::move(choices)), options).finish();
}

Program clone(const Program& program) {
  return {.module = program.module.get().clone(),
          .entry = program.entry,
          .arguments = program.arguments,
          .grid = program.grid,
          .features = program.features,
          .choices = program.choices,
          .spans = program.spans};
}

const std::vector<std::string>& featureNames() {
  static const std::vector<std::string> kNames = {"array.aligned",
                                                  "array.noalias",
                                                  "array.unaligned",
                                                  "atomic.float",
                                                  "atomic.half",
                                                  "atomic.integer",
                                                  "atomic.window",
                                                  "branch",
                                                  "branch.data",
                                                  "cast.f8",
                                                  "dot.computed-operand",
                                                  "dot.in-lazy",
                                                  "dot.odd-sizes",
                                                  "dot.tf32",
                                                  "lazy",
                                                  "lazy.in-loop",
                                                  "lazy.nested",
                                                  "load.i16",
                                                  "load.indirect",
                                                  "load.pointers",
                                                  "load.scalar",
                                                  "loop.bound-from-memory",
                                                  "loop.bound-from-program",
                                                  "loop.bound-from-tile",
                                                  "loop.dot",
                                                  "loop.downward",
                                                  "loop.five-dots",
                                                  "loop.many-trips",
                                                  "loop.mask",
                                                  "loop.nested",
                                                  "loop.no-trips",
                                                  "loop.one-trip",
                                                  "loop.scaled-accumulator",
                                                  "loop.shared-operand",
                                                  "loop.store",
                                                  "loop.two-trips",
                                                  "loop.vector",
                                                  "loop.while",
                                                  "mask.above",
                                                  "mask.below",
                                                  "mask.other",
                                                  "mask.window",
                                                  "mask.wraps",
                                                  "memory.carried-back",
                                                  "memory.carried-by-1",
                                                  "memory.carried-by-2",
                                                  "memory.carried-dot",
                                                  "memory.chased-table",
                                                  "memory.in-place",
                                                  "memory.load-then-store",
                                                  "memory.same-through-another",
                                                  "memory.store-then-load",
                                                  "store",
                                                  "store.pointers",
                                                  "store.vector",
                                                  "vector.beside-tile"};
  return kNames;
}

Array makeArray(Type element, int64_t count, const Fill& fill) {
  Array array{.type = element, .bytes = std::vector<char>(count * interpreter::bytesOf(element)), .fill = fill};
  Random random(fill.seed.value_or(0));
  for (int64_t i = 0; fill.seed && i < count; ++i) {
    interpreter::Element value;
    if (!isa<FloatType>(element))
      value = interpreter::Element::integer(random.between(fill.low, fill.high));
    else if (fill.coarse)
      value = interpreter::Element::number(0.25 * static_cast<double>(random.between(-8, 8)));
    else
      value = interpreter::Element::number(interpreter::roundTo(random.uniform(-2, 2), element));
    interpreter::writeBytes(array.bytes.data() + i * interpreter::bytesOf(element), value, element);
  }
  return array;
}

std::string compare(const Array& expected, const Array& actual) {
  int64_t size = interpreter::bytesOf(expected.type);
  for (size_t at = 0; at < expected.bytes.size(); at += size) {
    interpreter::Element want = interpreter::readBytes(expected.bytes.data() + at, expected.type),
                         got = interpreter::readBytes(actual.bytes.data() + at, expected.type);
    auto close = [&] {  // infinities are the same, but have no difference
      return want.f == got.f || std::abs(want.f - got.f) <= expected.tolerance || (std::isnan(want.f) && std::isnan(got.f));
    };
    bool same = isa<FloatType>(expected.type) ? close() : want.i == got.i;
    if (!same)
      return fmt::format("element {} of {} is {}, but must be {} up to {}", at / size, expected.bytes.size() / size,
                         interpreter::toText(got, expected.type), interpreter::toText(want, expected.type), expected.tolerance);
  }
  return "";
}

}  // namespace fattn::generator
