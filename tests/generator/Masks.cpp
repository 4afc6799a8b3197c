// SPDX-License-Identifier: Apache-2.0
// Masks: comparisons of rows with columns in both directions, windows, and sums that wrap around.
#include <limits>

#include "tests/generator/Builder.h"

using namespace mlir;

namespace fattn::generator {

using Comparison = arith::CmpIPredicate;

Value Builder::numbers(Shape shape, unsigned dim, Value start, Type integer) {
  bool early = random_.chance(50);  // the start is added to the line, or to the tile
  auto line = RankedTensorType::get({shape[dim]}, integer), type = RankedTensorType::get(shape, integer);
  Value offset = start;
  if (start && start.getType() != integer) offset = arith::TruncIOp::create(b_, loc_, integer, start);
  auto shifted = [&](Value value) -> Value {
    if (!offset) return value;
    return arith::AddIOp::create(b_, loc_, value, tile::SplatOp::create(b_, loc_, value.getType(), offset));
  };
  Value result = tile::ArangeOp::create(b_, loc_, line, 0);
  if (early) result = shifted(result);
  for (int64_t other = 0; other < static_cast<int64_t>(shape.size()); ++other)
    if (other != dim) result = tile::ExpandDimsOp::create(b_, loc_, result, other);
  if (result.getType() != type) result = tile::BroadcastOp::create(b_, loc_, type, result);
  return early ? result : shifted(result);
}

/// column + a < row + b, or another comparison, or both ends of a window.
Value Builder::comparison(Shape shape, Value row, Value column) {
  Type integer = b_.getIntegerType(random_.chance(30) ? 64 : 32);
  int64_t most = std::max(shape[0], shape[1]);
  Value columns = numbers(shape, 1, column, integer), rows = numbers(shape, 0, row, integer);
  auto type = cast<TensorType>(columns.getType());
  if (random_.chance(30)) rows = splat(static_cast<double>(random_.between(0, most)), type).value;
  if (random_.chance(40)) {
    Value shift = splat(static_cast<double>(random_.between(-most / 2, most)), type).value;
    rows = arith::AddIOp::create(b_, loc_, rows, shift);
  }
  Comparison predicate = random_.pick({Comparison::sle, Comparison::sge, Comparison::slt, Comparison::sgt, Comparison::ne});
  Value result = arith::CmpIOp::create(b_, loc_, predicate, columns, rows);
  bool below = predicate == Comparison::sle || predicate == Comparison::slt;
  note(below ? "mask.below" : predicate == Comparison::ne ? "mask.other" : "mask.above");
  if (!random_.chance(25)) return result;
  Value width = splat(static_cast<double>(random_.between(1, most)), type).value;
  Value edge = below ? arith::SubIOp::create(b_, loc_, rows, width).getResult() : arith::AddIOp::create(b_, loc_, rows, width).getResult();
  Value inner = arith::CmpIOp::create(b_, loc_, below ? Comparison::sgt : Comparison::slt, columns, edge);
  result = arith::AndIOp::create(b_, loc_, result, inner);
  note("mask.window");
  return result;
}

/// column + j < a + b where one side or both leave the range of the integer: integers wrap around.
Value Builder::wrappedComparison(Shape shape, Value row, Value column) {
  unsigned bits = random_.chance(30) ? 64 : 32;
  int64_t last = bits == 64 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max();
  Type integer = b_.getIntegerType(bits);
  unsigned dim = random_.between(0, 1);
  Value at = numbers(shape, dim, dim == 0 ? row : column, integer);
  auto filled = [&](Value scalar) -> Value { return tile::SplatOp::create(b_, loc_, at.getType(), scalar); };
  Value limit = addInteger(last - random_.between(0, 3), 1, bits), more = addInteger(random_.between(0, 20), 1, bits);
  Value sum;
  if (random_.chance(50)) {  // the tile's side wraps for some elements
    at = arith::AddIOp::create(b_, loc_, at, filled(limit));
    sum = filled(addInteger(random_.chance(50) ? last : 5 - last, 1, bits));
  } else {
    sum = filled(arith::AddIOp::create(b_, loc_, limit, more));
  }
  Comparison predicate = random_.pick({Comparison::slt, Comparison::sge, Comparison::sle, Comparison::sgt});
  Value result = arith::CmpIOp::create(b_, loc_, predicate, at, sum);
  note("mask.wraps");
  return result;
}

Value Builder::condition(Shape shape, Value row, Value column) {
  switch (random_.weighted(std::array{60, 15, 25})) {
    case 0:
      return comparison(shape, row, column);
    case 1:
      return wrappedComparison(shape, row, column);
    default: {
      Type element = randomFloat();
      Tracked fresh = load(shape, element);
      Value limit = splat(0.25, fresh.type()).value;
      return arith::CmpFOp::create(b_, loc_, random_.pick({arith::CmpFPredicate::OLT, arith::CmpFPredicate::UGE}), fresh.value, limit);
    }
  }
}

Value Builder::rowCondition(int64_t rows) {
  if (random_.chance(30)) {
    Value id = id_[random_.between(0, 1)];
    return arith::CmpIOp::create(b_, loc_, Comparison::eq, id, constant(random_.between(0, 1)));
  }
  auto line = RankedTensorType::get({rows}, b_.getI32Type());
  if (random_.chance(30)) {  // a condition that depends on data, different from warp to warp
    Tracked data = load({rows}, b_.getI32Type());
    return arith::CmpIOp::create(b_, loc_, Comparison::sgt, data.value, splat(static_cast<double>(random_.between(-4, 9)), line).value);
  }
  auto limit = static_cast<double>(random_.between(0, rows));
  Value row = numbers({rows}, 0, {}, b_.getI32Type()), first = splat(limit, line).value;
  return arith::CmpIOp::create(b_, loc_, Comparison::sge, row, first);
}

}  // namespace fattn::generator
