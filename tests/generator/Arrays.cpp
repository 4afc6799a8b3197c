// SPDX-License-Identifier: Apache-2.0
// Arguments, arrays and the ways into them: block pointers, and tiles of pointers.
#include <fmt/format.h>

#include "compiler/interpreter/Number.h"
#include "tests/generator/Builder.h"

using namespace mlir;

namespace fattn::generator {

Value Builder::constant(int64_t value, unsigned bits) {
  return arith::ConstantOp::create(b_, loc_, b_.getIntegerAttr(b_.getIntegerType(bits), value));
}

Value Builder::addArgument(Type type, std::variant<Array, int64_t> contents, const std::string& name) {
  unsigned index = function_.getNumArguments();
  auto attributes = b_.getDictionaryAttr(b_.getNamedAttr("tile.name", b_.getStringAttr(fmt::format("{}{}", name, index))));
  if (failed(function_.insertArgument(index, type, attributes, loc_))) std::abort();
  program_.arguments.push_back(std::move(contents));
  return function_.getArgument(index);
}

Value Builder::addInteger(int64_t value, int64_t divisibility, unsigned bits) {
  Value integer = addArgument(b_.getIntegerType(bits), value, "n");
  if (divisibility > 1)
    function_.setArgAttr(cast<BlockArgument>(integer).getArgNumber(), "tile.divisibility", b_.getI64IntegerAttr(divisibility));
  return integer;
}

Builder::Placement Builder::place(Type element) {
  int64_t elements = 16 / interpreter::bytesOf(element);
  auto behind = [&] { return elements > 1 ? random_.between(1, elements - 1) * interpreter::bytesOf(element) : 0; };
  if (options_.alignment == Alignment::Aligned) return {0, true, true};
  if (options_.alignment == Alignment::Unaligned) return {behind(), false, false};
  switch (random_.weighted(std::array{40, 15, 20, 25})) {
    case 0:
      return {0, true, true};
    case 1:
      return {0, true, false};
    case 2:
      return {0, false, random_.chance(50)};
    default:
      return {behind(), random_.chance(50), false};
  }
}

Fill Builder::randomFill() {
  Fill fill{.seed = random_.between(0, 255)};
  fill.coarse = !random_.chance(35);
  return fill;
}

Value Builder::addArray(Type element, int64_t count, const Fill& fill, const Placement& placement) {
  Array array = makeArray(element, count, fill);
  array.misalignment = placement.misalignment;
  Value pointer = addArgument(tile::PtrType::get(element), std::move(array), fill.seed ? "in" : "out");
  if (placement.promised) function_.setArgAttr(cast<BlockArgument>(pointer).getArgNumber(), "tile.divisibility", b_.getI64IntegerAttr(16));
  return pointer;
}

Value Builder::programNumber() {
  Value row = arith::MulIOp::create(b_, loc_, id_[1], constant(program_.grid[0]));
  return arith::AddIOp::create(b_, loc_, row, id_[0]);
}

/// The columns, or the rows of a transposed array, lie apart by a stride with a gap.
Builder::View Builder::view(Type element, Shape extents, bool random, Whose whose) {
  Placement placement = place(element);
  int64_t vector = 16 / interpreter::bytesOf(element);
  bool turned = extents.size() == 2 && random_.chance(20);
  View result;
  result.element = element;
  result.extents.assign(extents.begin(), extents.end());
  result.strides = {1};
  int64_t count = extents[0];
  if (extents.size() == 2) {
    int64_t gap = random_.between(0, 3), step = extents[turned ? 0 : 1] + gap;
    if (placement.alignedRows) step = llvm::alignTo(step - gap, vector) + (gap == 3 ? vector : 0);
    if (options_.alignment == Alignment::Unaligned && step % vector == 0) ++step;
    count = step * extents[turned ? 1 : 0];
    result.strides = {step, 1};
  }
  if (whose == Whose::Own && placement.alignedRows) count = llvm::alignTo(count, vector);
  int64_t parts = whose == Whose::Own ? program_.grid[0] * program_.grid[1] : 1;
  Fill fill = random ? randomFill() : Fill{};
  result.coarse = !random || fill.coarse;
  Value pointer = addArray(element, count * parts, fill, placement);
  result.argument = cast<BlockArgument>(pointer).getArgNumber();
  result.base = pointer;
  if (parts > 1) {
    Value number = programNumber(), size = constant(count);
    result.start = arith::MulIOp::create(b_, loc_, number, size);
    result.base = tile::AddPtrOp::create(b_, loc_, pointer, result.start);
  }
  bool promised = placement.promised && placement.alignedRows, fixed = random_.chance(25);
  for (int64_t step : result.strides)
    result.strideValues.push_back(step == 1 || fixed ? constant(step) : addInteger(step, promised ? vector : 1));
  if (turned) {
    std::swap(result.strides[0], result.strides[1]);
    std::swap(result.strideValues[0], result.strideValues[1]);
  }
  for (int64_t size : extents) result.sizeValues.push_back(fixed ? constant(size) : addInteger(size));
  return result;
}

Builder::View Builder::reshaped(const View& flat, Shape extents, bool turned) {
  View result = flat;
  result.extents.assign(extents.begin(), extents.end());
  result.strides = {1};
  if (extents.size() == 2) result.strides = {turned ? 1 : extents[1], turned ? extents[0] : 1};
  result.strideValues.clear(), result.sizeValues.clear();
  for (int64_t step : result.strides) result.strideValues.push_back(constant(step));
  for (int64_t size : extents) result.sizeValues.push_back(constant(size));
  return result;
}

SmallVector<Value> Builder::windowOffsets(Shape shape) {
  SmallVector<Value> result;
  if (shape.size() == 1) {
    Value number = programNumber(), size = constant(shape[0]);
    return {arith::MulIOp::create(b_, loc_, number, size)};
  }
  for (auto [dim, size] : llvm::enumerate(shape)) result.push_back(arith::MulIOp::create(b_, loc_, id_[dim], constant(size)));
  return result;
}

Value Builder::blockPointer(const View& view, Shape shape, ArrayRef<Value> offsets) {
  auto type = tile::BlockPtrType::get(shape, view.element);
  if (!random_.chance(40)) return tile::MakeBlockPtrOp::create(b_, loc_, type, view.base, view.sizeValues, view.strideValues, offsets);
  SmallVector<Value> zeros(shape.size(), constant(0));
  Value first = tile::MakeBlockPtrOp::create(b_, loc_, type, view.base, view.sizeValues, view.strideValues, zeros);
  return tile::AdvanceOp::create(b_, loc_, first, offsets);
}

Value Builder::pointers(const View& view, Shape shape, ArrayRef<Value> offsets) {
  Value start = view.base, index;
  for (auto [offset, step] : llvm::zip_equal(offsets, view.strideValues))
    start = tile::AddPtrOp::create(b_, loc_, start, arith::MulIOp::create(b_, loc_, offset, step));
  Type integer = b_.getIntegerType(random_.chance(25) ? 64 : 32);
  for (auto [dim, step] : llvm::enumerate(view.strides)) {
    Value part = numbers(shape, dim, {}, integer);
    if (step != 1) part = arith::MulIOp::create(b_, loc_, part, splat(static_cast<double>(step), cast<TensorType>(part.getType())).value);
    index = index ? arith::AddIOp::create(b_, loc_, index, part).getResult() : part;
  }
  auto type = RankedTensorType::get(shape, view.base.getType());
  return tile::AddPtrOp::create(b_, loc_, tile::SplatOp::create(b_, loc_, type, start), index);
}

Value Builder::inBounds(const View& view, Shape shape, ArrayRef<Value> offsets) {
  Value all;
  for (auto [dim, offset] : llvm::enumerate(offsets)) {
    Value at = numbers(shape, dim, offset, b_.getI64Type()), zero = splat(0, cast<TensorType>(at.getType())).value;
    Value size = tile::SplatOp::create(b_, loc_, at.getType(), view.sizeValues[dim]);
    Value low = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::sge, at, zero);
    Value high = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, at, size);
    Value both = arith::AndIOp::create(b_, loc_, low, high);
    all = all ? arith::AndIOp::create(b_, loc_, all, both).getResult() : both;
  }
  return all;
}

