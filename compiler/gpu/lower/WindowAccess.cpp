// SPDX-License-Identifier: Apache-2.0
// Addresses, bounds and vectors of accesses to global memory.
#include "compiler/gpu/lower/WindowAccess.h"

#include <limits>

#include "compiler/layout/Queries.h"
#include "compiler/transforms/Divisibility.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace fattn::gpu {

using layout::kLane, layout::kWarp, layout::LinearLayout;

namespace {

/// The bits of coordinate d that these inputs can set.
int64_t bitsOf(const LinearLayout& layout, int d, std::initializer_list<std::string_view> inputs) {
  int shift = 0;
  for (int i = 0; i < d; ++i) shift += layout.outputs()[i].bits;
  layout::f2::Vector bits = 0;
  for (std::string_view in : inputs)
    for (layout::f2::Vector column : layout.columns(in)) bits |= column;
  return static_cast<int64_t>(bits >> shift & ((layout::f2::Vector{1} << layout.outputs()[d].bits) - 1));
}

Value extended(ImplicitLocOpBuilder& b, Value number) { return arith::ExtSIOp::create(b, b.getI64Type(), number); }

Value plus(ImplicitLocOpBuilder& b, Value left, Value right) {
  if (!left || !right) return left ? left : right;
  return arith::AddIOp::create(b, left, right);
}

Value times(ImplicitLocOpBuilder& b, Value number, Value stride) {
  if (getConstantIntValue(stride) == 1) return number;
  return arith::MulIOp::create(b, number, stride);
}

Value moved(ImplicitLocOpBuilder& b, Type unit, Value pointer, Value elements) {
  if (!elements) return pointer;
  return LLVM::GEPOp::create(b, pointer.getType(), unit, pointer, ArrayRef<LLVM::GEPArg>{elements});
}

}  // namespace

WindowAccess::WindowAccess(Lowering& to, tile::BlockPtrType type, const Window& window, ArrayRef<int64_t> checked,
                           ArrayRef<int64_t> extents, const LinearLayout& layout, bool lanesLast)
    : to_(to), window_(window), layout_(layout), unit_(to.b.getIntegerType(tilegpu::elementBits(type.getElementType()))) {
  ImplicitLocOpBuilder& b = to.b;
  Value ofThread, ofWindow;
  auto add = [&](int d) {
    if (!lanes_ || laneBits_[d] == 0) ofThread = plus(b, ofThread, times(b, extended(b, thread_[d]), window.strides[d]));
    ofWindow = plus(b, ofWindow, times(b, window.offsets[d], window.strides[d]));
  };
  for (int d = 0; d < type.getRank(); ++d) {
    threadBits_.push_back(bitsOf(layout, d, {kLane, kWarp}));
    laneBits_.push_back(bitsOf(layout, d, {kLane}));
    thread_.push_back(to.threadPart(layout, d));
    if (!lanesLast) add(d);
  }
  if (lanesLast) {
    splitOffLanes();
    for (int d = 0; d < type.getRank(); ++d) add(d);
  }
  origin_ = moved(b, unit_, moved(b, unit_, window.base, ofThread), ofWindow);
  for (int64_t d : checked) checked_.push_back({static_cast<int>(d), extents.empty() ? type.getShape()[d] : extents[d], true});
  for (auto [d, extent] : llvm::enumerate(extents)) {
    if (extent == type.getShape()[d]) continue;
    isPadded_ = true;
    if (!llvm::is_contained(checked, static_cast<int64_t>(d))) checked_.push_back({static_cast<int>(d), extent, false});
  }
}

/// Where lanes differ along dimensions of known stride only: what is left of an address is the same in all lanes of a warp, in scalar
/// registers, and instructions add the lanes' part, of 32 bits, by themselves.
void WindowAccess::splitOffLanes() {
  ImplicitLocOpBuilder& b = to_.b;
  constexpr int64_t kMost = int64_t{1} << 30;
  Value lanes;
  for (int d = 0; d < static_cast<int>(laneBits_.size()); ++d) {
    if (laneBits_[d] == 0) continue;
    const auto stride = getConstantIntValue(window_.strides[d]);
    const bool mixes = (threadBits_[d] & bitsOf(layout_, d, {layout::kRegister})) != 0;
    const bool repeats =
        llvm::any_of(layout_.repeats(), [&](const layout::Repeat& repeat) { return repeat.out == layout_.outputs()[d].name; });
    if (!stride || *stride <= 0 || *stride > kMost / (threadBits_[d] + 1) || mixes || repeats) return;
    const int64_t bytes = *stride * unit_.getIntOrFloatBitWidth() / 8;
    mostLanes_ += threadBits_[d] * bytes;
    lanes = plus(b, lanes, bytes == 1 ? thread_[d] : arith::MulIOp::create(b, thread_[d], to_.i32(bytes)).getResult());
  }
  if (mostLanes_ < kMost) lanes_ = lanes;
}

