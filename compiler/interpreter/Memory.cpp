// SPDX-License-Identifier: Apache-2.0
// The grid, pointers and memory. Every access is checked against the bytes of the buffer it goes to.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/interpreter/Index.h"
#include "compiler/interpreter/Machine.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fattn::interpreter {

static Type pointeeOf(Type ptrLike) { return cast<tile::PtrType>(getElementTypeOrSelf(ptrLike)).getPointee(); }

static Element advance(Element pointer, int64_t count, int64_t bytes) {
  pointer.i = static_cast<int64_t>(static_cast<uint64_t>(pointer.i) + static_cast<uint64_t>(count) * static_cast<uint64_t>(bytes));
  return pointer;
}

void* Machine::access(Operation* op, const Element& pointer, Type type) {
  if (pointer.buffer < 0) fail(op, "uses a pointer that points at no buffer");
  const Buffer& buffer = buffers_[pointer.buffer];
  int64_t bytes = bytesOf(type);
  if (pointer.i < 0 || pointer.i > buffer.bytes - bytes)
    fail(op, fmt::format("accesses {} bytes at byte {} of a buffer of {} bytes (pointer argument {})", bytes, pointer.i, buffer.bytes,
                         pointer.buffer));
  return static_cast<char*>(buffer.data) + pointer.i;
}

std::optional<Element> Machine::locate(Operation* op, const Window& window, ArrayRef<int64_t> index, ArrayRef<int64_t> checked) {
  Type element = cast<tile::BlockPtrType>(op->getOperand(0).getType()).getElementType();
  uint64_t offset = 0;
  for (size_t dim = 0; dim < index.size(); ++dim) {
    auto at = static_cast<int64_t>(static_cast<uint64_t>(window.offsets[dim]) + static_cast<uint64_t>(index[dim]));
    if (at < 0 || at >= window.shape[dim]) {
      if (llvm::is_contained(checked, static_cast<int64_t>(dim))) return std::nullopt;
      fail(op, fmt::format("accesses index {} of dimension {} of an array of shape ({}), and boundary_check does not name that dimension",
                           at, dim, fmt::join(window.shape, ", ")));
    }
    offset += static_cast<uint64_t>(at) * static_cast<uint64_t>(window.strides[dim]);
  }
  return advance(window.base, static_cast<int64_t>(offset), bytesOf(element));
}

/// Adds a number to memory and gives what was there.
static Element addBytes(void* address, Element number, Type element) {
  Element old = readBytes(address, element);
  if (isa<FloatType>(element))
    number.f = roundTo(old.f + number.f, element);
  else
    number.i = wrapTo(static_cast<uint64_t>(old.i) + static_cast<uint64_t>(number.i), element);
  writeBytes(address, number, element);
  return old;
}

void Machine::execute(tile::LoadOp op) {
  const Window& window = *get(op.getPtr()).window;
  Type element = op.getType().getElementType();
  Element padding;
  if (isa<FloatType>(element)) padding = Element::number(0);
  if (std::optional<Attribute> attribute = op.getPadding()) {
    if (auto number = dyn_cast<FloatAttr>(*attribute)) padding = fromBits(number.getValue().bitcastToAPInt().getZExtValue(), element);
    if (auto number = dyn_cast<IntegerAttr>(*attribute)) padding = Element::integer(wrapTo(number.getValue().getZExtValue(), element));
  }
  Data result;
  forEachIndex(op.getType().getShape(), [&](ArrayRef<int64_t> index) {
    std::optional<Element> pointer = locate(op, window, index, op.getBoundaryCheck());
    result.elements.push_back(pointer ? readBytes(access(op, *pointer, element), element) : padding);
  });
  bind(op, std::move(result));
}

