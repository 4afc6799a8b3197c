// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/lower/ProgramIds.h"

#include "compiler/gpu/dialect/TileGpu.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fattn::gpu {

namespace {
enum Part : uint8_t { kNumber, kPlace, kIsSecond };
}  // namespace

ProgramIds::ProgramIds(ImplicitLocOpBuilder& b, std::array<Value, 3> extents, tile::Axis along, Value block, Value blocks)
    : b_(b), extents_(extents), blocks_(blocks), first_{block, block, constant(0)} {
  for (size_t turn = 0; turn < turns_.size(); ++turn) turns_[turn] = tilegpu::axisInTurn(along, turn);
  Pairs all = pairs(constant(0));
  reciprocals_ = {reciprocalOf(all.places[turns_[0]]), reciprocalOf(all.places[turns_[1]])};
}

Value ProgramIds::constant(int32_t value) const { return arith::ConstantOp::create(b_, b_.getI32IntegerAttr(value)); }

ProgramIds::Pairs ProgramIds::pairs(Value zero) const {
  auto extent = [&](int axis) { return arith::AddIOp::create(b_, extents_[axis], zero).getResult(); };
  Pairs result{.places = {extent(0), extent(1), extent(2)}, .seconds = {}};
  Value paired = arith::CmpIOp::create(b_, arith::CmpIPredicate::ugt, product(result.places), blocks_);
  Value all = result.places[turns_[0]];
  Value half = arith::ShRUIOp::create(b_, arith::AddIOp::create(b_, all, constant(1)), constant(1));
  result.places[turns_[0]] = arith::SelectOp::create(b_, paired, half, all);
  result.seconds = arith::SelectOp::create(b_, paired, all, constant(0));
  return result;
}

Value ProgramIds::product(const std::array<Value, 3>& factors) const {
  return arith::MulIOp::create(b_, factors[0], arith::MulIOp::create(b_, factors[1], factors[2]));
}

Value ProgramIds::exists(const State& state) const {
  return arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, state[kNumber], product(pairs(constant(0)).places));
}

Value ProgramIds::reciprocalOf(Value divisor) const { return arith::DivUIOp::create(b_, constant(-1), divisor); }

// With R = (2^32 - 1) / d, rounded down, d R is more than 2^32 - 1 - d: the upper word of n R is the quotient or one less.
std::array<Value, 2> ProgramIds::divide(Value number, Value divisor, Value reciprocal) const {
  Value least = arith::MulUIExtendedOp::create(b_, number, reciprocal).getHigh();
  auto restOf = [&](Value quotient) { return arith::SubIOp::create(b_, number, arith::MulIOp::create(b_, quotient, divisor)).getResult(); };
  Value isLess = arith::CmpIOp::create(b_, arith::CmpIPredicate::uge, restOf(least), divisor);
  Value quotient = arith::SelectOp::create(b_, isLess, arith::AddIOp::create(b_, least, constant(1)), least);
  return {quotient, restOf(quotient)};
}

ProgramIds::Program ProgramIds::program(const State& state) const {
  // A number below 2^31 has no sign, which code generators do not know: so they compute what follows from it for each program.
  Pairs all = pairs(arith::ShRUIOp::create(b_, state[kNumber], constant(31)));
  auto [row, at] = divide(state[kNumber], all.places[turns_[0]], reciprocals_[0]);
  auto [last, middle] = divide(row, all.places[turns_[1]], reciprocals_[1]);
  Value mirrored = arith::SubIOp::create(b_, arith::SubIOp::create(b_, extents_[turns_[0]], constant(1)), at);
  Value wasFirst = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, state[kIsSecond], constant(0));
  // The second of a pair lies behind its first: at < extent - 1 - at.
  Value twice = arith::AddIOp::create(b_, arith::ShLIOp::create(b_, at, constant(1)), constant(1));
  Value hasSecond = arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, twice, all.seconds);
  Value stays = arith::AndIOp::create(b_, wasFirst, hasSecond);
  // The place in the round moves by one, and from the last place back to the first.
  Value nextPlace = arith::AddIOp::create(b_, state[kPlace], constant(1));
  Value wraps = arith::CmpIOp::create(b_, arith::CmpIPredicate::uge, nextPlace, blocks_);
  Value step = arith::SelectOp::create(b_, wraps, constant(1), arith::AddIOp::create(b_, blocks_, constant(1)));
  Value number = arith::AddIOp::create(b_, state[kNumber], step);
  Value place = arith::SelectOp::create(b_, wraps, constant(0), nextPlace);
  auto choose = [&](Part part, Value moved) { return arith::SelectOp::create(b_, stays, state[part], moved).getResult(); };
  std::array<Value, 3> ids;
  ids[turns_[0]] = arith::SelectOp::create(b_, wasFirst, at, mirrored), ids[turns_[1]] = middle, ids[turns_[2]] = last;
  return {.ids = ids, .next = {choose(kNumber, number), choose(kPlace, place), arith::ExtUIOp::create(b_, b_.getI32Type(), stays)}};
}

}  // namespace fattn::gpu
