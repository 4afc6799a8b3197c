// SPDX-License-Identifier: Apache-2.0
// Who a warp is, what its rows are, and what groups of warps agree on beside memory: the birth of barrier objects, and turns.
//
// A turn is a named barrier of a group's own: the group before arrives when it passes on its turn, this one waits. An arrival that meets
// another one for which nobody has waited would end the barrier by itself, and the wait behind it would be one turn late.
#include <fmt/format.h>

#include "compiler/gpu/interpreter/Code.h"

using namespace mlir;

namespace fattn::adversary {
namespace {

int64_t groupWarps(Operation* op) { return tilegpu::targetOf(op).warpGroup.value_or(tilegpu::warpsOf(op)); }
int64_t groups(Operation* op) { return tilegpu::warpsOf(op) / groupWarps(op); }

Awaited waitForTurn(tilegpu::TurnWaitOp op) {
  int64_t size = groupWarps(op), count = groups(op);
  return {[=](Block& block, Warp& warp) {
            int64_t before = (warp.number / size + count - 1) % count;
            for (int64_t other = before * size; other < (before + 1) * size; ++other)
              if (block.turns[other].passed <= block.turns[warp.number].taken) return false;
            return true;
          },
          [](Block& block, Warp& warp) { ++block.turns[warp.number].taken; }};
}

Awaited passTurn(tilegpu::TurnPassOp op) {
  int64_t size = groupWarps(op), count = groups(op);
  bool opens = op.getFirst();
  return {{}, [=](Block& block, Warp& warp) {
            int64_t group = warp.number / size, next = (group + 1) % count;
            if (opens && next != 0) return;
            uint64_t passed = ++block.turns[warp.number].passed;
            for (int64_t other = next * size; other < (next + 1) * size; ++other)
              if (passed > block.turns[other].taken + 1)
                return block.run.log.report(FaultKind::Undefined, nullptr, op, [&] {
                  return fmt::format("{} in warp {} passes on a turn before the next group has taken the one before", describe(op),
                                     warp.number);
                });
          }};
}

}  // namespace

std::optional<Awaited> roleAction(Flattener& to, Operation* op) {
  if (auto wait = dyn_cast<tilegpu::TurnWaitOp>(op)) return waitForTurn(wait);
  if (auto pass = dyn_cast<tilegpu::TurnPassOp>(op)) return passTurn(pass);
  if (isa<tilegpu::InitBarriersOp>(op))
    return Awaited{{}, [](Block& block, Warp&) { block.barriersMade = std::min(block.barriersMade, block.run.phase); }};
  if (auto test = dyn_cast<tilegpu::IsCopierOp>(op))
    return Awaited{{}, [result = to.slot(test.getResult()), first = tilegpu::warpsOf(op), thread = test.getThread()](Block&, Warp& warp) {
                     warp.apart = warp.number >= first;
                     const bool is = warp.apart && (!thread || warp.number - first == static_cast<int64_t>(*thread));
                     warp.values[result].scalar = Element::integer(is ? -1 : 0);
                   }};
  if (auto least = dyn_cast<tilegpu::WarpLeastOp>(op))
    return Awaited{{}, [from = to.slot(least.getInput()), result = to.slot(least.getResult())](Block&, Warp& warp) {
                     const Elements& tile = *warp.values[from].tile;
                     auto smaller = [](const Element& a, const Element& b) { return a.i < b.i; };
                     warp.values[result].scalar = *std::ranges::min_element(tile, smaller);
                   }};
  if (auto last = dyn_cast<tilegpu::GroupLastOp>(op))
    return Awaited{{}, [byGroup = last.byGroup(), size = groupWarps(op), result = to.slot(last.getResult())](Block&, Warp& warp) {
                     warp.values[result].scalar = Element::integer(byGroup[static_cast<std::size_t>(warp.number / size)]);
                   }};
  return std::nullopt;
}

}  // namespace fattn::adversary
