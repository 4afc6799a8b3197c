// SPDX-License-Identifier: Apache-2.0
// The grid, pointers, and global memory. All threads load what their registers hold; the first thread that holds an element stores it, or
// adds it; a number is stored by the first thread of the block.
#include <fmt/format.h>

#include "compiler/gpu/interpreter/BufferPlaces.h"
#include "compiler/gpu/interpreter/Code.h"
#include "compiler/gpu/interpreter/WindowPlaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fattn::adversary {

WindowPlaces::WindowPlaces(ArrayRef<int64_t> shape, ArrayRef<int64_t> checked, ArrayRef<int64_t> extents, Type element)
    : rank_(shape.size()), bytes_(interpreter::bytesOf(element)), checked_(rank_), extents_(extents.empty() ? shape : extents) {
  for (int64_t d : checked) checked_[static_cast<std::size_t>(d)] = true;
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  for (int64_t e = 0; e < count; ++e)
    for (int64_t coordinate : coordinates(e, shape)) coordinates_.push_back(coordinate);
}

std::optional<Element> WindowPlaces::locate(Block& block, Operation* op, const Window& window, int32_t element) const {
  uint64_t offset = 0;
  for (std::size_t d = 0; d < rank_; ++d)
    if (coordinates_[static_cast<std::size_t>(element) * rank_ + d] >= extents_[d]) return std::nullopt;
  for (std::size_t d = 0; d < rank_; ++d) {
    auto at = static_cast<int64_t>(static_cast<uint64_t>(window.offsets[d]) +
                                   static_cast<uint64_t>(coordinates_[static_cast<std::size_t>(element) * rank_ + d]));
    if (at < 0 || at >= window.shape[d]) {
      if (!checked_[d])
        block.run.log.report(FaultKind::Bounds, nullptr, op, [&] {
          return fmt::format("{} accesses index {} of dimension {} of an array with {} there, and boundary_check does not name it",
                             describe(op), at, d, window.shape[d]);
        });
      return std::nullopt;
    }
    offset += static_cast<uint64_t>(at) * static_cast<uint64_t>(window.strides[d]);
  }
  Element pointer = window.base;
  pointer.i = static_cast<int64_t>(static_cast<uint64_t>(pointer.i) + offset * static_cast<uint64_t>(bytes_));
  return pointer;
}

namespace {

Type pointeeOf(Type ptrLike) { return cast<tile::PtrType>(getElementTypeOrSelf(ptrLike)).getPointee(); }

Element moved(Element pointer, int64_t count, int64_t bytes) {
  pointer.i = static_cast<int64_t>(static_cast<uint64_t>(pointer.i) + static_cast<uint64_t>(count) * static_cast<uint64_t>(bytes));
  return pointer;
}

int64_t threadOf(const Warp& warp, const Distribution& tile, std::size_t index) {
  return warp.number * tile.lanes() + static_cast<int64_t>(index) / tile.registers();
}

Action load(Flattener& to, tile::LoadOp op) {
  Type element = op.getType().getElementType();
  Element padding = interpreter::fromBits(0, element);
  if (std::optional<Attribute> attribute = op.getPadding()) {
    if (auto number = dyn_cast<FloatAttr>(*attribute))
      padding = interpreter::fromBits(number.getValue().bitcastToAPInt().getZExtValue(), element);
    if (auto number = dyn_cast<IntegerAttr>(*attribute))
      padding = Element::integer(interpreter::wrapTo(number.getValue().getZExtValue(), element));
  }
  auto layout = to.distribution(op.getResult());
  auto places = std::make_shared<const WindowPlaces>(op.getType().getShape(), op.getBoundaryCheck(), tilegpu::extentsOf(op), element);
  return [=, from = to.slot(op.getPtr()), into = to.slot(op.getResult())](Block& block, Warp& warp) mutable {
    const Window& window = *warp.values[from].window;
    auto elements = layout->elements(warp.number);
    auto tile = std::make_shared<Elements>();
    tile->reserve(elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i) {
      std::optional<Element> pointer = places->locate(block, op, window, elements[i]);
      tile->push_back(pointer ? block.load(block.access(warp, op, threadOf(warp, *layout, i)), *pointer, element) : padding);
    }
    warp.values[into].tile = std::move(tile);
  };
}

/// What a thread does with an element of a window that it owns.
using Write = void (*)(Block& block, const Access& access, const Element& place, const Element& value, Type type);

template <typename Op>
Action write(Flattener& to, Op op, Write one) {
  Type element = op.getValue().getType().getElementType();
  auto layout = to.distribution(op.getValue());
  auto places =
      std::make_shared<const WindowPlaces>(op.getValue().getType().getShape(), op.getBoundaryCheck(), tilegpu::extentsOf(op), element);
  return [=, pointer = to.slot(op.getPtr()), from = to.slot(op.getValue())](Block& block, Warp& warp) mutable {
    const Window& window = *warp.values[pointer].window;
    const Elements& values = *warp.values[from].tile;
    auto elements = layout->elements(warp.number);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (!layout->owns(warp.number, i)) continue;
      if (std::optional<Element> place = places->locate(block, op, window, elements[i]))
        one(block, block.access(warp, op, threadOf(warp, *layout, i)), *place, values[i], element);
    }
  };
}

