// SPDX-License-Identifier: Apache-2.0
// The numbered layouts of -tilegpu-assign-layouts: what follows from them, and what moving between them costs.
#include <algorithm>
#include <bit>
#include <set>

#include "compiler/gpu/Fragments.h"
#include "compiler/gpu/passes/layouts/AssignLayouts.h"
#include "compiler/layout/Conversion.h"
#include "compiler/layout/Queries.h"
#include "compiler/layout/Tiling.h"
#include "fattn/Error.h"

namespace fattn::tilegpu {

using layout::kLane, layout::kRegister, layout::kWarp, layout::LinearLayout;

LayoutId LayoutPool::number(LinearLayout layout) {
  layout = layout.asTile(static_cast<int>(layout.outputs().size()));
  size_t hash = layout::hash_value(layout);
  for (auto [it, end] = byHash_.equal_range(hash); it != end; ++it)
    if (layouts_[static_cast<size_t>(it->second)] == layout) return it->second;
  layouts_.push_back(std::move(layout));
  auto id = static_cast<LayoutId>(layouts_.size() - 1);
  byHash_.emplace(hash, id);
  return id;
}

static LinearLayout apply(LinearLayout layout, const Rule& rule) {
  switch (rule.kind) {
    case Rule::Slice:
      for (int64_t d : llvm::reverse(rule.numbers)) layout = layout.slice(static_cast<int>(d));
      return layout;
    case Rule::Expand:
      return layout.expand(static_cast<int>(rule.numbers[0]));
    case Rule::Collapse:
      for (int64_t d : rule.numbers) layout = layout.slice(static_cast<int>(d)).expand(static_cast<int>(d));
      return layout;
    case Rule::Transpose:
      return layout.transpose(std::vector<int>(rule.numbers.begin(), rule.numbers.end()));
    case Rule::Reshape:
      return layout.reshape(layout::Coords(rule.numbers.begin(), rule.numbers.end()));
    case Rule::Join:
      return layout.join();
    case Rule::Split:
      return layout.split();
    default:
      return layout;
  }
}

LayoutId LayoutPool::derive(LayoutId id, const Rule& rule) {
  if (rule.kind == Rule::Same || id == kNoLayout) return id;
  if (rule.kind == Rule::Scalar) return scalar();
  auto [entry, isNew] = derived_.try_emplace({id, rule}, kNoLayout);
  if (!isNew) return entry->second;
  try {
    LinearLayout result = apply(layouts_[static_cast<size_t>(id)], rule);
    if (result.isSurjective()) entry->second = number(std::move(result));
  } catch (const Error&) {
    entry->second = kNoLayout;  // there is no such linear layout
  }
  return entry->second;
}

LayoutId LayoutPool::scalar() {
  return number((LinearLayout::broadcast(kLane, target_.warpSize) * LinearLayout::broadcast(kWarp, warps_)).asTile(0));
}

LayoutId LayoutPool::blocked(llvm::ArrayRef<int64_t> shape, int contiguous, int bits, int bytes) {
  if (shape.empty()) return scalar();
  auto [entry, isNew] = blocked_.try_emplace({layout::Coords(shape.begin(), shape.end()), contiguous, bits, bytes}, kNoLayout);
  if (!isNew) return entry->second;
  int rank = static_cast<int>(shape.size());
  layout::BlockedOptions options{.shape = layout::Coords(shape.begin(), shape.end()), .elementBits = bits, .lanes = target_.warpSize};
  options.warps = warps_;
  options.vectorBytes = bytes;
  options.order = {contiguous < 0 ? rank - 1 : contiguous};
  for (int d = rank - 1; d >= 0; --d)
    if (d != options.order[0]) options.order.push_back(d);
  return entry->second = number(layout::blocked(options));
}

LayoutId LayoutPool::inVectors(LayoutId id, int contiguous, int bits, int bytes) {
  if (contiguous < 0 || bits > 8 * bytes) return id;
  const int elements = 8 * bytes / bits;
  auto [entry, isNew] = inVectors_.try_emplace({id, contiguous, elements}, kNoLayout);
  if (isNew) entry->second = number(layout::withVectors((*this)[id], contiguous, elements));
  return entry->second;
}

const LayoutPool::Move& LayoutPool::move(LayoutId from, LayoutId to, int bits) {
  auto [entry, isNew] = moves_.try_emplace({from, to, bits});
  if (!isNew || from == to || from == kNoLayout || to == kNoLayout) return entry->second;
  layout::Conversion plan = layout::planConversion((*this)[from], (*this)[to], bits, gpu::banksOf(target_));
  const bool inShared = plan.kind == layout::ConversionKind::Shared;
  entry->second = {static_cast<double>(plan.cost.cycles()) * static_cast<double>(warps_), inShared};
  const int64_t bytes = (int64_t{1} << (*this)[to].totalOutputBits()) * bits / 8;
  if (inShared && bytes > target_.shared.bytesPerBlock) entry->second.cycles += kImpossible;
  return entry->second;
}

double LayoutPool::conversionCost(LayoutId from, LayoutId to, int bits) { return move(from, to, bits).cycles; }

bool LayoutPool::convertsInShared(LayoutId from, LayoutId to, int bits) { return move(from, to, bits).inShared; }

double LayoutPool::reductionCost(LayoutId id, int axis, int bits) {
  auto [entry, isNew] = reductions_.try_emplace({id, axis, bits}, 0.0);
  if (!isNew) return entry->second;
  const LinearLayout& from = (*this)[id];
  layout::ReductionPlan plan = layout::planReduction(from, axis);
  double results = static_cast<double>(plan.result.inputSize(kRegister));
  double cycles = static_cast<double>(from.inputSize(kRegister)) + 2.0 * plan.shuffleCount();
  // Through shared memory: every warp stores and loads, and all wait for each other.
  if (!plan.warps.empty() || !plan.warpCopies.empty()) cycles += 60 + 4 * results;
  return entry->second = cycles * static_cast<double>(warps_) * std::max(1, bits / 32);
}

constexpr int kSectorBits = 256;

/// The 32-byte sectors of global memory that a warp touches when every lane moves a vector.
static int64_t sectors(const LinearLayout& layout, int contiguous, int bits) {
  std::set<layout::Coords> touched;
  for (int64_t lane = 0; lane < layout.inputSize(kLane); ++lane) {
    layout::Coords at = layout.apply({0, lane, 0});
    if (contiguous >= 0) at[static_cast<size_t>(contiguous)] = at[static_cast<size_t>(contiguous)] * bits / kSectorBits;
    touched.insert(std::move(at));
  }
  return static_cast<int64_t>(touched.size());
}

double LayoutPool::memoryCost(LayoutId id, int contiguous, int bits, int bytes, bool stores) {
  auto [entry, isNew] = accesses_.try_emplace({id, contiguous, bits, bytes, stores}, 0.0);
  if (!isNew) return entry->second;
  const LinearLayout& layout = (*this)[id];
  int vector = contiguous < 0 ? 1 : layout::vectorWidth(layout, contiguous, bits, bytes, bytes);
  // An address and the instruction, and the sectors that the memory pipe moves one after the other.
  const auto touched = static_cast<double>(sectors(layout, contiguous, bits));
  // A part of a sector that is stored goes to the second-level cache by itself, which merges it with what is there; a part that is loaded
  // leaves the others in the first-level cache.
  const bool parts = stores && static_cast<double>(layout.inputSize(kLane) * vector * bits) < touched * kSectorBits;
  double instruction = 4.0 + (parts ? 2 : 1) * touched;
  double count = static_cast<double>(layout.inputSize(kRegister)) / vector;
  return entry->second = instruction * count * static_cast<double>(warps_);
}

double LayoutPool::sharedReadCost(LayoutId id, int bits, int contiguous) const {
  const LinearLayout& layout = (*this)[id];
  const double registers = static_cast<double>(layout.inputSize(kRegister)) * static_cast<double>(warps_);
  const double moved = registers * static_cast<double>(layout.inputSize(kLane)) * bits / 8 / target_.shared.bytesPerCycle.value_or(128);
  if (contiguous < 0 || target_.shared.readsMatrices) return moved;
  constexpr int kWidest = 16;
  return moved + registers / layout::vectorWidth(layout, contiguous, bits, kWidest, kWidest) / target_.rates.issue;
}

}  // namespace fattn::tilegpu
