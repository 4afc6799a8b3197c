// SPDX-License-Identifier: Apache-2.0
#include "compiler/transforms/Aliasing.h"

#include <bit>

#include "compiler/dialect/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace fattn::transforms {
namespace {

constexpr size_t kMostTerms = 8;   // of a sum; one with more is a value of its own
constexpr int kMostDepth = 64;     // of an expression that is looked into
constexpr size_t kMostMoves = 16;  // of a block pointer
constexpr uint64_t kModulus = uint64_t{1} << 32;

/// The pointer that this one is computed from; null where there is none, or more than one.
Value pointerBehind(Value pointer) {
  Operation* op = pointer.getDefiningOp();
  if (!op || op->getNumOperands() == 0 || op->getNumRegions() != 0) return {};
  auto isPointer = [](Value v) { return tile::isPtrLike(v.getType()) || isa<tile::BlockPtrType>(v.getType()); };
  return llvm::count_if(op->getOperands(), isPointer) == 1 ? *llvm::find_if(op->getOperands(), isPointer) : Value();
}

/// The values that a carried or chosen one may be; false where they are not known.
bool sourcesOf(Value value, SmallVectorImpl<Value>& sources) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation* parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      OpOperand* init = loop.getTiedLoopInit(argument);
      if (!init) return false;
      sources.append({init->get(), loop.getTiedLoopYieldedValue(argument)->get()});
      return true;
    }
    auto loop = dyn_cast<scf::WhileOp>(parent);
    if (!loop) return false;
    unsigned i = argument.getArgNumber();
    if (argument.getOwner() == loop.getBeforeBody())
      sources.append({loop.getInits()[i], loop.getYieldOp()->getOperand(i)});
    else
      sources.push_back(loop.getConditionOp().getArgs()[i]);
    return true;
  }
  Operation* op = value.getDefiningOp();
  unsigned i = cast<OpResult>(value).getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) return sources.append({loop.getInitArgs()[i], loop.getYieldedValues()[i]}), true;
  if (auto loop = dyn_cast<scf::WhileOp>(op)) return sources.push_back(loop.getConditionOp().getArgs()[i]), true;
  if (auto choice = dyn_cast<arith::SelectOp>(op)) return sources.append({choice.getTrueValue(), choice.getFalseValue()}), true;
  if (auto lazy = dyn_cast<tile::SelectLazyOp>(op)) sources.push_back(lazy.getUsual()[i]);
  if (!isa<scf::IfOp, tile::SelectLazyOp>(op)) return false;
  for (Region& region : op->getRegions()) sources.push_back(region.front().getTerminator()->getOperand(i));
  return true;
}

bool isKernelArgument(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
}

bool promises(Value argument, StringRef attribute) {
  auto block = cast<BlockArgument>(argument);
  return cast<FunctionOpInterface>(block.getOwner()->getParentOp()).getArgAttr(block.getArgNumber(), attribute) != nullptr;
}
bool isNoAlias(Value argument) { return promises(argument, kNoAliasAttr); }

/// Whether a value is made in a loop, inside of `within` where that is given.
bool isInLoop(Value value, Operation* within) {
  for (Operation* op = value.getParentBlock()->getParentOp(); op && op != within; op = op->getParentOp())
    if (isa<LoopLikeOpInterface>(op)) return true;
  return false;
}

/// Integers of 32 bits and more: arithmetic on them is right modulo 2^32.
bool isWide(Type type) { return type.isIndex() || type.isInteger(32) || type.isInteger(64); }

std::optional<uint64_t> constantOf(Value v) {
  APInt constant;
  if (!matchPattern(v, m_ConstantInt(&constant))) return std::nullopt;
  return static_cast<uint64_t>(constant.getSExtValue());
}

uint64_t unitIn(uint64_t v) { return v == 0 ? kModulus : std::min(kModulus, uint64_t{1} << std::countr_zero(v)); }

bool equal(Value a, Value b) {
  if (a == b) return true;
  auto x = constantOf(a), y = constantOf(b);
  return x && y && *x == *y;
}

/// The same integer with other bits; the counter of a loop as FoldAdvances widens it.
Value beforeExtension(Value v) {
  while (Operation* op = v.getDefiningOp()) {
    if (!isa<arith::ExtSIOp, arith::IndexCastOp>(op)) break;
    v = op->getOperand(0);
  }
  return v;
}

