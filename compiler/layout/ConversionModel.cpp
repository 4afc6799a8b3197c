// SPDX-License-Identifier: Apache-2.0
// Runs conversion plans on a model of the register file: the proof, in tests, that every element arrives.
#include <algorithm>

#include "compiler/layout/Conversion.h"
#include "fattn/Error.h"

namespace fattn::layout {
namespace {

std::int64_t flat(const Coords& coords, const Coords& shape) {
  std::int64_t result = 0;
  for (std::size_t d = 0; d < coords.size(); ++d) result = result * shape[d] + coords[d];
  return result;
}

RegisterFile emptyLike(const LinearLayout& layout) {
  RegisterFile file{layout.inputSize(kRegister), layout.inputSize(kLane), layout.inputSize(kWarp), {}};
  file.values.assign(file.registers * file.lanes * file.warps, -1);
  return file;
}

template <typename Visit>
void forThreads(const RegisterFile& file, Visit visit) {
  for (std::int64_t w = 0; w < file.warps; ++w) {
    for (std::int64_t l = 0; l < file.lanes; ++l) visit(l, w);
  }
}

RegisterFile renumbered(RegisterFile& from, RegisterFile to, const std::vector<std::int64_t>& registerOf) {
  forThreads(to, [&](std::int64_t l, std::int64_t w) {
    for (std::int64_t r = 0; r < to.registers; ++r) to.at(r, l, w) = from.at(registerOf[r], l, w);
  });
  return to;
}

RegisterFile executeShuffles(const Conversion& plan, RegisterFile source) {
  RegisterFile reduced = emptyLike(plan.destination.withoutFreeBits(kRegister));
  for (auto [from, to] : plan.copies) {
    for (const ShuffleRound& round : plan.rounds) {
      forThreads(reduced, [&](std::int64_t l, std::int64_t w) {
        std::int64_t linear = w & ((std::int64_t{1} << plan.source.inputBits(kWarp)) - 1);  // a repeat's digit changes nothing
        std::int64_t sender = round.from.at(l, linear), store = round.store.at(l, linear), send = round.send.at(sender, linear);
        for (std::int64_t i = 0; i < plan.word; ++i) {
          reduced.at(to + store * plan.word + i, l, w) = source.at(from + send * plan.word + i, sender, w);
        }
      });
    }
  }
  return renumbered(reduced, emptyLike(plan.destination), plan.reducedRegister);
}

RegisterFile executeShared(const Conversion& plan, RegisterFile source) {
  const SharedLayout& layout = plan.shared->layout;
  LinearLayout reducedLayout = plan.destination.withoutFreeBits(kRegister);
  std::vector<std::int64_t> memory(layout.size(), -1);
  // A vector's address is that of its first register; alignment is what a vector access needs.
  auto address = [&](const LinearLayout& registers, const std::vector<std::int64_t>& group, std::int64_t l, std::int64_t w) {
    std::int64_t offset = layout.offsetOf(registers.apply({group.front(), l, w}));
    if (offset % std::ssize(group)) throw Error(ErrorCode::Internal, "a vector in shared memory is not aligned");
    return offset;
  };
  forThreads(source, [&](std::int64_t l, std::int64_t w) {
    for (const auto& group : plan.storeGroups) {
      std::int64_t offset = address(plan.source, group, l, w);
      for (std::size_t i = 0; i < group.size(); ++i) memory[offset + i] = source.at(group[i], l, w);
    }
  });
  RegisterFile loaded = emptyLike(reducedLayout);
  forThreads(loaded, [&](std::int64_t l, std::int64_t w) {
    for (const auto& group : plan.loadGroups) {
      std::int64_t offset = address(reducedLayout, group, l, w);
      for (std::size_t i = 0; i < group.size(); ++i) loaded.at(group[i], l, w) = memory[offset + i];
    }
  });
  return renumbered(loaded, emptyLike(plan.destination), plan.loadedRegister);
}

}  // namespace

bool ThreadMap::isConstant() const {
  auto zero = [](f2::Vector column) { return column == 0; };
  return std::ranges::all_of(lane, zero) && std::ranges::all_of(warp, zero);
}

std::optional<std::int64_t> ThreadMap::xorOfLane() const {
  bool identity = std::ranges::all_of(warp, [](f2::Vector column) { return column == 0; });
  for (std::size_t i = 0; i < lane.size(); ++i) identity = identity && lane[i] == f2::Vector{1} << i;
  if (!identity) return std::nullopt;
  return static_cast<std::int64_t>(constant);
}

RegisterFile symbolic(const LinearLayout& layout) {
  RegisterFile file = emptyLike(layout);
  Coords shape = layout.outputShape();
  forThreads(file, [&](std::int64_t l, std::int64_t w) {
    for (std::int64_t r = 0; r < file.registers; ++r) file.at(r, l, w) = flat(layout.apply({r, l, w}), shape);
  });
  return file;
}

RegisterFile execute(const Conversion& plan, RegisterFile source) {
  if (plan.kind == ConversionKind::Shuffles) return executeShuffles(plan, std::move(source));
  if (plan.kind == ConversionKind::Shared) return executeShared(plan, std::move(source));
  return renumbered(source, emptyLike(plan.destination), plan.sourceRegister);
}

}  // namespace fattn::layout
