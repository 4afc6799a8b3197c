// SPDX-License-Identifier: Apache-2.0
// Buffers in shared memory, and copies to them. A slot is bytes at the allocation's offset; buffers with the same offset share them.
#include <fmt/format.h>

#include <limits>

#include "compiler/gpu/interpreter/BufferPlaces.h"
#include "compiler/gpu/interpreter/Code.h"
#include "compiler/gpu/interpreter/WindowPlaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fattn::adversary {

namespace {

/// Where an element lies among those within the extents, row by row; -1 outside of them.
int64_t rowPlace(ArrayRef<int64_t> at, ArrayRef<int64_t> extents) {
  int64_t number = 0;
  for (auto [coordinate, extent] : llvm::zip_equal(at, extents)) {
    if (coordinate >= extent) return -1;
    number = number * extent + coordinate;
  }
  return number;
}

/// What nobody may rely on.
Element unspecified(Type element) {
  return isa<FloatType>(element) ? Element::number(std::numeric_limits<double>::quiet_NaN())
                                 : Element::integer(interpreter::wrapTo(0x5a5a5a5a5a5a5a5a, element));
}

Action loadBuffer(Flattener& to, tilegpu::LoadBufferOp op) {
  auto places = std::make_shared<const BufferPlaces>(op, op.getBuffer());
  auto layout = to.distribution(op.getResult());
  Type element = op.getResult().getType().getElementType();
  ArrayRef<int64_t> whole = op.getBuffer().getType().getShape();
  std::vector<int64_t> offsets;  // in the slot, of each element of the result
  for (int64_t e = 0; e < layout->elementCount(); ++e) {
    std::vector<int64_t> at = coordinates(e, layout->shape());
    for (auto [d, offset] : llvm::enumerate(op.getOffsets())) at[d] += offset;
    if (!op.getExtents().empty()) {
      int64_t place = rowPlace(at, op.getExtents());
      offsets.push_back(place < 0 ? place : places->offset(place));
      continue;
    }
    offsets.push_back(places->offset(elementAt(at, whole)));
  }
  return [=, slot = to.slot(op.getSlot()), into = to.slot(op.getResult())](Block& block, Warp& warp) mutable {
    std::optional<int64_t> start = places->slotStart(block, warp.values[slot].scalar.i);
    auto elements = layout->elements(warp.number);
    auto tile = std::make_shared<Elements>(elements.size(), interpreter::fromBits(0, element));
    for (std::size_t i = 0; start && i < elements.size(); ++i) {
      int64_t offset = offsets[static_cast<std::size_t>(elements[i])];
      if (offset < 0) {
        (*tile)[i] = unspecified(element);
        continue;
      }
      int64_t at = *start + offset;
      Access access = block.access(warp, op, warp.number * layout->lanes() + static_cast<int64_t>(i) / layout->registers());
      block.run.shared.shadow.read(at, places->elementBytes(), access, block.run.log);
      places->checkWritten(block, access, at);
      (*tile)[i] = interpreter::readBytes(block.run.shared.data + at, element);
    }
    warp.values[into].tile = std::move(tile);
  };
}

Action storeBuffer(Flattener& to, tilegpu::StoreBufferOp op) {
  auto places = std::make_shared<const BufferPlaces>(op, op.getBuffer());
  auto layout = to.distribution(op.getValue());
  Type element = op.getValue().getType().getElementType();
  std::vector<int64_t> offsets;  // of each element; -1 where it is not stored
  for (int64_t e = 0; e < layout->elementCount(); ++e) {
    int64_t place = op.getExtents().empty() ? e : rowPlace(coordinates(e, layout->shape()), op.getExtents());
    offsets.push_back(place < 0 ? place : places->offset(place));
  }
  return [=, slot = to.slot(op.getSlot()), from = to.slot(op.getValue())](Block& block, Warp& warp) mutable {
    std::optional<int64_t> start = places->slotStart(block, warp.values[slot].scalar.i);
    const Elements& values = *warp.values[from].tile;
    auto elements = layout->elements(warp.number);
    for (std::size_t i = 0; start && i < elements.size(); ++i) {
      int64_t offset = offsets[static_cast<std::size_t>(elements[i])];
      if (offset < 0) continue;
      int64_t at = *start + offset;
      Access access = block.access(warp, op, warp.number * layout->lanes() + static_cast<int64_t>(i) / layout->registers());
      block.run.shared.shadow.write(at, places->elementBytes(), access, block.run.log);
      warp.unfenced.emplace_back(at, places->elementBytes());
      interpreter::writeBytes(block.run.shared.data + at, values[i], element);
    }
  };
}

Action copyAsync(Flattener& to, tilegpu::CopyAsyncOp op) {
  auto places = std::make_shared<const BufferPlaces>(op, op.getBuffer());
  auto layout = to.distribution(op.getLayout()->getLayout());
  tile::BlockPtrType type = op.getPtr().getType();
  auto window = std::make_shared<const WindowPlaces>(type.getShape(), op.getBoundaryCheck(), tilegpu::extentsOf(op), type.getElementType());
  std::optional<int> pred;
  if (op.getPred()) pred = to.slot(op.getPred());
  return [=, from = to.slot(op.getPtr()), slot = to.slot(op.getSlot())](Block& block, Warp& warp) mutable {
    Copy copy{.issued = block.access(warp, op, warp.number * layout->lanes()), .moves = {}};
    std::optional<int64_t> start;
    if (!pred || warp.values[*pred].scalar.i) start = places->slotStart(block, warp.values[slot].scalar.i);
    auto elements = layout->elements(warp.number);
    for (std::size_t i = 0; start && i < elements.size(); ++i) {
      if (!layout->owns(warp.number, i)) continue;
      std::optional<Element> source = window->locate(block, op, *warp.values[from].window, elements[i]);
      if (source && !block.locate(op, *source, places->elementBytes())) source.reset();
      copy.moves.push_back({.thread = static_cast<int32_t>(layout->ownerThread(elements[i])),
                            .from = source.value_or(Element()),
                            .into = *start + places->offset(elements[i]),
                            .bytes = places->elementBytes()});
    }
    block.issue(warp, std::move(copy));
  };
}

}  // namespace

Action sharedAction(Flattener& to, Operation* op) {
  return llvm::TypeSwitch<Operation*, Action>(op)
      .Case<tilegpu::LoadBufferOp>([&](auto one) { return loadBuffer(to, one); })
      .Case<tilegpu::StoreBufferOp>([&](auto one) { return storeBuffer(to, one); })
      .Case<tilegpu::CopyAsyncOp>([&](auto one) { return copyAsync(to, one); })
      .Case<tilegpu::CopyWaitOp>([&](tilegpu::CopyWaitOp wait) -> Action {
        return [pending = static_cast<std::size_t>(wait.getPending().value_or(0))](Block& block, Warp& warp) {
          block.complete(warp, pending);
        };
      })
      .Case<tilegpu::DotAsyncOp>([&](auto one) { return dotAsync(to, one); })
      .Case<tilegpu::DotWaitOp>([&](auto one) { return dotWait(to, one); })
      .Case<tilegpu::FenceAsyncOp>([](auto) -> Action { return [](Block& block, Warp& warp) { block.fence(warp); }; })
      .Default([](Operation*) { return Action(); });
}

}  // namespace fattn::adversary
