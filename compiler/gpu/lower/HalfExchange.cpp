// SPDX-License-Identifier: Apache-2.0
// Numbers of 16 bits that lanes exchange one by one, of which a register holds two: words are exchanged, and halves picked.
//
//   word i of a lane: own[2i], own[2i+1]           swapped i = word i of lane ^ 16
//   result j: own[j], swapped[j]; the other way round in the upper lanes      =>      permutation of the bytes of (word i, swapped i)
//
// A shuffle then serves two numbers, and one instruction makes a word of two results, whose places depend on the lane: the numbers of the
// bytes are in a register. Taken number by number each result is chosen by a select, and packed with its neighbour behind that. For
// matrix instructions whose operands have copies in other lanes than their results (WMMA of gfx11). Test: tests/lit/amd/half-exchange.mlir.
#include "compiler/gpu/lower/HalfExchange.h"

#include <array>
#include <map>

#include "compiler/gpu/lower/Lowering.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

using layout::Conversion, layout::ShuffleRound, layout::ThreadMap;

/// A number in flight: half `index` of word `word` of lane ^ `mask`.
struct Half {
  int64_t mask = 0, word = 0;
  int index = 0;
  std::pair<int64_t, int64_t> place() const { return {mask, word}; }
};

/// Two results that one permutation makes: from which words, and which of their four halves where the lane's bit is 0, and where it is 1.
struct Pair {
  std::pair<int64_t, int64_t> first, second;
  std::array<std::array<int, 2>, 2> halves = {};
};

bool changesWithThread(const ThreadMap& map) {
  auto isZero = [](auto column) { return column == 0; };
  return !llvm::all_of(map.lane, isZero) || !llvm::all_of(map.warp, isZero);
}

/// The only vector that the number of a result changes by from lane to lane; nothing if there are several. 0: it does not change.
std::optional<int64_t> changeOf(const ThreadMap& map) {
  int64_t change = 0;
  for (const auto& columns : {map.lane, map.warp})
    for (auto column : columns) {
      if (column == 0) continue;
      if (change != 0 && change != static_cast<int64_t>(column)) return std::nullopt;
      change = static_cast<int64_t>(column);
    }
  return change;
}

/// received[result]: where it comes from in lanes whose number of the result is that of the round.
std::optional<std::vector<Half>> received(const Conversion& plan) {
  std::vector<Half> halves(plan.rounds.size());
  for (const ShuffleRound& round : plan.rounds) {
    std::optional<int64_t> mask = round.from.xorOfLane();
    if (!mask || changesWithThread(round.send)) return std::nullopt;
    const auto sent = static_cast<int64_t>(round.send.constant);
    halves[round.store.constant] = {.mask = *mask, .word = sent / 2, .index = static_cast<int>(sent % 2)};
  }
  return halves;
}

std::optional<Pair> pairAt(const std::vector<Half>& halves, int64_t result, int64_t change) {
  Pair pair;
  pair.first = pair.second = halves[static_cast<size_t>(result)].place();
  for (int upper = 0; upper < 2; ++upper)
    for (int i = 0; i < 2; ++i) {
      const Half& half = halves[static_cast<size_t>((result + i) ^ (upper ? change : 0))];
      if (half.place() != pair.first && pair.second == pair.first) pair.second = half.place();
      if (half.place() != pair.first && half.place() != pair.second) return std::nullopt;
      pair.halves[static_cast<size_t>(upper)][static_cast<size_t>(i)] = half.index + (half.place() == pair.first ? 0 : 2);
    }
  return pair;
}

std::optional<std::vector<Pair>> pairsOf(const Conversion& plan, int64_t change) {
  std::optional<std::vector<Half>> halves = received(plan);
  if (!halves || halves->size() % 2 != 0) return std::nullopt;
  std::vector<Pair> pairs;
  for (int64_t result = 0; result < static_cast<int64_t>(halves->size()); result += 2) {
    std::optional<Pair> pair = pairAt(*halves, result, change);
    if (!pair) return std::nullopt;
    pairs.push_back(*pair);
  }
  return pairs;
}

/// Whether the lane has the upper of a result's two numbers.
Value isUpper(Lowering& to, const ThreadMap& store) {
  return arith::CmpIOp::create(to.b, arith::CmpIPredicate::ne, threadNumber(to, store, 0), to.i32(0));
}

}  // namespace

std::optional<Registers> exchangeHalves(Lowering& to, const Conversion& plan, ArrayRef<Value> source, Type element) {
  constexpr int64_t kHalf = 16;
  if (!to.machine.permutesBytes() || tilegpu::elementBits(element) != kHalf || plan.word != 1 || source.size() % 2 != 0)
    return std::nullopt;
  const ThreadMap& store = plan.rounds.front().store;
  std::optional<int64_t> change = changeOf(store);
  std::optional<std::vector<Pair>> pairs = change ? pairsOf(plan, *change) : std::nullopt;
  if (!pairs) return std::nullopt;

  std::map<std::pair<int64_t, int64_t>, Value> words;
  auto wordAt = [&](std::pair<int64_t, int64_t> place) {
    Value& word = words[place];
    if (word) return word;
    Value own = to.pack(source.slice(static_cast<size_t>(2 * place.second), 2), to.b.getI32Type());
    return word = place.first ? to.machine.shuffleXor(to.b, own, static_cast<int>(place.first)) : own;
  };
  Value upper = *change ? isUpper(to, store) : Value();
  std::map<std::array<std::array<int, 2>, 2>, Value> selectors;
  Registers result;
  for (const Pair& pair : *pairs) {
    Value& selector = selectors[pair.halves];
    if (!selector) {
      selector = to.i32(to.machine.byteSelector(pair.halves[0]));
      if (upper) selector = arith::SelectOp::create(to.b, upper, to.i32(to.machine.byteSelector(pair.halves[1])), selector);
    }
    Value word = to.machine.permuteBytes(to.b, wordAt(pair.first), wordAt(pair.second), selector);
    llvm::append_range(result, to.unpack(word, element, 2));
  }
  return result;
}

}  // namespace fattn::gpu
