// SPDX-License-Identifier: Apache-2.0
// Operations that move elements around without computing. Each register of the result takes some register of the same thread, or, where
// the operation is a conversion, of the same warp; a layout that would need more is an error, as it is to the lowering.
#include "compiler/gpu/interpreter/Code.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fattn::adversary {

namespace {

/// The first register of each element of a warp that has it; -1 where none has.
std::vector<int32_t> firstHolders(const Distribution& tile, int64_t warp) {
  std::vector<int32_t> first(static_cast<std::size_t>(tile.elementCount()), -1);
  auto elements = tile.elements(warp);
  for (std::size_t i = elements.size(); i-- > 0;) first[static_cast<std::size_t>(elements[i])] = static_cast<int32_t>(i);
  return first;
}

}  // namespace

std::vector<std::vector<int32_t>> sourceRegisters(Operation* op, const Distribution& input, const Distribution& result, Reach reach,
                                                  llvm::function_ref<int64_t(int64_t)> map) {
  std::vector<int32_t> wanted(static_cast<std::size_t>(result.elementCount()));
  for (std::size_t e = 0; e < wanted.size(); ++e) wanted[e] = static_cast<int32_t>(map(static_cast<int64_t>(e)));
  std::vector<std::vector<int32_t>> all;
  // The register of this lane that holds an element, and the lane it was noted for.
  std::vector<std::pair<int64_t, int32_t>> own(static_cast<std::size_t>(input.elementCount()), {-1, -1});
  for (int64_t warp = 0; warp < result.warps(); ++warp) {
    std::vector<int32_t> anywhere = reach == Reach::Warp ? firstHolders(input, warp) : std::vector<int32_t>();
    auto from = input.elements(warp), into = result.elements(warp);
    std::vector<int32_t>& sources = all.emplace_back();
    for (int64_t lane = 0; lane < result.lanes(); ++lane) {
      int64_t thread = warp * result.lanes() + lane;
      for (int64_t r = input.registers(); r-- > 0;) {
        auto index = static_cast<std::size_t>(lane * input.registers() + r);
        own[static_cast<std::size_t>(from[index])] = {thread, static_cast<int32_t>(index)};
      }
      for (int64_t r = 0; r < result.registers(); ++r) {
        auto element =
            static_cast<std::size_t>(wanted[static_cast<std::size_t>(into[static_cast<std::size_t>(lane * result.registers() + r)])]);
        int32_t source = own[element].first == thread ? own[element].second : reach == Reach::Warp ? anywhere[element] : -1;
        if (source < 0)
          interpreter::fail(op, reach == Reach::Warp ? "needs data of other warps" : "needs data of other threads", ErrorCode::Unsupported);
        sources.push_back(source);
      }
    }
  }
  return all;
}