Attribute Builder::randomPadding(Type element) {
  if (!random_.chance(40)) return {};
  if (isa<FloatType>(element)) return b_.getFloatAttr(element, random_.pick({0.5, -1.5, 2.0}));
  return b_.getIntegerAttr(element, random_.between(-8, 8));
}

SmallVector<int64_t> Builder::checkedDims(unsigned rank, bool inside) {
  SmallVector<int64_t> dims;
  for (unsigned dim = 0; dim < rank; ++dim)
    if (!inside || random_.chance(40)) dims.push_back(dim);
  if (dims.size() == 2 && random_.chance(20)) std::swap(dims[0], dims[1]);
  return dims;
}

/// What arrays hold; paddings are multiples of a half.
Tracked Builder::fresh(Type element, bool coarse) {
  bool isFloat = isa<FloatType>(element);
  return {{}, isFloat ? 2.0 : 8.0, 0, isFloat && coarse ? 0.25 : 0};
}

Tracked Builder::loaded(Value value, bool coarse) {
  spend(cast<TensorType>(value.getType()).getNumElements());
  Tracked result = fresh(getElementTypeOrSelf(value.getType()), coarse);
  result.value = value;
  return result;
}

Tracked Builder::loadThrough(Value pointer, bool coarse, bool inside) {
  auto type = cast<tile::BlockPtrType>(pointer.getType());
  Attribute padding = randomPadding(type.getElementType());
  SmallVector<int64_t> checked = checkedDims(type.getShape().size(), inside);
  return loaded(tile::LoadOp::create(b_, loc_, type.getTileType(), pointer, b_.getDenseI64ArrayAttr(checked), padding), coarse);
}