/// The value that is multiplied with a constant, or shifted by one, and the factor; a null value where there is no such constant.
std::pair<Value, uint64_t> scaledValue(Operation* product) {
  bool shifts = isa<arith::ShLIOp>(product);
  Value x = product->getOperand(0), y = product->getOperand(1);
  if (!shifts && !constantOf(y)) std::swap(x, y);
  std::optional<uint64_t> constant = constantOf(y);
  if (!constant || (shifts && *constant > 31)) return {};
  return {x, shifts ? uint64_t{1} << *constant : *constant};
}

/// The counter of a loop where the quotient is the number of its trip: (counter - lower bound) / step, computed in 64 bits.
Value dividedCounter(Operation* division) {
  if (division->getResult(0).getType().isInteger(32)) return {};
  Value above = division->getOperand(0), start;
  if (auto sub = above.getDefiningOp<arith::SubIOp>()) above = sub.getLhs(), start = beforeExtension(sub.getRhs());
  auto argument = dyn_cast<BlockArgument>(beforeExtension(above));
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop || argument != loop.getInductionVar()) return {};
  std::optional<uint64_t> step = constantOf(division->getOperand(1)), low = constantOf(loop.getLowerBound());
  if (!step || constantOf(loop.getStep()) != step) return {};
  return (start ? equal(start, loop.getLowerBound()) : low == 0) ? argument : Value();
}

}  // namespace

std::optional<MemoryAccess> accessOf(Operation* op) {
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface) return std::nullopt;
  auto pointer =
      llvm::find_if(op->getOperands(), [](Value v) { return tile::isPtrLike(v.getType()) || isa<tile::BlockPtrType>(v.getType()); });
  if (pointer == op->operand_end()) return std::nullopt;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  MemoryAccess access{.op = op, .pointer = *pointer};
  for (const MemoryEffects::EffectInstance& effect : effects) {
    if (!isa<SideEffects::DefaultResource>(effect.getResource())) continue;
    access.reads |= isa<MemoryEffects::Read>(effect.getEffect());
    access.writes |= isa<MemoryEffects::Write>(effect.getEffect());
  }
  if (auto add = dyn_cast<tile::AtomicAddOp>(op)) access.orders = add.getOrder() != tile::MemoryOrder::relaxed;
  return access.reads || access.writes ? std::optional(access) : std::nullopt;
}

SmallVector<MemoryAccess, 1> accessesIn(Operation* op) {
  SmallVector<MemoryAccess, 1> accesses;
  op->walk([&](Operation* inner) {
    if (auto access = accessOf(inner)) accesses.push_back(*access);
  });
  return accesses;
}

//===-- Which arrays --------------------------------------------------------------------------------------------===//

const Aliasing::Roots& Aliasing::rootsOf(Value pointer) {
  SmallVector<Value> chain;
  for (Value v = pointer; v && !roots_.contains(v); v = pointerBehind(v)) chain.push_back(v);
  Value behind = chain.empty() ? pointer : pointerBehind(chain.back());
  Roots found = behind ? roots_.lookup(behind) : collectRoots(chain.back());
  for (Value v : chain) roots_[v] = found;
  return roots_[pointer];
}

/// Follows carried and chosen values until nothing new comes.
Aliasing::Roots Aliasing::collectRoots(Value pointer) {
  Roots roots;
  llvm::SmallSetVector<Value, 8> seen;
  seen.insert(pointer);
  for (size_t i = 0; i < seen.size() && !roots.unknown; ++i) {
    Value v = seen[i];
    SmallVector<Value> sources;
    if (Value behind = pointerBehind(v))
      seen.insert(behind);
    else if (isKernelArgument(v))
      roots.arguments.push_back(v);
    else if (sourcesOf(v, sources))
      seen.insert(sources.begin(), sources.end());
    else
      roots.unknown = true;
  }
  return roots;
}

bool Aliasing::mayAlias(Value first, Value second) {
  Roots a = rootsOf(first);
  const Roots& b = rootsOf(second);
  if (a.unknown || b.unknown) return true;
  for (Value x : a.arguments)
    for (Value y : b.arguments)
      if (x == y || (!isNoAlias(x) && !isNoAlias(y))) return true;
  return false;
}

