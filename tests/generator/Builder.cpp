// SPDX-License-Identifier: Apache-2.0
// The frame of a random program: arguments, arrays, loads, stores; and the choice of what comes next.
#include "tests/generator/Builder.h"

#include <fmt/format.h>

#include "compiler/interpreter/Number.h"

using namespace mlir;

namespace fattn::generator {

double unit(Type type) {
  int fraction = type.isF64() ? 53 : type.isF32() ? 24 : type.isF16() ? 11 : type.isBF16() ? 8 : isa<Float8E4M3FNType>(type) ? 4 : 3;
  return std::ldexp(1.0, -fraction);
}

Builder::Builder(MLIRContext& context, const std::string& name, Choices choices, const Options& options)
    : random_(std::move(choices)), options_(options), b_(&context), loc_(NameLoc::get(StringAttr::get(&context, name))) {
  program_.module = ModuleOp::create(loc_);
  program_.entry = name;
  program_.grid = {static_cast<int32_t>(random_.between(1, 3)), static_cast<int32_t>(random_.between(1, 2)), 1};
  b_.setInsertionPointToEnd(program_.module->getBody());
  function_ = func::FuncOp::create(b_, loc_, program_.entry, b_.getFunctionType({}, {}));
  function_->setAttr("tile.kernel", b_.getUnitAttr());
  b_.setInsertionPointToStart(function_.addEntryBlock());
  for (auto [i, axis] : llvm::enumerate(std::array{tile::Axis::x, tile::Axis::y}))
    id_[i] = arith::ExtSIOp::create(b_, loc_, b_.getI64Type(), tile::ProgramIdOp::create(b_, loc_, b_.getI32Type(), axis));
}

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

Value Builder::addArray(Type element, int64_t count, bool random, const Placement& placement) {
  Fill fill;
  if (random) fill.seed = random_.between(0, 255);
  Array array = makeArray(element, count, fill);
  array.misalignment = placement.misalignment;
  Value pointer = addArgument(tile::PtrType::get(element), std::move(array), random ? "in" : "out");
  if (placement.promised) function_.setArgAttr(cast<BlockArgument>(pointer).getArgNumber(), "tile.divisibility", b_.getI64IntegerAttr(16));
  return pointer;
}

Value Builder::addInteger(int64_t value, int64_t divisibility) {
  Value integer = addArgument(b_.getI64Type(), value, "n");
  if (divisibility > 1)
    function_.setArgAttr(cast<BlockArgument>(integer).getArgNumber(), "tile.divisibility", b_.getI64IntegerAttr(divisibility));
  return integer;
}

int64_t Builder::stride(int64_t columns, Type element, const Placement& placement) {
  int64_t elements = 16 / interpreter::bytesOf(element);
  if (placement.alignedRows) return llvm::alignTo(columns, elements) + elements * random_.between(0, 1);
  int64_t result = columns + random_.between(0, 3);
  return options_.alignment == Alignment::Unaligned && result % elements == 0 ? result + 1 : result;
}

/// Where the program's window starts in a dimension.
Value Builder::offset(int dim, int64_t size) { return arith::MulIOp::create(b_, loc_, id_[dim], constant(size)); }

/// An array whose extents are not multiples of the window, with a gap after each row. Windows of different programs do not overlap in
/// an output, and may start before or after the array in an input.
Value Builder::window(ArrayRef<int64_t> shape, Type element, bool output) {
  SmallVector<int64_t> extents;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    int64_t all = size * program_.grid[dim];
    extents.push_back(random_.between(std::max<int64_t>(1, all - size), output ? all : all + 3));
  }
  Placement placement = place(element);
  bool transposed = random_.chance(20);
  int64_t step = stride(extents[transposed ? 0 : 1], element, placement);
  Value base = addArray(element, step * extents[transposed ? 1 : 0], !output, placement);
  bool promised = placement.promised && placement.alignedRows;
  SmallVector<Value> strides = {addInteger(step, promised ? 16 / interpreter::bytesOf(element) : 1), constant(1)}, sizes, offsets;
  if (transposed) std::swap(strides[0], strides[1]);
  for (int dim = 0; dim < 2; ++dim) {
    sizes.push_back(addInteger(extents[dim]));
    offsets.push_back(offset(dim, shape[dim]));
    if (!output && random_.chance(20))
      offsets[dim] = arith::AddIOp::create(b_, loc_, offsets[dim], constant(random_.between(-shape[dim], shape[dim])));
  }
  return tile::MakeBlockPtrOp::create(b_, loc_, tile::BlockPtrType::get(shape, element), base, sizes, strides, offsets);
}

Tracked Builder::loadFrom(Value pointer) {
  auto type = cast<tile::BlockPtrType>(pointer.getType());
  Attribute padding;
  if (random_.chance(50)) {
    if (isa<FloatType>(type.getElementType()))
      padding = b_.getFloatAttr(type.getElementType(), random_.pick(std::array{-1.5, 0.5, 2.0}));
    else
      padding = b_.getIntegerAttr(type.getElementType(), random_.between(-8, 8));
  }
  SmallVector<int64_t> checked = random_.chance(50) ? SmallVector<int64_t>{0, 1} : SmallVector<int64_t>{1, 0};
  Value loaded = tile::LoadOp::create(b_, loc_, type.getTileType(), pointer, b_.getDenseI64ArrayAttr(checked), padding);
  return {loaded, isa<FloatType>(type.getElementType()) ? 2.0 : 8.0, 0};
}