template <typename Op>
Action store(Flattener& to, Op op) {
  return write(to, op, [](Block& block, const Access& access, const Element& place, const Element& value, Type type) {
    block.store(access, place, value, type);
  });
}

template <typename Op>
Action accumulate(Flattener& to, Op op) {
  return write(to, op, [](Block& block, const Access& access, const Element& place, const Element& value, Type type) {
    block.add(access, place, value, type, /*orders=*/false);
  });
}

/// The engine takes from the buffer what the warp's threads have laid there.
Action storeBoxes(Flattener& to, tilegpu::StoreBoxesOp op) {
  return [lay = layBoxes(to, op), write = op.getAdd() ? accumulate(to, op) : store(to, op)](Block& block, Warp& warp) mutable {
    lay(block, warp);
    write(block, warp);
  };
}

/// A tile's registers or a number, whichever an operand is.
const Element& elementOf(const Datum& datum, std::size_t i) { return datum.tile ? (*datum.tile)[i] : datum.scalar; }

Action gather(Flattener& to, tile::GatherOp op) {
  Type element = pointeeOf(op.getPtr().getType());
  std::optional<int> mask, other;
  if (op.getMask()) mask = to.slot(op.getMask());
  if (op.getOther()) other = to.slot(op.getOther());
  Element zero = interpreter::fromBits(0, element);
  auto layout = tile::isTile(op.getPtr().getType()) ? to.distribution(op.getPtr()) : nullptr;
  return [=, from = to.slot(op.getPtr()), into = to.slot(op.getResult())](Block& block, Warp& warp) mutable {
    auto one = [&](std::size_t i, int64_t thread) {
      if (mask && !elementOf(warp.values[*mask], i).i) return other ? elementOf(warp.values[*other], i) : zero;
      return block.load(block.access(warp, op, thread), elementOf(warp.values[from], i), element);
    };
    if (!layout) {
      // Every lane reads it; two stand for all.
      int64_t first = warp.number * block.lanes;
      one(0, first + 1);
      warp.values[into].scalar = one(0, first);
      return;
    }
    auto tile = std::make_shared<Elements>();
    for (std::size_t i = 0; i < layout->size(); ++i) tile->push_back(one(i, threadOf(warp, *layout, i)));
    warp.values[into].tile = std::move(tile);
  };
}

