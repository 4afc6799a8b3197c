// SPDX-License-Identifier: Apache-2.0
// Classifies a conversion and plans it.
#include "compiler/layout/Conversion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "compiler/layout/Invalid.h"
#include "compiler/layout/ShufflePlan.h"

namespace fattn::layout {
namespace {

/// Both in the form of tiles; throws if there is no conversion between them.
std::pair<LinearLayout, LinearLayout> normalized(const LinearLayout& source, const LinearLayout& destination) {
  int rank = static_cast<int>(source.outputs().size());
  if (source.outputShape() != destination.asTile(static_cast<int>(destination.outputs().size())).outputShape()) {
    invalid(fmt::format("a tile of ({}) cannot become one of ({})", fmt::join(source.outputShape(), ","),
                        fmt::join(destination.outputShape(), ",")));
  }
  LinearLayout from = source.asTile(rank), to = destination.asTile(rank);
  for (std::string_view in : {kLane, kWarp}) {
    if (from.inputSize(in) != to.inputSize(in)) {
      invalid(fmt::format("the source has {} {}s, the destination {}", from.inputSize(in), in, to.inputSize(in)),
              "give the smaller one copies: layout * LinearLayout::broadcast(...)");
    }
  }
  if (from.hasInput(kBlock) || to.hasInput(kBlock)) invalid("a conversion between layouts that spread a tile over several blocks");
  if (!from.isSurjective()) invalid(fmt::format("the source does not hold every element: {}", from.str()));
  return {from, to};
}

/// Whether the odd parts agree: the same digits of each dimension in registers and in warps.
bool sameRepeats(const LinearLayout& from, const LinearLayout& to) {
  auto select = [](const LinearLayout& layout, std::string Repeat::* side, std::string_view name) {
    std::vector<Repeat> result;
    std::ranges::copy_if(layout.repeats(), std::back_inserter(result), [&](const Repeat& repeat) { return repeat.*side == name; });
    return result;
  };
  for (const Axis& axis : from.outputs()) {
    if (select(from, &Repeat::out, axis.name) != select(to, &Repeat::out, axis.name)) return false;
  }
  return select(from, &Repeat::in, kWarp) == select(to, &Repeat::in, kWarp) &&
         select(from, &Repeat::in, kLane) == select(to, &Repeat::in, kLane) &&
         select(from, &Repeat::out, "") == select(to, &Repeat::out, "");
}

/// The first register of every copy of the linear part in two layouts with the same repeats.
std::vector<std::pair<std::int64_t, std::int64_t>> copiesOf(const LinearLayout& from, const LinearLayout& to) {
  std::vector<Repeat> fromRepeats, toRepeats;
  auto ofRegisters = [](const Repeat& repeat) { return repeat.in == kRegister; };
  std::ranges::copy_if(from.repeats(), std::back_inserter(fromRepeats), ofRegisters);
  std::ranges::copy_if(to.repeats(), std::back_inserter(toRepeats), ofRegisters);
  std::vector<std::pair<std::int64_t, std::int64_t>> result;
  std::int64_t count = from.inputSize(kRegister) >> from.inputBits(kRegister);
  for (std::int64_t copy = 0; copy < count; ++copy) {
    std::vector<std::int64_t> digits;
    std::int64_t rest = copy, target = 0, stride = 1;
    for (const Repeat& repeat : fromRepeats) {
      digits.push_back(rest % repeat.count);
      rest /= repeat.count;
    }
    std::vector<bool> used(fromRepeats.size());
    for (const Repeat& repeat : toRepeats) {
      std::size_t i = 0;
      while (used[i] || !(fromRepeats[i] == repeat)) ++i;
      used[i] = true;
      target += digits[i] * stride;
      stride *= repeat.count;
    }
    result.emplace_back(copy << from.inputBits(kRegister), target << to.inputBits(kRegister));
  }
  return result;
}

Conversion planRegisters(const LinearLayout& from, const LinearLayout& to, const HolderMap& holders) {
  Conversion plan;
  plan.sourceRegister.resize(to.inputSize(kRegister));
  std::int64_t linear = std::int64_t{1} << to.inputBits(kRegister);
  for (auto [source, target] : copiesOf(from, to)) {
    for (std::int64_t r = 0; r < linear; ++r)
      plan.sourceRegister[target + r] = source + static_cast<std::int64_t>(f2::multiply(holders.registerToRegister, r));
  }
  plan.kind = ConversionKind::Registers;
  bool same = from.inputSize(kRegister) == to.inputSize(kRegister);
  for (std::size_t r = 0; r < plan.sourceRegister.size(); ++r) same = same && plan.sourceRegister[r] == static_cast<std::int64_t>(r);
  if (same) plan.kind = ConversionKind::Identity;
  return plan;
}

/// For each register the one among the registers without free bits that holds the same.
std::vector<std::int64_t> reducedRegisters(const LinearLayout& layout) {
  f2::Columns columns = layout.columns(kRegister), kept;
  f2::Columns images;  // of each register bit among the kept ones
  f2::Span span;
  for (f2::Vector column : columns) {
    if (auto combination = span.solve(column)) {
      images.push_back(*combination);
    } else {
      span.add(column);
      images.push_back(f2::Vector{1} << kept.size());
      kept.push_back(column);
    }
  }
  std::vector<std::int64_t> result;
  std::int64_t mask = (std::int64_t{1} << columns.size()) - 1;
  for (std::int64_t r = 0; r < layout.inputSize(kRegister); ++r) {
    std::int64_t copy = r >> columns.size();
    result.push_back(static_cast<std::int64_t>(f2::multiply(images, r & mask)) + (copy << kept.size()));
  }
  return result;
}

std::optional<Conversion> planShuffles(const LinearLayout& from, const LinearLayout& to, int elementBits) {
  LinearLayout reduced = to.withoutFreeBits(kRegister);
  auto holders = findHolders(from, reduced, Movement::Lanes);
  if (!holders) return std::nullopt;
  auto rounds = shuffleRounds(*holders, elementBits);
  if (!rounds) return std::nullopt;
  Conversion plan;
  plan.kind = ConversionKind::Shuffles;
  plan.word = rounds->word;
  plan.rounds = std::move(rounds->rounds);
  plan.copies = copiesOf(from, reduced);
  plan.reducedRegister = reducedRegisters(to);
  int copies = static_cast<int>(plan.copies.size()), words = std::max(1, elementBits / 32);
  for (const ShuffleRound& round : plan.rounds) {
    plan.cost.shuffles += round.isLocal() ? 0 : copies * words;
    for (const ThreadMap* map : {&round.send, &round.store})
      plan.cost.selects += copies * words * (f2::rank(map->lane) + f2::rank(map->warp));
  }
  return plan;
}

Conversion planShared(const LinearLayout& from, const LinearLayout& to, int elementBits, const Banks& banks) {
  Conversion plan;
  plan.kind = ConversionKind::Shared;
  LinearLayout reduced = to.withoutFreeBits(kRegister);
  plan.shared = chooseSwizzle(reduced, from, elementBits, banks);
  plan.storeGroups = vectorGroups(from, plan.shared->layout, plan.shared->write.vector);
  plan.loadGroups = vectorGroups(reduced, plan.shared->layout, plan.shared->read.vector);
  plan.loadedRegister = reducedRegisters(to);
  plan.cost.stores = static_cast<int>(plan.storeGroups.size());
  plan.cost.loads = static_cast<int>(plan.loadGroups.size());
  plan.cost.passes = plan.shared->passes();
  plan.cost.blockBarrier = classify(from, to) == ConversionKind::Shared;
  return plan;
}

}  // namespace

std::string_view name(ConversionKind kind) {
  switch (kind) {
    case ConversionKind::Identity:
      return "identity";
    case ConversionKind::Registers:
      return "registers";
    case ConversionKind::Shuffles:
      return "shuffles";
    case ConversionKind::Shared:
      return "shared";
  }
  return "";
}

ConversionKind classify(const LinearLayout& source, const LinearLayout& destination) {
  auto [from, to] = normalized(source, destination);
  if (!sameRepeats(from, to)) return ConversionKind::Shared;
  if (auto holders = findHolders(from, to, Movement::Registers)) return planRegisters(from, to, *holders).kind;
  return findHolders(from, to, Movement::Lanes) ? ConversionKind::Shuffles : ConversionKind::Shared;
}

Conversion planConversion(const LinearLayout& source, const LinearLayout& destination, int elementBits, const Banks& banks) {
  auto [from, to] = normalized(source, destination);
  std::optional<Conversion> plan;
  if (sameRepeats(from, to)) {
    if (auto holders = findHolders(from, to, Movement::Registers)) {
      plan = planRegisters(from, to, *holders);
    } else {
      plan = planShuffles(from, to, elementBits);
    }
  }
  // A few shuffles are cheaper than any way through memory; with many it depends. Through memory the warps of a block wait for each other,
  // which the cycles of one warp do not tell: what stays in the warp may cost three times as many.
  if (!plan || plan->cost.cycles() > 30) {
    Conversion other = planShared(from, to, elementBits, banks);
    if (!plan || 3 * other.cost.cycles() < plan->cost.cycles()) plan = std::move(other);
  }
  plan->source = std::move(from);
  plan->destination = std::move(to);
  plan->elementBits = elementBits;
  return *plan;
}

std::string Conversion::str() const {
  switch (kind) {
    case ConversionKind::Identity:
      return "identity: nothing moves";
    case ConversionKind::Registers:
      return fmt::format("registers: each lane renames its own, r <- {}", fmt::join(sourceRegister, " "));
    case ConversionKind::Shuffles:
      return fmt::format("shuffles: {} of {} element(s) and {} selects a warp", cost.shuffles, word, cost.selects);
    case ConversionKind::Shared:
      break;
  }
  return fmt::format("shared: {} stores of {} element(s) and {} loads of {} a lane, {} conflicts; {}", cost.stores, shared->write.vector,
                     cost.loads, shared->read.vector, shared->read.conflicts() + shared->write.conflicts(),
                     cost.blockBarrier ? "a barrier of the block" : "within the warp");
}

}  // namespace fattn::layout
