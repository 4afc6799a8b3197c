// SPDX-License-Identifier: Apache-2.0
// tilegpu.convert_layout within a warp: registers renamed, or words exchanged by shuffles as planConversion() says.
//
// A round of shuffles sends word `constant ^ N lane` of each lane. Picking a register by a number that depends on the lane would be local
// memory; instead the words are permuted by selects: for each vector v of a basis of N's span, the lanes whose number has v's leading bit
// take word x ^ v for word x. EXAMPLE, N = {1}: odd lanes have each pair of words swapped, one select a word. What no round asks for is not
// computed. Received words find their register in the same way.
#include <map>

#include "compiler/gpu/lower/HalfExchange.h"
#include "compiler/gpu/lower/Lowering.h"
#include "compiler/layout/Conversion.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::gpu {

Value threadNumber(Lowering& to, const layout::ThreadMap& map, int64_t constant) {
  auto images = [](const layout::f2::Columns& columns) { return SmallVector<int64_t>(columns.begin(), columns.end()); };
  Value number = arith::XOrIOp::create(to.b, to.linearMap(to.lane, images(map.lane)), to.linearMap(to.warp, images(map.warp)));
  return constant ? arith::XOrIOp::create(to.b, number, to.i32(constant)).getResult() : number;
}

namespace {

using layout::Conversion, layout::ConversionKind, layout::kRegister, layout::LinearLayout, layout::ThreadMap;

/// words[x ^ N thread] for any constant x.
class PickedByThread {
 public:
  PickedByThread(Lowering& to, Registers words, const ThreadMap& map) : to_(to), words_(std::move(words)) {
    layout::f2::Columns basis;
    for (layout::f2::Vector v : layout::f2::extension({}, all(map))) insert(basis, v);
    if (basis.empty()) return;
    Value number = threadNumber(to, map, 0);
    for (layout::f2::Vector v : basis) {
      Value bit = arith::AndIOp::create(to.b, number, to.i32(static_cast<int64_t>(std::bit_floor(v))));
      swaps_.push_back({v, arith::CmpIOp::create(to.b, arith::CmpIPredicate::ne, bit, to.i32(0))});
    }
  }

  Value at(int64_t x) { return at(x, 0); }

 private:
  struct Swap {
    layout::f2::Vector by;
    Value condition;
  };

  static layout::f2::Columns all(const ThreadMap& map) {
    layout::f2::Columns columns = map.lane;
    columns.insert(columns.end(), map.warp.begin(), map.warp.end());
    return columns;
  }

  /// Keeps the leading bits of a basis distinct, and each in one vector only: a number's share of v is its bit there.
  static void insert(layout::f2::Columns& basis, layout::f2::Vector v) {
    for (layout::f2::Vector other : basis)
      if (v & std::bit_floor(other)) v ^= other;
    for (layout::f2::Vector& other : basis)
      if (other & std::bit_floor(v)) other ^= v;
    basis.push_back(v);
  }

  Value at(int64_t x, size_t stage) {
    if (stage == swaps_.size()) return words_[static_cast<size_t>(x)];
    Value& known = known_[{x, stage}];
    if (known) return known;
    Value swapped = at(x ^ static_cast<int64_t>(swaps_[stage].by), stage + 1), kept = at(x, stage + 1);
    return known_[{x, stage}] = arith::SelectOp::create(to_.b, swaps_[stage].condition, swapped, kept);
  }

  Lowering& to_;
  Registers words_;
  SmallVector<Swap> swaps_;
  std::map<std::pair<int64_t, size_t>, Value> known_;
};

/// Registers as words of 32 bits, `count` registers each, or as several words each, and back.
class Words {
 public:
  Words(Lowering& to, Type element, int count) : to_(to), element_(element), count_(count) {}

  /// result[w]: all 32-bit parts of word w.
  SmallVector<Registers> of(ArrayRef<Value> registers) {
    SmallVector<Registers> result;
    for (size_t first = 0; first < registers.size(); first += static_cast<size_t>(count_))
      result.push_back(shuffleWords(to_, registers.slice(first, static_cast<size_t>(count_))));
    return result;
  }
  Registers registersOf(ArrayRef<Value> parts) { return fromShuffleWords(to_, parts, element_, count_); }

