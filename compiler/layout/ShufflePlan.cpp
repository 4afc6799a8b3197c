// SPDX-License-Identifier: Apache-2.0
// The linear algebra of shuffles; the argument is in Conversion.h.
#include "compiler/layout/ShufflePlan.h"

#include <algorithm>
#include <bit>

namespace fattn::layout {
namespace {

struct Holder {
  f2::Vector reg = 0, lane = 0;
};

/// Finds holders of single coordinates, with the least movement first.
class HolderSearch {
 public:
  explicit HolderSearch(const LinearLayout& source)
      : registers_(source.columns(kRegister)), lanes_(source.columns(kLane)), warps_(source.columns(kWarp)) {
    for (f2::Vector column : registers_) ofRegisters_.add(column);
    ofBoth_ = ofRegisters_;
    for (f2::Vector column : lanes_) ofBoth_.add(column);
  }

  /// Lane bits `lane` and warp bits `warp` are where the destination is: the source's holder is there if it can be.
  std::optional<Holder> find(f2::Vector element, f2::Vector lane, f2::Vector warp, Movement movement) const {
    f2::Vector rest = element ^ f2::multiply(warps_, warp);
    if (auto reg = ofRegisters_.solve(rest ^ f2::multiply(lanes_, lane))) return Holder{*reg, lane};
    if (movement == Movement::Registers) return std::nullopt;
    auto both = ofBoth_.solve(rest);
    if (!both) return std::nullopt;
    return Holder{*both & ((f2::Vector{1} << registers_.size()) - 1), *both >> registers_.size()};
  }

 private:
  f2::Columns registers_, lanes_, warps_;
  f2::Span ofRegisters_, ofBoth_;
};

f2::Columns sum(const f2::Columns& a, const f2::Columns& b) {
  f2::Columns result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(a[i] ^ b[i]);
  return result;
}

/// How many low register bits stay as they are in source and destination: a word of so many registers moves as one.
int wordBits(const HolderMap& holders, int elementBits) {
  int bits = elementBits >= 32 ? 0 : std::countr_zero(32U / elementBits);
  auto fits = [&](int n) {
    f2::Vector low = (f2::Vector{1} << n) - 1;
    if (static_cast<int>(holders.registerToRegister.size()) < n) return false;
    for (int i = 0; i < n; ++i) {
      if (holders.registerToRegister[i] != f2::Vector{1} << i || holders.registerToLane[i]) return false;
    }
    auto untouched = [&](const f2::Columns& columns, int from) {
      return std::all_of(columns.begin() + from, columns.end(), [&](f2::Vector column) { return !(column & low); });
    };
    return untouched(holders.registerToRegister, n) && untouched(holders.laneToRegister, 0) && untouched(holders.warpToRegister, 0);
  };
  while (!fits(bits)) --bits;
  return bits;
}

/// M of Conversion.h: for a kernel vector of D a register bit whose C leads out of what is reached so far.
f2::Columns chooseStores(const f2::Columns& c, const f2::Columns& d) {
  f2::Columns kernel = f2::kernel(d);
  f2::Columns basis = kernel;
  for (f2::Vector unit : f2::extension(kernel, f2::units(static_cast<int>(d.size())))) basis.push_back(unit);
  f2::Span reached(f2::extension({}, d)), coordinates(basis);
  f2::Columns values(basis.size(), 0);
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    for (std::size_t bit = 0; bit < c.size(); ++bit) {
      if (!reached.add(c[bit])) continue;
      values[i] = f2::Vector{1} << bit;
      break;
    }
  }
  f2::Columns result;
  for (f2::Vector unit : f2::units(static_cast<int>(d.size()))) result.push_back(f2::multiply(values, coordinates.solve(unit).value_or(0)));
  return result;
}

/// L with K L = identity on the image of K, 0 on a complement of it.
f2::Columns readerOf(const f2::Columns& k) {
  int n = static_cast<int>(k.size());
  f2::Columns image = f2::extension({}, k), basis = image;
  for (f2::Vector unit : f2::extension(image, f2::units(n))) basis.push_back(unit);
  f2::Span coordinates(basis), preimages(k);
  f2::Columns values;
  for (f2::Vector v : image) values.push_back(preimages.solve(v).value_or(0));
  values.resize(basis.size(), 0);
  f2::Columns result;
  for (f2::Vector unit : f2::units(n)) result.push_back(f2::multiply(values, coordinates.solve(unit).value_or(0)));
  return result;
}

}  // namespace

std::optional<HolderMap> findHolders(const LinearLayout& source, const LinearLayout& destination, Movement movement) {
  HolderSearch search(source);
  HolderMap result;
  auto collect = [&](std::string_view in, f2::Columns& toRegister, f2::Columns& toLane) {
    f2::Columns columns = destination.columns(in);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      f2::Vector bit = f2::Vector{1} << i;
      auto holder = search.find(columns[i], in == kLane ? bit : 0, in == kWarp ? bit : 0, movement);
      if (!holder) return false;
      toRegister.push_back(holder->reg);
      toLane.push_back(holder->lane);
    }
    return true;
  };
  bool found = collect(kRegister, result.registerToRegister, result.registerToLane) &&
               collect(kLane, result.laneToRegister, result.laneToLane) && collect(kWarp, result.warpToRegister, result.warpToLane);
  if (!found) return std::nullopt;
  if (movement == Movement::Registers) {
    // Renaming has to be the same for every thread.
    auto zero = [](const f2::Columns& columns) { return std::ranges::all_of(columns, [](f2::Vector v) { return v == 0; }); };
    if (!zero(result.laneToRegister) || !zero(result.warpToRegister)) return std::nullopt;
  }
  return result;
}

std::optional<ShuffleRounds> shuffleRounds(const HolderMap& holders, int elementBits) {
  int low = wordBits(holders, elementBits);
  auto words = [&](f2::Columns columns) {
    for (f2::Vector& column : columns) column >>= low;
    return columns;
  };
  f2::Columns a = words({holders.registerToRegister.begin() + low, holders.registerToRegister.end()});
  f2::Columns c(holders.registerToLane.begin() + low, holders.registerToLane.end());
  f2::Columns b = words(holders.laneToRegister), e = words(holders.warpToRegister);
  f2::Columns m = chooseStores(c, holders.laneToLane);
  f2::Columns k = sum(holders.laneToLane, f2::multiply(c, m)), n = sum(b, f2::multiply(a, m));
  for (f2::Vector v : f2::kernel(k)) {
    if (f2::multiply(n, v)) return std::nullopt;
  }
  f2::Columns sendByLane = f2::multiply(n, readerOf(k));
  ShuffleRounds result{1 << low, {}};
  for (f2::Vector round = 0; round < f2::Vector{1} << a.size(); ++round) {
    f2::Vector lane = f2::multiply(c, round);
    ThreadMap send{f2::multiply(a, round) ^ f2::multiply(sendByLane, lane), sendByLane,
                   sum(e, f2::multiply(sendByLane, holders.warpToLane))};
    ThreadMap from{lane, k, holders.warpToLane};
    ThreadMap store{round, m, f2::Columns(e.size(), 0)};
    result.rounds.push_back({std::move(send), std::move(from), std::move(store)});
  }
  return result;
}

}  // namespace fattn::layout