Tracked Builder::load(ArrayRef<int64_t> shape, Type element) { return loadFrom(window(shape, element, false)); }

Tracked Builder::loadAnything() {
  std::array<int64_t, 2> shape = randomShape();
  return load(shape, random_.chance(75) ? randomFloat() : b_.getI32Type());
}

void Builder::store(Tracked tile) {
  Value pointer = window(tile.type().getShape(), tile.element(), true);
  tile::StoreOp::create(b_, loc_, pointer, tile.value, b_.getDenseI64ArrayAttr({0, 1}));
  Value base = pointer.getDefiningOp<tile::MakeBlockPtrOp>().getBase();
  std::get<Array>(program_.arguments[cast<BlockArgument>(base).getArgNumber()]).tolerance = tile.error;
}

Type Builder::randomFloat() {
  return random_.pick(std::array<Type, 4>{b_.getF32Type(), b_.getF32Type(), b_.getF16Type(), b_.getBF16Type()});
}

std::array<int64_t, 2> Builder::randomShape() {
  static constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 16, 17, 24, 32};
  return {random_.pick(kSizes), random_.pick(kSizes)};
}

void Builder::step() {
  Tracked x = any(random_.chance(80));
  switch (random_.between(0, 19)) {
    case 0:
    case 1:
      return add(loadAnything());
    case 2:
    case 3:
      return add(x.isFloat() ? unary(x) : integerBinary(x, x));
    case 4:
    case 5:
    case 6:
      return add(x.isFloat() ? binary(x, anyLike(x.type())) : integerBinary(x, anyLike(x.type())));
    case 7:
      return add(castTo(x, randomFloat()));
    case 8:
    case 9:
      return add(reduceAndBroadcast(x));
    case 10:
      return add(cumsum(x));
    case 11:
    case 12:
      return add(dot(any(true)));
    case 13:
      return add(transposed(x));
    case 14:
      return add(rearranged(x));
    case 15:
      return add(random_.chance(50) ? loop(x) : dotLoop());
    case 16:
      return add(random_.chance(50) ? branch(x, anyLike(x.type())) : whileLoop(x));
    case 17:
      return add(lazy(x));
    case 18:
      return add(select(condition(x.type()), x));
    default:
      return random_.chance(70) ? add(gathered()) : scatterAndCount(x);
  }
}

/// A value whose error bound is a great part of it would hide defects where it is stored.
void Builder::add(Tracked tile) {
  if (!tile.isFloat() || tile.error <= 0.05 * std::max(tile.bound, 0.01)) pool_.push_back(tile);
}

Program Builder::finish() {
  for (Choices::Repeat again(random_, 4, 14); again.next();) step();
  store(pool_.empty() ? any(true) : pool_.back());
  for (Choices::Repeat again(random_, 0, 2); again.next();) store(any(random_.chance(70)));
  func::ReturnOp::create(b_, loc_);
  program_.choices = random_.values();
  program_.spans = random_.spans();
  return std::move(program_);
}

Program generate(MLIRContext& context, uint64_t seed, const Options& options) {
  return Builder(context, fmt::format("random_{}", seed), Choices(seed), options).finish();
}

Program replay(MLIRContext& context, std::vector<uint64_t> choices, const Options& options) {
  return Builder(context, "replayed", Choices(std::move(choices)), options).finish();
}

Array makeArray(Type element, int64_t count, const Fill& fill) {
  Array array{.type = element, .bytes = std::vector<char>(count * interpreter::bytesOf(element)), .fill = fill};
  Random random(fill.seed.value_or(0));
  for (int64_t i = 0; fill.seed && i < count; ++i) {
    interpreter::Element value = isa<FloatType>(element)
                                     ? interpreter::Element::number(interpreter::roundTo(random.uniform(-2, 2), element))
                                     : interpreter::Element::integer(random.between(fill.low, fill.high));
    interpreter::writeBytes(array.bytes.data() + i * interpreter::bytesOf(element), value, element);
  }
  return array;
}

std::string compare(const Array& expected, const Array& actual) {
  int64_t size = interpreter::bytesOf(expected.type);
  for (size_t at = 0; at < expected.bytes.size(); at += size) {
    interpreter::Element want = interpreter::readBytes(expected.bytes.data() + at, expected.type),
                         got = interpreter::readBytes(actual.bytes.data() + at, expected.type);
    bool same = isa<FloatType>(expected.type) ? std::abs(want.f - got.f) <= expected.tolerance || (std::isnan(want.f) && std::isnan(got.f))
                                              : want.i == got.i;
    if (!same)
      return fmt::format("element {} of {} is {}, but must be {} up to {}", at / size, expected.bytes.size() / size,
                         interpreter::toText(got, expected.type), interpreter::toText(want, expected.type), expected.tolerance);
  }
  return "";
}

}  // namespace fattn::generator
