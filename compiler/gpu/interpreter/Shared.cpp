// SPDX-License-Identifier: Apache-2.0
// Buffers in shared memory, and copies to them. A slot is bytes at the allocation's offset; buffers with the same offset share them.
#include <fmt/format.h>

#include <limits>

#include "compiler/gpu/interpreter/Code.h"
#include "compiler/gpu/interpreter/WindowPlaces.h"
#include "fattn/Error.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fattn::adversary {

namespace {

tilegpu::AllocOp allocationOf(Operation* op) {
  Value buffer = llvm::TypeSwitch<Operation*, Value>(op)
                     .Case<tilegpu::LoadBufferOp, tilegpu::StoreBufferOp, tilegpu::CopyAsyncOp>([](auto one) { return one.getBuffer(); })
                     .Default([](Operation*) { return Value(); });
  return buffer ? buffer.getDefiningOp<tilegpu::AllocOp>() : tilegpu::AllocOp();
}

/// Where the elements of a buffer's slots lie.
class BufferPlaces {
 public:
  explicit BufferPlaces(Operation* op) : op_(op), alloc_(allocationOf(op)) {
    if (!alloc_) interpreter::fail(op, "needs a buffer that is the result of tilegpu.alloc");
    if (!alloc_.getOffset()) interpreter::fail(alloc_, "needs an offset, which -tilegpu-allocate-shared sets");
    tilegpu::BufferType type = alloc_.getResult().getType();
    start_ = static_cast<int64_t>(*alloc_.getOffset());
    slots_ = type.getSlots();
    slotBytes_ = type.getSlotBytes();
    elementBytes_ = type.getElementBytes();
    Distribution order(
        type.getLayout().getLayout().renamed(layout::kOffset, layout::kRegister).asTile(static_cast<int>(type.getShape().size())));
    offsets_.resize(static_cast<std::size_t>(order.elementCount()));
    for (auto [offset, element] : llvm::enumerate(order.elements(0)))
      offsets_[static_cast<std::size_t>(element)] = static_cast<int64_t>(offset) * elementBytes_;
  }

  /// Where the slot begins; nothing, and a fault, where there is no such slot.
  std::optional<int64_t> slotStart(Block& block, int64_t slot) const {
    int64_t start = start_ + slot * slotBytes_;
    if (slot >= 0 && slot < slots_ && start + slotBytes_ <= block.run.shared.bytes) return start;
    block.run.log.report(FaultKind::Bounds, nullptr, op_, [&] {
      if (slot < 0 || slot >= slots_) return fmt::format("{} accesses slot {} of a buffer of {} slots", describe(op_), slot, slots_);
      return fmt::format("{} accesses bytes up to {} of shared memory, of which the kernel has {}", describe(op_), start + slotBytes_,
                         block.run.shared.bytes);
    });
    return std::nullopt;
  }
  int64_t offset(int64_t element) const { return offsets_[static_cast<std::size_t>(element)]; }
  int64_t elementBytes() const { return elementBytes_; }
  tilegpu::AllocOp alloc() const { return alloc_; }

 private:
  Operation* op_;
  tilegpu::AllocOp alloc_;
  int64_t start_ = 0, slots_ = 0, slotBytes_ = 0, elementBytes_ = 0;
  std::vector<int64_t> offsets_;
};

/// What is read has been written, for this buffer.
void checkWritten(Block& block, const Access& access, const BufferPlaces& places, int64_t at) {
  const Access* writer = block.run.shared.shadow.writer(at, block.firstPhase);
  if (writer && allocationOf(writer->op) == places.alloc()) return;
  block.run.log.report(FaultKind::Unwritten, writer ? writer->op : nullptr, access.op, [&] {
    std::string who = writer ? describe(writer->op) + " has written for another buffer" : "nobody has written";
    return fmt::format("{} in warp {} reads byte {} of shared memory, which {}", describe(access.op), block.run.log.warpOf(access.thread),
                       at, who);
  });
}

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
  auto places = std::make_shared<const BufferPlaces>(op);
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
      checkWritten(block, access, *places, at);
      (*tile)[i] = interpreter::readBytes(block.run.shared.data + at, element);
    }
    warp.values[into].tile = std::move(tile);
  };
}

Action storeBuffer(Flattener& to, tilegpu::StoreBufferOp op) {
  auto places = std::make_shared<const BufferPlaces>(op);
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
      interpreter::writeBytes(block.run.shared.data + at, values[i], element);
    }
  };
}

Action copyAsync(Flattener& to, tilegpu::CopyAsyncOp op) {
  auto places = std::make_shared<const BufferPlaces>(op);
  auto layout = to.distribution(op.getLayout().getLayout());
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
      .Default([](Operation*) { return Action(); });
}

}  // namespace fattn::adversary
