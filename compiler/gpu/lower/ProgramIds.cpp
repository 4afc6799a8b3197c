// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/lower/ProgramIds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace fattn::gpu {

namespace {
enum Part : uint8_t { kX, kY, kZ, kNumber, kOdd };
}  // namespace

ProgramIds::ProgramIds(ImplicitLocOpBuilder& b, std::array<Value, 3> extents, Value block, Value blocks) : b_(b), extents_(extents) {
  Value plane = arith::MulIOp::create(b, extents[0], extents[1]);
  programs_ = arith::MulIOp::create(b, plane, extents[2]);
  Value down = arith::AddIOp::create(b, arith::ShLIOp::create(b, block, constant(1)), constant(1));  // behind an odd round
  Value up = arith::SubIOp::create(b, arith::ShLIOp::create(b, blocks, constant(1)), down);
  even_ = stepOf(up), odd_ = stepOf(down);
  Step start = stepOf(block);
  first_ = {start.x, start.y, start.z, block, constant(0)};
}

Value ProgramIds::constant(int32_t value) const { return arith::ConstantOp::create(b_, b_.getI32IntegerAttr(value)); }

ProgramIds::Step ProgramIds::stepOf(Value number) const {
  Value rows = arith::DivUIOp::create(b_, number, extents_[0]);
  Value planes = arith::DivUIOp::create(b_, rows, extents_[1]);
  Value x = arith::SubIOp::create(b_, number, arith::MulIOp::create(b_, rows, extents_[0]));
  Value y = arith::SubIOp::create(b_, rows, arith::MulIOp::create(b_, planes, extents_[1]));
  return {number, x, y, planes};
}

/// a + b below the extent, and what is carried (i32: 0 or 1).
std::pair<Value, Value> ProgramIds::sum(Value a, Value b, Value extent) const {
  Value whole = arith::AddIOp::create(b_, a, b);
  Value over = arith::CmpIOp::create(b_, arith::CmpIPredicate::uge, whole, extent);
  Value rest = arith::SelectOp::create(b_, over, arith::SubIOp::create(b_, whole, extent), whole);
  return {rest, arith::ExtUIOp::create(b_, b_.getI32Type(), over)};
}

Value ProgramIds::exists(const State& state) const {
  return arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, state[kNumber], programs_);
}

ProgramIds::State ProgramIds::next(const State& state) const {
  Value isOdd = arith::CmpIOp::create(b_, arith::CmpIPredicate::ne, state[kOdd], constant(0));
  auto step = [&](Value Step::* part) { return arith::SelectOp::create(b_, isOdd, odd_.*part, even_.*part).getResult(); };
  auto [x, row] = sum(state[kX], step(&Step::x), extents_[0]);
  // Both terms are below the extent, and their sum with a carry below twice the extent.
  auto [y, plane] = sum(arith::AddIOp::create(b_, state[kY], row), step(&Step::y), extents_[1]);
  Value z = arith::AddIOp::create(b_, arith::AddIOp::create(b_, state[kZ], step(&Step::z)), plane);
  Value number = arith::AddIOp::create(b_, state[kNumber], step(&Step::number));
  return {x, y, z, number, arith::XOrIOp::create(b_, state[kOdd], constant(1))};
}

}  // namespace fattn::gpu