 private:
  Lowering& to_;
  Type element_;
  int count_;
};

/// One copy of the plan: the words of the source it starts from become registers of the reduced destination.
Registers exchange(Lowering& to, const Conversion& plan, ArrayRef<Value> source, Type element) {
  if (std::optional<Registers> halves = exchangeHalves(to, plan, source, element)) return *halves;
  Words words(to, element, plan.word);
  SmallVector<Registers> sent = words.of(source);
  SmallVector<Registers> received(plan.rounds.size());
  for (size_t part = 0; part < sent.front().size(); ++part) {
    Registers column;
    for (const Registers& word : sent) column.push_back(word[part]);
    PickedByThread send(to, column, plan.rounds.front().send);
    Registers got(plan.rounds.size());
    for (const layout::ShuffleRound& round : plan.rounds) {
      Value word = send.at(static_cast<int64_t>(round.send.constant));
      if (auto mask = round.from.xorOfLane()) {
        if (*mask) word = to.machine.shuffleXor(to.b, word, static_cast<int>(*mask));
      } else {
        word = to.machine.shuffle(to.b, word, threadNumber(to, round.from, static_cast<int64_t>(round.from.constant)));
      }
      got[round.store.constant] = word;
    }
    PickedByThread store(to, got, plan.rounds.front().store);
    for (size_t w = 0; w < got.size(); ++w) received[w].push_back(store.at(static_cast<int64_t>(w)));
  }
  Registers result;
  for (const Registers& parts : received) llvm::append_range(result, words.registersOf(parts));
  return result;
}

Registers shuffle(Lowering& to, const Conversion& plan, const Registers& source, Type element) {
  Registers reduced;
  int64_t linear = int64_t{1} << plan.source.inputBits(kRegister);
  for (auto [from, into] : plan.copies) {
    Registers copy = exchange(to, plan, ArrayRef(source).slice(static_cast<size_t>(from), static_cast<size_t>(linear)), element);
    if (reduced.size() < static_cast<size_t>(into) + copy.size()) reduced.resize(static_cast<size_t>(into) + copy.size());
    llvm::copy(copy, reduced.begin() + into);
  }
  Registers result;
  for (int64_t r : plan.reducedRegister) result.push_back(reduced[static_cast<size_t>(r)]);
  return result;
}

}  // namespace

Registers shuffleWords(Lowering& to, ArrayRef<Value> elements) {
  Type type = elements.front().getType(), word = to.b.getI32Type();
  auto asInteger = [&](Value value) -> Value {
    if (isa<LLVM::LLVMPointerType>(value.getType())) return LLVM::PtrToIntOp::create(to.b, to.b.getI64Type(), value);
    Type integer = to.b.getIntegerType(value.getType().getIntOrFloatBitWidth());
    return value.getType() == integer ? value : LLVM::BitcastOp::create(to.b, integer, value).getResult();
  };
  unsigned bits = isa<LLVM::LLVMPointerType>(type) ? 64 : type.getIntOrFloatBitWidth();
  if (bits == 64) return to.unpack(asInteger(elements.front()), word, 2);
  if (elements.size() * bits == 32) return {to.pack(elements, word)};
  // A word that is not full: elements side by side, zeros above.
  Value result;
  for (auto [i, element] : llvm::enumerate(elements)) {
    Value wide = arith::ExtUIOp::create(to.b, word, asInteger(element));
    if (i) wide = arith::ShLIOp::create(to.b, wide, to.i32(static_cast<int64_t>(i * bits)));
    result = result ? arith::OrIOp::create(to.b, result, wide).getResult() : wide;
  }
  return {result};
}

Registers fromShuffleWords(Lowering& to, ArrayRef<Value> words, Type element, int count) {
  bool pointer = isa<LLVM::LLVMPointerType>(element);
  unsigned bits = pointer ? 64 : element.getIntOrFloatBitWidth();
  if (bits == 64) {
    Value wide = to.pack(words, to.b.getI64Type());
    if (pointer) return {LLVM::IntToPtrOp::create(to.b, element, wide)};
    return to.unpack(wide, element, 1);
  }
  if (static_cast<unsigned>(count) * bits == 32) return to.unpack(words.front(), element, count);
  Registers result;
  for (int i = 0; i < count; ++i) {
    Value part = words.front();
    if (i) part = arith::ShRUIOp::create(to.b, part, to.i32(i * static_cast<int64_t>(bits)));
    part = arith::TruncIOp::create(to.b, to.b.getIntegerType(bits), part);
    result.append(to.unpack(part, element, 1));
  }
  return result;
}

FailureOr<Registers> convertRegisters(Lowering& to, const Registers& source, const LinearLayout& from, const LinearLayout& into,
                                      Type element) {
  if (from == into) return source;
  Conversion plan = layout::planConversion(from, into, tilegpu::elementBits(element), to.banks);
  if (plan.kind == ConversionKind::Shared) return failure();
  if (plan.kind == ConversionKind::Shuffles) return shuffle(to, plan, source, to.registerType(element));
  Registers result;
  for (int64_t r : plan.sourceRegister) result.push_back(source[static_cast<size_t>(r)]);
  return result;
}

LogicalResult lowerConversion(Lowering& to, tilegpu::ConvertLayoutOp op) {
  Value input = op.getInput();
  FailureOr<Registers> result = convertRegisters(to, to.registers(input), *tilegpu::layoutOf(input), *tilegpu::layoutOf(op.getResult()),
                                                 op.getInput().getType().getElementType());
  if (failed(result))
    return op.emitOpError()
           << "moves data through shared memory; -tilegpu-decompose-conversions rewrites such a conversion before this pass";
  to.set(op.getResult(), std::move(*result));
  return success();
}

}  // namespace fattn::gpu