bool Aliasing::isSettled(Value pointer) {
  const Roots& roots = rootsOf(pointer);
  return !roots.unknown && llvm::all_of(roots.arguments, [](Value root) { return promises(root, kSettledAttr); });
}

bool Aliasing::isInPlace(Value first, Value second) {
  Roots a = rootsOf(first);
  const Roots& b = rootsOf(second);
  auto inPlace = [](Value x, Value y) { return x != y && (promises(x, kInPlaceAttr) || promises(y, kInPlaceAttr)); };
  return !a.unknown && !b.unknown &&
         llvm::all_of(a.arguments, [&](Value x) { return llvm::all_of(b.arguments, [&](Value y) { return inPlace(x, y); }); });
}

//===-- Which windows -------------------------------------------------------------------------------------------===//

void Aliasing::Form::add(const Form& other, uint64_t factor) {
  for (auto [v, f] : other.terms) {
    auto it = llvm::find_if(terms, [&, v = v](auto& term) { return term.first == v; });
    if (it == terms.end())
      terms.push_back({v, f * factor});
    else
      it->second += f * factor;
  }
  llvm::erase_if(terms, [](auto& term) { return term.second == 0; });
  constant += other.constant * factor;
}

uint64_t Aliasing::Form::factorOf(Value v) const {
  for (auto [term, factor] : terms)
    if (term == v) return factor;
  return 0;
}

const Aliasing::Form& Aliasing::formOf(Value v, int depth) {
  if (auto it = forms_.find(v); it != forms_.end()) return it->second;
  Form form = makeForm(v, depth);
  if (form.terms.size() > kMostTerms) form = Form::of(v);
  return forms_[v] = form;
}

Aliasing::Form Aliasing::makeForm(Value v, int depth) {
  if (!isWide(v.getType())) return Form::of(v);
  if (auto constant = constantOf(v)) return {.terms = {}, .constant = *constant};
  if (depth == kMostDepth) return Form::of(v);
  if (auto argument = dyn_cast<BlockArgument>(v)) return formOfArgument(argument, depth);
  return formOfResult(cast<OpResult>(v), depth);
}

Aliasing::Form Aliasing::formOfArgument(BlockArgument argument, int depth) {
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  std::optional<int64_t> step = loop && argument == loop.getInductionVar() ? getConstantIntValue(loop.getStep()) : std::nullopt;
  if (!step) return Form::of(argument);
  Form form = formOf(loop.getLowerBound(), depth + 1);
  form.add(Form::of(argument), static_cast<uint64_t>(*step));
  return form;
}

Aliasing::Form Aliasing::formOfResult(OpResult result, int depth) {
  Operation* op = result.getOwner();
  if (isa<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp, tile::AssumeDivisibleOp>(op))
    return isWide(op->getOperand(0).getType()) ? formOf(op->getOperand(0), depth + 1) : Form::of(result);
  if (isa<arith::AddIOp, arith::SubIOp>(op)) return formOfSum(op, depth);
  if (isa<arith::MulIOp, arith::ShLIOp>(op)) return formOfProduct(op, depth);
  if (isa<arith::DivSIOp, arith::FloorDivSIOp>(op))
    if (Value counter = dividedCounter(op)) return Form::of(counter);
  return Form::of(result);
}

Aliasing::Form Aliasing::formOfSum(Operation* sum, int depth) {
  Form form = formOf(sum->getOperand(0), depth + 1);
  form.add(formOf(sum->getOperand(1), depth + 1), isa<arith::AddIOp>(sum) ? 1 : ~uint64_t{0});
  return form;
}

Aliasing::Form Aliasing::formOfProduct(Operation* product, int depth) {
  auto [value, factor] = scaledValue(product);
  if (!value) return Form::of(product->getResult(0));
  Form form;
  form.add(formOf(value, depth + 1), factor);
  return form;
}