/// The coordinate of a register is compared as an immediate: sums with the thread's place would be kept in registers throughout a loop.
WindowAccess::Bounds WindowAccess::boundsOf(const Checked& checked) {
  auto [d, size, inArray] = checked;
  ImplicitLocOpBuilder& b = to_.b;
  if (!inArray) {
    Value last = to_.i32(size);
    return {.dim = d,
            .first = to_.i32(0),
            .last = last,
            .low = to_.i32(std::numeric_limits<int32_t>::min()),
            .high = arith::SubIOp::create(b, last, thread_[d])};
  }
  Value zero = to_.i64(0), whole = to_.i64(size);
  auto clamped = [&](Value number) -> Value {
    Value low = arith::MaxSIOp::create(b, number, zero);
    return arith::TruncIOp::create(b, b.getI32Type(), arith::MinSIOp::create(b, low, whole).getResult());
  };
  Bounds bounds{.dim = d, .first = {}, .last = {}, .low = {}, .high = {}};
  bounds.first = clamped(arith::SubIOp::create(b, zero, window_.offsets[d]));
  bounds.last = clamped(arith::SubIOp::create(b, window_.shape[d], window_.offsets[d]));
  bounds.high = arith::SubIOp::create(b, bounds.last, thread_[d]);
  // Where LLVM finds that the offset is not negative, `first` is 0 and the comparison with `low` always true.
  Value starts = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bounds.first, to_.i32(0));
  Value least = to_.i32(std::numeric_limits<int32_t>::min());
  bounds.low = arith::SelectOp::create(b, starts, least, arith::SubIOp::create(b, bounds.first, thread_[d]).getResult());
  return bounds;
}

/// How far the register's coordinate leads from the thread's place.
Value WindowAccess::product(int d, int64_t coordinate) {
  Value& cached = products_[{d, coordinate}];
  if (cached) return cached;
  ImplicitLocOpBuilder& b = to_.b;
  if (!overlaps(d, coordinate)) return cached = times(b, to_.i64(coordinate), window_.strides[d]);
  Value whole = to_.combine(layout_, d, thread_[d], coordinate);
  Value step = extended(b, arith::SubIOp::create(b, whole, thread_[d]));
  return cached = times(b, step, window_.strides[d]);
}

/// Rows that follow each other at one distance are reached from each other, so that one product serves them all.
Value WindowAccess::rowAddress(const layout::Coords& row) {
  if (llvm::all_of(row, [](int64_t coordinate) { return coordinate == 0; })) return origin_;
  Value& cached = rows_[row];
  if (cached) return cached;
  layout::Coords from = row;
  int d = 0;
  while (row[d] == 0) ++d;
  from[d] = 0;
  if (!overlaps(d, row[d]))
    for (const auto& [known, address] : rows_) {
      bool along = address && known[d] < row[d] && known[d] > from[d] && !overlaps(d, known[d]);
      for (int e = 0; e < static_cast<int>(row.size()); ++e) along = along && (e == d || known[e] == row[e]);
      if (along) from = known;
    }
  Value start = rowAddress(from),
        step = overlaps(d, row[d]) ? product(d, row[d]) : times(to_.b, to_.i64(row[d] - from[d]), window_.strides[d]);
  return rows_[row] = moved(to_.b, unit_, start, step);
}

std::pair<Value, int64_t> WindowAccess::rowOf(int64_t r) {
  layout::Coords coords = Lowering::registerPart(layout_, r), row = coords;
  int64_t constant = 0;
  for (auto [d, coordinate] : llvm::enumerate(coords)) {
    auto stride = getConstantIntValue(window_.strides[d]);
    if (!stride || overlaps(static_cast<int>(d), coordinate)) continue;
    row[d] = 0;
    constant += coordinate * *stride;
  }
  return {rowAddress(row), constant};
}