/// Calls visit(register, thread) for all that this warp writes of a tile, or of a number, unless a mask says no.
template <typename Visit>
void forEachWritten(const Warp& warp, const Distribution* layout, const std::optional<int>& mask, Visit visit) {
  if (!layout) {
    if (warp.number == 0) visit(std::size_t{0}, int64_t{0}, !mask || warp.values[*mask].scalar.i != 0);
    return;
  }
  for (std::size_t i = 0; i < layout->size(); ++i)
    if (layout->owns(warp.number, i)) visit(i, threadOf(warp, *layout, i), !mask || elementOf(warp.values[*mask], i).i != 0);
}

Action scatter(Flattener& to, tile::ScatterOp op) {
  Type element = pointeeOf(op.getPtr().getType());
  std::optional<int> mask;
  if (op.getMask()) mask = to.slot(op.getMask());
  auto layout = tile::isTile(op.getPtr().getType()) ? to.distribution(op.getPtr()) : nullptr;
  return [=, pointers = to.slot(op.getPtr()), values = to.slot(op.getValue())](Block& block, Warp& warp) mutable {
    forEachWritten(warp, layout.get(), mask, [&](std::size_t i, int64_t thread, bool wanted) {
      if (!wanted) return;
      block.store(block.access(warp, op, thread), elementOf(warp.values[pointers], i), elementOf(warp.values[values], i), element);
    });
  };
}

Action addPtr(Flattener& to, tile::AddPtrOp op) {
  int64_t bytes = interpreter::bytesOf(pointeeOf(op.getPtr().getType()));
  bool isTile = tile::isTile(op.getPtr().getType());
  return [=, pointer = to.slot(op.getPtr()), offset = to.slot(op.getOffset()), into = to.slot(op.getResult())](Block&, Warp& warp) {
    if (!isTile) {
      warp.values[into].scalar = moved(warp.values[pointer].scalar, warp.values[offset].scalar.i, bytes);
      return;
    }
    auto tile = std::make_shared<Elements>(*warp.values[pointer].tile);
    for (auto [element, count] : llvm::zip_equal(*tile, *warp.values[offset].tile)) element = moved(element, count.i, bytes);
    warp.values[into].tile = std::move(tile);
  };
}

std::vector<int64_t> numbers(const Warp& warp, const std::vector<int>& slots) {
  std::vector<int64_t> result;
  for (int slot : slots) result.push_back(warp.values[slot].scalar.i);
  return result;
}

Action makeBlockPtr(Flattener& to, tile::MakeBlockPtrOp op) {
  return [base = to.slot(op.getBase()), shape = to.slots(op.getShape()), strides = to.slots(op.getStrides()),
          offsets = to.slots(op.getOffsets()), into = to.slot(op.getResult())](Block&, Warp& warp) {
    warp.values[into].window = std::make_shared<const Window>(
        Window{warp.values[base].scalar, numbers(warp, shape), numbers(warp, strides), numbers(warp, offsets)});
  };
}

Action advance(Flattener& to, tile::AdvanceOp op) {
  return [from = to.slot(op.getPtr()), deltas = to.slots(op.getDeltas()), into = to.slot(op.getResult())](Block&, Warp& warp) {
    Window window = *warp.values[from].window;
    for (auto [offset, delta] : llvm::zip_equal(window.offsets, numbers(warp, deltas)))
      offset = static_cast<int64_t>(static_cast<uint64_t>(offset) + static_cast<uint64_t>(delta));
    warp.values[into].window = std::make_shared<const Window>(std::move(window));
  };
}

}  // namespace

Action layBoxes(Flattener& to, tilegpu::StoreBoxesOp op) {
  auto places = std::make_shared<const BufferPlaces>(op, op.getBuffer());
  auto layout = to.distribution(op.getValue());
  Type element = op.getValue().getType().getElementType();
  return [=, from = to.slot(op.getValue())](Block& block, Warp& warp) mutable {
    std::optional<int64_t> start = places->slotStart(block, 0);
    const Elements& values = *warp.values[from].tile;
    auto elements = layout->elements(warp.number);
    for (std::size_t i = 0; start && i < elements.size(); ++i) {
      int64_t at = *start + places->offset(elements[i]);
      block.run.shared.shadow.write(at, places->elementBytes(), block.access(warp, op, threadOf(warp, *layout, i)), block.run.log);
      interpreter::writeBytes(block.run.shared.data + at, values[i], element);
    }
  };
}

