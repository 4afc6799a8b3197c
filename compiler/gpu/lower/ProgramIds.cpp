// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/lower/ProgramIds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fattn::gpu {

namespace {
enum Part : uint8_t { kX, kY, kZ, kNumber, kPlace, kIsSecond };
}  // namespace

ProgramIds::ProgramIds(ImplicitLocOpBuilder& b, std::array<Value, 3> extents, Value block, Value blocks)
    : b_(b), programsX_(extents[0]), blocks_(blocks), places_(extents) {
  Value planes = arith::MulIOp::create(b, extents[1], extents[2]);
  Value paired = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, arith::MulIOp::create(b, extents[0], planes), blocks);
  Value half = arith::ShRUIOp::create(b, arith::AddIOp::create(b, extents[0], constant(1)), constant(1));
  places_[0] = arith::SelectOp::create(b, paired, half, extents[0]);
  seconds_ = arith::SelectOp::create(b, paired, extents[0], constant(0));
  count_ = arith::MulIOp::create(b, places_[0], planes);
  further_ = stepOf(arith::AddIOp::create(b, blocks, constant(1)));
  back_ = stepOf(constant(1));
  Step start = stepOf(block);
  first_ = {start.x, start.y, start.z, block, block, constant(0)};
}

Value ProgramIds::constant(int32_t value) const { return arith::ConstantOp::create(b_, b_.getI32IntegerAttr(value)); }

ProgramIds::Step ProgramIds::stepOf(Value number) const {
  Value rows = arith::DivUIOp::create(b_, number, places_[0]);
  Value planes = arith::DivUIOp::create(b_, rows, places_[1]);
  Value x = arith::SubIOp::create(b_, number, arith::MulIOp::create(b_, rows, places_[0]));
  Value y = arith::SubIOp::create(b_, rows, arith::MulIOp::create(b_, planes, places_[1]));
  return {number, x, y, planes};
}

/// a + b below the extent, and what is carried (i32: 0 or 1).
std::pair<Value, Value> ProgramIds::sum(Value a, Value b, Value extent) const {
  Value whole = arith::AddIOp::create(b_, a, b);
  Value over = arith::CmpIOp::create(b_, arith::CmpIPredicate::uge, whole, extent);
  Value rest = arith::SelectOp::create(b_, over, arith::SubIOp::create(b_, whole, extent), whole);
  return {rest, arith::ExtUIOp::create(b_, b_.getI32Type(), over)};
}

Value ProgramIds::exists(const State& state) const { return arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, state[kNumber], count_); }

std::array<Value, 3> ProgramIds::ids(const State& state) const {
  Value mirrored = arith::SubIOp::create(b_, arith::SubIOp::create(b_, programsX_, constant(1)), state[kX]);
  Value isSecond = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, state[kIsSecond], constant(0));
  return {arith::SelectOp::create(b_, isSecond, mirrored, state[kX]), state[kY], state[kZ]};
}

ProgramIds::State ProgramIds::next(const State& state) const {
  // The second of a pair lies behind its first: x < X - 1 - x.
  Value twice = arith::AddIOp::create(b_, arith::ShLIOp::create(b_, state[kX], constant(1)), constant(1));
  Value hasSecond = arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, twice, seconds_);
  Value wasFirst = arith::CmpIOp::create(b_, arith::CmpIPredicate::eq, state[kIsSecond], constant(0));
  Value stays = arith::AndIOp::create(b_, wasFirst, hasSecond);
  // The place in the round moves by one, and from the last place back to the first.
  Value nextPlace = arith::AddIOp::create(b_, state[kPlace], constant(1));
  Value wraps = arith::CmpIOp::create(b_, arith::CmpIPredicate::uge, nextPlace, blocks_);
  auto step = [&](Value Step::* part) { return arith::SelectOp::create(b_, wraps, back_.*part, further_.*part).getResult(); };
  auto [x, row] = sum(state[kX], step(&Step::x), places_[0]);
  // Both terms are below the extent, and their sum with a carry below twice the extent.
  auto [y, plane] = sum(arith::AddIOp::create(b_, state[kY], row), step(&Step::y), places_[1]);
  Value z = arith::AddIOp::create(b_, arith::AddIOp::create(b_, state[kZ], step(&Step::z)), plane);
  Value number = arith::AddIOp::create(b_, state[kNumber], step(&Step::number));
  Value place = arith::SelectOp::create(b_, wraps, constant(0), nextPlace);
  auto choose = [&](Part part, Value moved) { return arith::SelectOp::create(b_, stays, state[part], moved).getResult(); };
  return {choose(kX, x),           choose(kY, y),         choose(kZ, z),
          choose(kNumber, number), choose(kPlace, place), arith::ExtUIOp::create(b_, b_.getI32Type(), stays)};
}

}  // namespace fattn::gpu