Value WindowAccess::atLane(Value row, int64_t constant) {
  ImplicitLocOpBuilder& b = to_.b;
  if (lanes_) row = moved(b, b.getI8Type(), row, arith::ExtUIOp::create(b, b.getI64Type(), lanes_));
  return constant ? moved(b, unit_, row, to_.i64(constant)) : row;
}

Value WindowAccess::address(int64_t r) {
  auto [row, constant] = rowOf(r);
  return atLane(row, constant);
}

Value WindowAccess::addressOrZeros(int64_t r, Value predicate, int64_t width) {
  const bool ofWarp = lanes_ && llvm::all_of(checked_, [&](const Checked& checked) { return laneBits_[checked.dim] == 0; });
  if (!ofWarp) return {};
  auto [row, constant] = rowOf(r);
  const Value zeros =
      constant < 0 ? Value() : to_.machine.zeros(to_.b, mostLanes_ + (constant + width) * unit_.getIntOrFloatBitWidth() / 8);
  if (!zeros) return {};
  return atLane(LLVM::SelectOp::create(to_.b, predicate, row, zeros), constant);
}

Value WindowAccess::insideOf(const Bounds& bounds, int64_t coordinate) {
  ImplicitLocOpBuilder& b = to_.b;
  bool mixes = overlaps(bounds.dim, coordinate);
  Value at = mixes ? to_.combine(layout_, bounds.dim, thread_[bounds.dim], coordinate) : to_.i32(coordinate);
  Value below = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at, mixes ? bounds.last : bounds.high);
  return both(b, below, arith::CmpIOp::create(b, arith::CmpIPredicate::sge, at, mixes ? bounds.first : bounds.low));
}

void WindowAccess::computeBounds() {
  if (bounds_.empty())
    for (const Checked& checked : checked_) bounds_.push_back(boundsOf(checked));
}

Value WindowAccess::inside(int64_t r) {
  computeBounds();
  layout::Coords coords = Lowering::registerPart(layout_, r);
  Value result;
  for (const Bounds& bounds : bounds_) {
    int64_t coordinate = coords[bounds.dim];
    Value& cached = inside_[{bounds.dim, coordinate}];
    if (!cached) cached = insideOf(bounds, coordinate);
    result = both(to_.b, result, cached);
  }
  return result;
}

Value WindowAccess::countInside(int64_t r, int d, int64_t width) {
  ImplicitLocOpBuilder& b = to_.b;
  Value first = inside(r), left = to_.i32(width);
  int64_t coordinate = Lowering::registerPart(layout_, r)[d];
  for (const Bounds& bounds : bounds_) {
    if (bounds.dim != d) continue;
    bool mixes = overlaps(d, coordinate);
    Value at = mixes ? to_.combine(layout_, d, thread_[d], coordinate) : to_.i32(coordinate);
    left = arith::MinSIOp::create(b, left, arith::SubIOp::create(b, mixes ? bounds.last : bounds.high, at).getResult());
  }
  return first ? arith::SelectOp::create(b, first, left, to_.i32(0)).getResult() : left;
}

Value WindowAccess::endsBetween(int d, int64_t width) {
  ImplicitLocOpBuilder& b = to_.b;
  Value over = arith::AndIOp::create(b, window_.shape[d], to_.i64(width - 1));
  Value even = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, over, to_.i64(0));
  int64_t size = int64_t{1} << layout_.outputs()[d].bits;
  for (const Checked& checked : checked_)
    if (checked.dim == d) size = checked.size;
  Value end = arith::AddIOp::create(b, window_.offsets[d], to_.i64(size));
  return arith::OrIOp::create(b, even, arith::CmpIOp::create(b, arith::CmpIPredicate::sle, end, window_.shape[d]));
}

Value WindowAccess::insideWhole() {
  ImplicitLocOpBuilder& b = to_.b;
  Value result;
  for (auto [d, size, inArray] : checked_) {
    Value starts = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, window_.offsets[d], to_.i64(0));
    Value end = arith::AddIOp::create(b, window_.offsets[d], to_.i64(size));
    result = both(b, result, both(b, starts, arith::CmpIOp::create(b, arith::CmpIPredicate::sle, end, window_.shape[d])));
  }
  return result;
}