template <typename Op, typename Write>
void Machine::writeWindow(Op op, Write write) {
  const Window& window = *get(op.getPtr()).window;
  const Data& value = get(op.getValue());
  Type element = op.getValue().getType().getElementType();
  size_t next = 0;
  forEachIndex(op.getValue().getType().getShape(), [&](ArrayRef<int64_t> index) {
    const Element& number = value.elements[next++];
    if (std::optional<Element> pointer = locate(op, window, index, op.getBoundaryCheck()))
      write(access(op, *pointer, element), number, element);
  });
}

void Machine::execute(tile::StoreOp op) { writeWindow(op, writeBytes); }

void Machine::execute(tile::AccumulateOp op) { writeWindow(op, addBytes); }

void Machine::execute(tile::GatherOp op) {
  const Data& pointers = get(op.getPtr());
  Type element = pointeeOf(op.getPtr().getType());
  Data result;
  for (size_t i = 0; i < pointers.elements.size(); ++i) {
    if (!op.getMask() || get(op.getMask()).elements[i].i)
      result.elements.push_back(readBytes(access(op, pointers.elements[i], element), element));
    else if (op.getOther())
      result.elements.push_back(get(op.getOther()).elements[i]);
    else
      result.elements.push_back(fromBits(0, element));
  }
  bind(op.getResult(), std::move(result));
}

void Machine::execute(tile::ScatterOp op) {
  const Data& pointers = get(op.getPtr());
  Type element = pointeeOf(op.getPtr().getType());
  for (size_t i = 0; i < pointers.elements.size(); ++i)
    if (!op.getMask() || get(op.getMask()).elements[i].i)
      writeBytes(access(op, pointers.elements[i], element), get(op.getValue()).elements[i], element);
}

void Machine::execute(tile::AtomicAddOp op) {
  const Data& pointers = get(op.getPtr());
  Type element = pointeeOf(op.getPtr().getType());
  Data result;
  for (size_t i = 0; i < pointers.elements.size(); ++i) {
    if (op.getMask() && !get(op.getMask()).elements[i].i) {
      result.elements.push_back(fromBits(0, element));
      continue;
    }
    result.elements.push_back(addBytes(access(op, pointers.elements[i], element), get(op.getValue()).elements[i], element));
  }
  bind(op.getResult(), std::move(result));
}

void Machine::execute(tile::AddPtrOp op) {
  Data result = get(op.getPtr());
  const Data& offset = get(op.getOffset());
  int64_t bytes = bytesOf(pointeeOf(op.getPtr().getType()));
  for (auto [pointer, count] : llvm::zip_equal(result.elements, offset.elements)) pointer = advance(pointer, count.i, bytes);
  bind(op.getResult(), std::move(result));
}

bool Machine::executeMemory(Operation* op) {
  auto grid = [&](Value result, int32_t value) {
    bind(result, Data{{Element::integer(value)}, {}});
    return true;
  };
  return TypeSwitch<Operation*, bool>(op)
      .Case<tile::LoadOp, tile::StoreOp, tile::AccumulateOp, tile::GatherOp, tile::ScatterOp, tile::AtomicAddOp, tile::AddPtrOp>(
          [&](auto memory) {
            execute(memory);
            return true;
          })
      .Case([&](tile::ProgramIdOp id) { return grid(id, id_[static_cast<size_t>(id.getAxis())]); })
      .Case([&](tile::NumProgramsOp count) { return grid(count, grid_[static_cast<size_t>(count.getAxis())]); })
      .Case([&](tile::MakeBlockPtrOp make) {
        Window window{get(make.getBase()).scalar(), integers(make.getShape()), integers(make.getStrides()), integers(make.getOffsets())};
        bind(make, Data{{}, std::move(window)});
        return true;
      })
      .Case([&](tile::AdvanceOp move) {
        Data result = get(move.getPtr());
        for (auto [offset, delta] : llvm::zip_equal(result.window->offsets, integers(move.getDeltas())))
          offset = static_cast<int64_t>(static_cast<uint64_t>(offset) + static_cast<uint64_t>(delta));
        bind(move, std::move(result));
        return true;
      })
      .Default([](Operation*) { return false; });
}

}  // namespace fattn::interpreter