Tracked Builder::loadFrom(const View& view, Shape shape, ArrayRef<Value> offsets, bool inside) {
  if (!random_.chance(15)) return loadThrough(blockPointer(view, shape, offsets), view.coarse, inside);
  Value mask = inside && random_.chance(50) ? Value() : inBounds(view, shape, offsets);
  Value at = pointers(view, shape, offsets), other;
  auto type = RankedTensorType::get(shape, view.element);
  if (Attribute padding = mask ? randomPadding(view.element) : Attribute())
    other = arith::ConstantOp::create(b_, loc_, DenseElementsAttr::get(type, padding));
  Value result = tile::GatherOp::create(b_, loc_, type, at, mask, other);
  note("load.pointers");
  return loaded(result, view.coarse);
}

void Builder::tolerate(unsigned argument, double error) {
  double& tolerance = std::get<Array>(program_.arguments[argument]).tolerance;
  tolerance = std::max(tolerance, error);
}

void Builder::storeTo(const View& view, Tracked tile, ArrayRef<Value> offsets, bool inside) {
  Shape shape = tile.type().getShape();
  spend(tile.type().getNumElements());
  tolerate(view.argument, tile.error);
  if (!random_.chance(15)) {
    Value pointer = blockPointer(view, shape, offsets);
    SmallVector<int64_t> checked = checkedDims(shape.size(), inside);
    tile::StoreOp::create(b_, loc_, pointer, tile.value, b_.getDenseI64ArrayAttr(checked));
    return;
  }
  Value mask = inside && random_.chance(50) ? Value() : inBounds(view, shape, offsets);
  Value at = pointers(view, shape, offsets);
  tile::ScatterOp::create(b_, loc_, at, tile.value, mask);
  note("store.pointers");
}

/// A window of a new array whose extents are not multiples of the window. It may start before or after the array.
Tracked Builder::load(Shape shape, Type element) {
  SmallVector<int64_t> extents;
  bool inside = random_.chance(50);
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t all = size * (shape.size() == 1 ? program_.grid[0] * program_.grid[1] : program_.grid[dim]);
    extents.push_back(inside ? all : random_.between(std::max<int64_t>(1, all - size), all + 3));
  }
  View from = view(element, extents, true, Whose::Shared);
  SmallVector<Value> offsets = windowOffsets(shape);
  for (auto [offset, size] : llvm::zip_equal(offsets, shape))
    if (!inside && random_.chance(20)) offset = arith::AddIOp::create(b_, loc_, offset, constant(random_.between(-size, size)));
  return loadFrom(from, shape, offsets, inside);
}

Tracked Builder::loadAnything() {
  std::array<int64_t, 2> shape = randomShape();
  Type integers[] = {b_.getI32Type(), b_.getI64Type(), b_.getI8Type(), b_.getI16Type()};
  Type element = random_.chance(75) ? randomFloat() : integers[random_.weighted(std::array{58, 14, 14, 14})];
  Tracked result = load(shape, element);
  if (element.isInteger(16)) note("load.i16");
  return result;
}

Value Builder::scalar(Type element, int64_t low, int64_t high) {
  Fill fill = randomFill();
  fill.low = low, fill.high = high;
  Placement placement = place(element);
  Value numbers = addArray(element, program_.grid[0] * program_.grid[1], fill, placement), mine = programNumber();
  Value at = tile::AddPtrOp::create(b_, loc_, numbers, mine);
  return tile::GatherOp::create(b_, loc_, element, at, Value(), Value());
}

/// Windows of different programs do not overlap.
void Builder::store(Tracked tile) {
  Shape shape = tile.type().getShape();
  SmallVector<int64_t> extents;
  bool inside = random_.chance(50);
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t all = size * (shape.size() == 1 ? program_.grid[0] * program_.grid[1] : program_.grid[dim]);
    extents.push_back(inside ? all : random_.between(std::max<int64_t>(1, all - size), all));
  }
  View to = view(tile.element(), extents, false, Whose::Shared);
  SmallVector<Value> offsets = windowOffsets(shape);
  storeTo(to, tile, offsets, inside);
  note(shape.size() == 1 ? "store.vector" : "store");
}

}  // namespace fattn::generator