WindowVectors windowVectors(Value blockPtr, ArrayRef<int64_t> checked, ArrayRef<int64_t> extents, const LinearLayout& layout,
                            int elementBits) {
  WindowVectors result;
  result.dim = transforms::contiguousDim(blockPtr).value_or(static_cast<int>(layout.outputs().size()) - 1);
  int bytes = static_cast<int>(transforms::accessBytes(blockPtr, extents));
  result.width = layout::vectorWidth(layout, result.dim, elementBits, bytes);
  result.groups = layout::memoryVectors(layout, result.dim, result.width);
  result.mayBeCut = transforms::mayEndWithin(blockPtr, checked, int64_t{result.width} * elementBits / 8);
  return result;
}

Type memoryType(Lowering& to, Type element, int count) {
  int bits = tilegpu::elementBits(element);
  if (bits < 32 && bits * count <= 32) return to.b.getIntegerType(static_cast<unsigned>(bits * count));
  if (bits < 32) return VectorType::get({bits * count / 32}, to.b.getI32Type());
  Type one = to.registerType(element);
  return count == 1 ? one : VectorType::get({count}, one);
}

Value toMemory(Lowering& to, ValueRange registers, Type element) {
  ImplicitLocOpBuilder& b = to.b;
  int count = static_cast<int>(registers.size());
  SmallVector<Value> values(registers);
  if (element.isInteger(1))
    for (Value& value : values) value = arith::ExtUIOp::create(b, b.getI8Type(), value);
  Type type = memoryType(to, element, count);
  if (count == 1) return values[0].getType() == type ? values[0] : LLVM::BitcastOp::create(b, type, values[0]).getResult();
  auto whole = VectorType::get({count}, values[0].getType());
  Value result = LLVM::PoisonOp::create(b, whole);
  for (auto [i, value] : llvm::enumerate(values)) result = LLVM::InsertElementOp::create(b, result, value, to.i32(static_cast<int64_t>(i)));
  return whole == type ? result : LLVM::BitcastOp::create(b, type, result).getResult();
}

Registers fromMemory(Lowering& to, Value value, Type element, int count) {
  ImplicitLocOpBuilder& b = to.b;
  Type one = element.isInteger(1) ? b.getI8Type() : to.registerType(element);
  Registers result;
  // Word by word: pairs that are packed again later then fold to the word.
  auto words = dyn_cast<VectorType>(value.getType());
  int64_t number = words ? words.getNumElements() : 1, each = count / number;
  for (int64_t w = 0; w < number; ++w) {
    Value word = words ? LLVM::ExtractElementOp::create(b, value, to.i32(w)).getResult() : value;
    if (each == 1) {
      result.push_back(word.getType() == one ? word : LLVM::BitcastOp::create(b, one, word).getResult());
      continue;
    }
    Value elements = LLVM::BitcastOp::create(b, VectorType::get({each}, one), word);
    for (int64_t i = 0; i < each; ++i) result.push_back(LLVM::ExtractElementOp::create(b, elements, to.i32(i)));
  }
  if (element.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, b.getI8IntegerAttr(0));
    for (Value& bit : result) bit = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit, zero);
  }
  return result;
}

Value isHolder(Lowering& to, const layout::Holders& holders) {
  ImplicitLocOpBuilder& b = to.b;
  Value result;
  auto require = [&](Value number) { result = both(b, result, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, to.i32(0))); };
  if (holders.lane) require(arith::AndIOp::create(b, to.lane, to.i32(holders.lane)));
  if (holders.warp) require(arith::AndIOp::create(b, to.warp, to.i32(holders.warp)));
  for (auto [below, count] : holders.repeats)
    require(arith::RemUIOp::create(b, arith::DivUIOp::create(b, to.warp, to.i32(below)).getResult(), to.i32(count)));
  return result;
}

Value both(ImplicitLocOpBuilder& b, Value left, Value right) {
  if (!left || !right) return left ? left : right;
  return arith::AndIOp::create(b, left, right);
}

}  // namespace fattn::gpu