const std::optional<Aliasing::Window>& Aliasing::windowOf(Value pointer) {
  if (auto it = windows_.find(pointer); it != windows_.end()) return it->second;
  std::optional<Window> found;
  if (auto type = dyn_cast<tile::BlockPtrType>(pointer.getType())) {
    Window window{.root = pointer, .offsets = {}, .sizes = type.getShape()};
    window.offsets.resize(type.getRank());
    size_t moves = 0;
    for (; moves < kMostMoves; ++moves) {
      auto advance = window.root.getDefiningOp<tile::AdvanceOp>();
      if (!advance) break;
      for (auto [offset, delta] : llvm::zip_equal(window.offsets, advance.getDeltas())) offset.add(formOf(delta, 0), 1);
      window.root = advance.getPtr();
    }
    if (auto make = window.root.getDefiningOp<tile::MakeBlockPtrOp>())
      for (auto [offset, start] : llvm::zip_equal(window.offsets, make.getOffsets())) offset.add(formOf(start, 0), 1);
    bool few = llvm::all_of(window.offsets, [](const Form& form) { return form.terms.size() <= 2 * kMostTerms; });
    if (moves < kMostMoves && few) found = std::move(window);
  }
  return windows_[pointer] = found;
}

/// Whether both executions see the same value, as both use this one.
bool Aliasing::Executions::sameValue(Value v) const {
  if (!loop) return !isInLoop(v, nullptr);
  auto outer = loop;
  return outer.isDefinedOutsideOfLoop(v) || (distance == 0 && !isInLoop(v, loop));
}

bool Aliasing::sameArray(Value first, Value second, const Executions& executions) {
  auto a = first.getDefiningOp<tile::MakeBlockPtrOp>(), b = second.getDefiningOp<tile::MakeBlockPtrOp>();
  if (!a || !b) return first == second && executions.sameValue(first);
  auto same = [&](Value x, Value y) { return equal(x, y) && (x != y || executions.sameValue(x)); };
  return same(a.getBase(), b.getBase()) && llvm::all_of_zip(a.getShape(), b.getShape(), same) &&
         llvm::all_of_zip(a.getStrides(), b.getStrides(), same);
}

Aliasing::Difference Aliasing::difference(const Form& first, const Form& second, const Executions& executions) {
  Difference result{.value = second.constant - first.constant};
  auto unknown = [&](uint64_t factor) { result.unit = std::min(result.unit, unitIn(factor)); };
  Form all = first;
  for (auto [v, factor] : second.terms)
    if (first.factorOf(v) == 0) all.terms.push_back({v, factor});
  for (auto [v, _] : all.terms) {
    uint64_t before = first.factorOf(v), after = second.factorOf(v);
    auto loop = executions.loop;
    if (loop && v == loop.getInductionVar() && getConstantIntValue(loop.getStep())) {
      result.value += after * static_cast<uint64_t>(executions.distance);
      unknown(after - before);
    } else if (executions.sameValue(v)) {
      unknown(after - before);
    } else {
      unknown(before);
      unknown(after);
    }
  }
  result.value &= result.unit - 1;
  return result;
}

Overlap Aliasing::overlap(const MemoryAccess& first, const MemoryAccess& second, const Executions& executions) {
  if (first.orders || second.orders) return Overlap::Maybe;
  if (!mayAlias(first.pointer, second.pointer)) return Overlap::Never;
  if (isInPlace(first.pointer, second.pointer)) return Overlap::SameOrNever;
  windowOf(second.pointer);  // before a reference is taken: the map may grow
  const std::optional<Window>&a = windowOf(first.pointer), &b = windowOf(second.pointer);
  if (!a || !b || a->sizes.size() != b->sizes.size() || !sameArray(a->root, b->root, executions)) return Overlap::Maybe;
  Overlap result = Overlap::SameOrNever;
  for (size_t d = 0; d < a->sizes.size(); ++d) {
    auto [value, unit] = difference(a->offsets[d], b->offsets[d], executions);
    auto mine = static_cast<uint64_t>(a->sizes[d]), others = static_cast<uint64_t>(b->sizes[d]);
    if (value >= mine && unit - value >= others) return Overlap::Never;
    if (value != 0 || mine != others || mine > unit) result = Overlap::Maybe;
  }
  return result;
}

Overlap Aliasing::overlap(const MemoryAccess& first, const MemoryAccess& second) { return overlap(first, second, Executions{}); }

bool Aliasing::mayOverlap(const MemoryAccess& first, const MemoryAccess& second, scf::ForOp loop, int64_t distance) {
  return overlap(first, second, {.loop = loop, .distance = distance}) != Overlap::Never;
}

}  // namespace fattn::transforms