std::pair<Action, Action> atomicActions(Flattener& to, tile::AtomicAddOp op) {
  Type element = pointeeOf(op.getPtr().getType());
  std::optional<int> mask;
  if (op.getMask()) mask = to.slot(op.getMask());
  auto layout = tile::isTile(op.getPtr().getType()) ? to.distribution(op.getPtr()) : nullptr;
  std::size_t count = layout ? static_cast<std::size_t>(layout->elementCount()) : 1;
  int into = to.slot(op.getResult());
  auto elementNumber = [=](const Warp& warp, std::size_t i) {
    return layout ? static_cast<std::size_t>(layout->elements(warp.number)[i]) : std::size_t{0};
  };
  auto give = [=](Block& block, Warp& warp) {
    const Elements& old = block.exchanged[op];
    if (!layout) {
      warp.values[into].scalar = old[0];
      return;
    }
    auto tile = std::make_shared<Elements>();
    for (std::size_t i = 0; i < layout->size(); ++i) tile->push_back(old[elementNumber(warp, i)]);
    warp.values[into].tile = std::move(tile);
  };
  bool orders = op.getOrder() != tile::MemoryOrder::relaxed;
  bool used = !op.getResult().use_empty(), exchanges = used && (!layout || layout->hasCopies());
  auto add = [=, pointers = to.slot(op.getPtr()), values = to.slot(op.getValue())](Block& block, Warp& warp) mutable {
    Elements& old = block.exchanged[op];
    old.resize(count);
    forEachWritten(warp, layout.get(), mask, [&](std::size_t i, int64_t thread, bool wanted) {
      old[elementNumber(warp, i)] = wanted ? block.add(block.access(warp, op, thread), elementOf(warp.values[pointers], i),
                                                       elementOf(warp.values[values], i), element, orders)
                                           : interpreter::fromBits(0, element);
    });
    if (used && !exchanges) give(block, warp);
  };
  return {add, exchanges ? Action(give) : Action()};
}

Action globalAction(Flattener& to, Operation* op) {
  return llvm::TypeSwitch<Operation*, Action>(op)
      .Case<tile::LoadOp>([&](auto one) { return load(to, one); })
      .Case<tile::StoreOp>([&](auto one) { return store(to, one); })
      .Case<tilegpu::StoreBoxesOp>([&](auto one) { return storeBoxes(to, one); })
      .Case<tile::AccumulateOp>([&](auto one) { return accumulate(to, one); })
      .Case<tile::GatherOp>([&](auto one) { return gather(to, one); })
      .Case<tile::ScatterOp>([&](auto one) { return scatter(to, one); })
      .Case<tile::AddPtrOp>([&](auto one) { return addPtr(to, one); })
      .Case<tile::MakeBlockPtrOp>([&](auto one) { return makeBlockPtr(to, one); })
      .Case<tile::AdvanceOp>([&](auto one) { return advance(to, one); })
      .Case<tile::ProgramIdOp>([&](tile::ProgramIdOp one) -> Action {
        return [into = to.slot(one), axis = static_cast<std::size_t>(one.getAxis())](Block& block, Warp& warp) {
          warp.values[into].scalar = Element::integer(block.id[axis]);
        };
      })
      .Case<tile::NumProgramsOp>([&](tile::NumProgramsOp one) -> Action {
        return [into = to.slot(one), axis = static_cast<std::size_t>(one.getAxis())](Block& block, Warp& warp) {
          warp.values[into].scalar = Element::integer(block.run.grid[axis]);
        };
      })
      .Default([](Operation*) { return Action(); });
}

}  // namespace fattn::adversary