namespace {

Action rename(Flattener& to, Operation* op, Value input, Value result, Reach reach, llvm::function_ref<int64_t(int64_t)> map) {
  auto sources = std::make_shared<const std::vector<std::vector<int32_t>>>(
      sourceRegisters(op, *to.distribution(input), *to.distribution(result), reach, map));
  return [sources, from = to.slot(input), into = to.slot(result)](Block&, Warp& warp) {
    const Elements& source = *warp.values[from].tile;
    const std::vector<int32_t>& registers = (*sources)[static_cast<std::size_t>(warp.number) % sources->size()];
    auto tile = std::make_shared<Elements>();
    tile->reserve(registers.size());
    for (int32_t r : registers) tile->push_back(source[static_cast<std::size_t>(r)]);
    warp.values[into].tile = std::move(tile);
  };
}

/// rename() by coordinates.
Action renameCoordinates(Flattener& to, Operation* op, Value input, Value result,
                         llvm::function_ref<std::vector<int64_t>(std::vector<int64_t>)> map) {
  ArrayRef<int64_t> from = cast<RankedTensorType>(input.getType()).getShape(), into = cast<RankedTensorType>(result.getType()).getShape();
  return rename(to, op, input, result, Reach::Lane, [&](int64_t element) { return elementAt(map(coordinates(element, into)), from); });
}

Action splat(Flattener& to, tile::SplatOp op) {
  std::size_t size = to.distribution(op.getResult())->size();
  int from = to.slot(op.getInput()), into = to.slot(op.getResult());
  if (!tile::isTile(op.getInput().getType()))
    return [=](Block&, Warp& warp) { warp.values[into].tile = std::make_shared<const Elements>(size, warp.values[from].scalar); };
  return rename(to, op, op.getInput(), op.getResult(), Reach::Lane, [](int64_t) { return 0; });
}

Action unsplat(Flattener& to, tile::UnsplatOp op) {
  return [from = to.slot(op.getInput()), into = to.slot(op.getResult())](Block&, Warp& warp) {
    warp.values[into].scalar = warp.values[from].tile->front();
  };
}

Action arange(Flattener& to, tile::ArangeOp op) {
  auto layout = to.distribution(op.getResult());
  return [layout, start = static_cast<int64_t>(op.getStart()), into = to.slot(op.getResult())](Block&, Warp& warp) {
    auto tile = std::make_shared<Elements>();
    for (int32_t element : layout->elements(warp.number)) tile->push_back(Element::integer(start + element));
    warp.values[into].tile = std::move(tile);
  };
}

Action slice(Flattener& to, tilegpu::SliceOp op) {
  return renameCoordinates(to, op, op.getInput(), op.getResult(), [&](std::vector<int64_t> at) {
    for (auto [d, offset] : llvm::enumerate(op.getOffsets())) at[d] += offset;
    return at;
  });
}

Action trans(Flattener& to, tile::TransOp op) {
  return renameCoordinates(to, op, op.getInput(), op.getResult(), [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> source(at.size());
    for (auto [d, from] : llvm::enumerate(op.getPermutation())) source[static_cast<std::size_t>(from)] = at[d];
    return source;
  });
}

Action broadcast(Flattener& to, tile::BroadcastOp op) {
  ArrayRef<int64_t> shape = op.getInput().getType().getShape();
  return renameCoordinates(to, op, op.getInput(), op.getResult(), [&](std::vector<int64_t> at) {
    for (auto [d, size] : llvm::enumerate(shape))
      if (size == 1) at[d] = 0;
    return at;
  });
}

Action split(Flattener& to, tile::SplitOp op) {
  Action low = rename(to, op, op.getInput(), op.getLhs(), Reach::Lane, [](int64_t element) { return 2 * element; });
  Action high = rename(to, op, op.getInput(), op.getRhs(), Reach::Lane, [](int64_t element) { return 2 * element + 1; });
  return [low, high](Block& block, Warp& warp) {
    low(block, warp);
    high(block, warp);
  };
}

Action join(Flattener& to, tile::JoinOp op) {
  auto input = to.distribution(op.getLhs()), result = to.distribution(op.getResult());
  auto sources = std::make_shared<const std::vector<std::vector<int32_t>>>(
      sourceRegisters(op, *input, *result, Reach::Warp, [](int64_t element) { return element / 2; }));
  return [=, low = to.slot(op.getLhs()), high = to.slot(op.getRhs()), into = to.slot(op.getResult())](Block&, Warp& warp) {
    const Elements &left = *warp.values[low].tile, &right = *warp.values[high].tile;
    auto elements = result->elements(warp.number);
    auto tile = std::make_shared<Elements>();
    for (auto [i, r] : llvm::enumerate((*sources)[static_cast<std::size_t>(warp.number) % sources->size()]))
      tile->push_back((elements[i] % 2 ? right : left)[static_cast<std::size_t>(r)]);
    warp.values[into].tile = std::move(tile);
  };
}

}  // namespace

Action shapeAction(Flattener& to, Operation* op) {
  auto same = [](int64_t element) { return element; };
  return llvm::TypeSwitch<Operation*, Action>(op)
      .Case<tile::SplatOp>([&](auto one) { return splat(to, one); })
      .Case<tile::UnsplatOp>([&](auto one) { return unsplat(to, one); })
      .Case<tile::ArangeOp>([&](auto one) { return arange(to, one); })
      .Case<tile::ExpandDimsOp, tile::ReshapeOp>(
          [&](auto one) { return rename(to, one, one.getInput(), one.getResult(), Reach::Lane, same); })
      .Case<tilegpu::ConvertLayoutOp>([&](auto one) { return rename(to, one, one.getInput(), one.getResult(), Reach::Warp, same); })
      .Case<tile::BroadcastOp>([&](auto one) { return broadcast(to, one); })
      .Case<tile::TransOp>([&](auto one) { return trans(to, one); })
      .Case<tile::SplitOp>([&](auto one) { return split(to, one); })
      .Case<tile::JoinOp>([&](auto one) { return join(to, one); })
      .Case<tilegpu::SliceOp>([&](auto one) { return slice(to, one); })
      .Case<tile::AssumeDivisibleOp, tilegpu::GroupPartOp>([&](auto one) -> Action {
        return [from = to.slot(one.getInput()), into = to.slot(one.getResult())](Block&, Warp& warp) {
          warp.values[into] = warp.values[from];
        };
      })
      .Default([](Operation*) { return Action(); });
}

}  // namespace fattn::adversary
