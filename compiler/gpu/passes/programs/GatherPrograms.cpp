// SPDX-License-Identifier: Apache-2.0
// Lets programs that follow each other run on one die, where they share its cache:
//
//   func.func @k(...) {                             func.func @k(...) attributes {tilegpu.die_order = array<i64: 8, 0>, ...} {
//     %x = tile.program_id x                          %b = number of the block, along x first
//     (the program of %x)                     =>      %p = (%b mod 8) * (all / 8) + min(%b mod 8, all mod 8) + %b / 8
//   }                                                 (the program of %p's place)
//                                                   }
//
// runtime/base/DieOrder.h explains the formula, and what the attribute's numbers are. Programs are numbered along the axis first along
// which they differ in length: so each die gets short ones and long ones.
//
// Numbers have 32 bits; a launch with more blocks keeps their order. Last of the passes on tiles: those before take a program's id for what
// the grid says. Test: tests/lit/gpu/gather-programs.mlir.
#include <fmt/format.h>

#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/programs/AxisOfWork.h"
#include "fattn/Error.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "runtime/base/DieOrder.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_GATHERPROGRAMSPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

constexpr size_t kAxes = 3;
using Ids = std::array<Value, kAxes>;

/// Writes the formula down at the beginning of a function.
class Gathering {
 public:
  Gathering(func::FuncOp func, int64_t dies, size_t first)
      : b_(func.getLoc(), OpBuilder::atBlockBegin(&func.getBody().front())), first_(first) {
    dies_ = constant(dies);
    for (size_t axis = 0; axis < kAxes; ++axis) {
      block_[axis] = tile::ProgramIdOp::create(b_, b_.getI32Type(), static_cast<tile::Axis>(axis));
      grid_[axis] = tile::NumProgramsOp::create(b_, b_.getI32Type(), static_cast<tile::Axis>(axis));
    }
  }

  /// The place of the program that the block takes.
  Ids program() {
    Value fits = isCountable();
    Ids place = placeOf(number());
    for (size_t axis = 0; axis < kAxes; ++axis) place[axis] = arith::SelectOp::create(b_, fits, place[axis], block_[axis]);
    return place;
  }

 private:
  Value constant(int64_t value) { return arith::ConstantIntOp::create(b_, value, 32); }
  Value add(Value a, Value b) { return arith::AddIOp::create(b_, a, b); }
  Value times(Value a, Value b) { return arith::MulIOp::create(b_, a, b); }
  Value quotient(Value a, Value b) { return arith::DivUIOp::create(b_, a, b); }
  Value remainder(Value a, Value b) { return arith::RemUIOp::create(b_, a, b); }

  /// The program's number. Each operation has a statement: compilers evaluate the arguments of a call in orders of their own.
  Value number() {
    Value all = times(grid_[0], grid_[1]);
    all = times(all, grid_[2]);
    Value block = times(grid_[1], block_[2]);
    block = add(block_[1], block);
    block = times(grid_[0], block);
    block = add(block_[0], block);
    Value few = quotient(all, dies_), more = remainder(all, dies_);  // the first dies have one more
    Value die = remainder(block, dies_), turn = quotient(block, dies_);
    Value before = times(die, few), longer = arith::MinUIOp::create(b_, die, more);
    Value begin = add(before, longer);
    return add(begin, turn);
  }

  Ids placeOf(Value number) {
    Ids place;
    for (size_t turn = 0; turn < kAxes; ++turn) {
      const size_t axis = DieOrder::axisInTurn(first_, turn);
      const bool isLast = turn + 1 == kAxes;
      place[axis] = isLast ? number : remainder(number, grid_[axis]);
      if (!isLast) number = quotient(number, grid_[axis]);
    }
    return place;
  }

  /// Whether the blocks' numbers have 32 bits.
  Value isCountable() {
    Type wide = b_.getI64Type();
    Ids extents;
    for (size_t axis = 0; axis < kAxes; ++axis) extents[axis] = arith::ExtUIOp::create(b_, wide, grid_[axis]);
    Value most = arith::ConstantIntOp::create(b_, static_cast<int64_t>(DieOrder::kTooMany), 64);
    Value plane = times(extents[0], extents[1]);
    plane = arith::MinUIOp::create(b_, plane, most);
    Value all = times(plane, extents[2]);
    return arith::CmpIOp::create(b_, arith::CmpIPredicate::ult, all, most);
  }

  ImplicitLocOpBuilder b_;
  size_t first_;
  Value dies_;
  Ids block_, grid_;
};

/// Chips of several dies.
std::string machinesWithDies() {
  std::string names;
  for (std::string_view name : gpu::targetNames())
    if (gpu::findTarget(name).dies > 1) names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

class GatherProgramsPass : public impl::GatherProgramsPassBase<GatherProgramsPass> {
 public:
  void getDependentDialects(DialectRegistry& registry) const override { registerTileGpuDialects(registry); }
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration() || !func->hasAttr(kTargetAttr)) return;
    try {
      gather(func, targetOf(func));
    } catch (const Error& error) {
      func.emitError() << error.what();
      signalPassFailure();
    }
  }

 private:
  static void gather(func::FuncOp func, const gpu::Target& target) {
    if (target.dies == 1)
      throw Error(ErrorCode::InvalidArgument,
                  fmt::format("an order with `dies` gathers programs on dies, of which {} has one", target.name),
                  "leave `dies` out of the order; it is for " + machinesWithDies());
    SmallVector<tile::ProgramIdOp> ids;
    func.walk([&](tile::ProgramIdOp id) { ids.push_back(id); });
    if (ids.empty()) return;
    const auto first = static_cast<size_t>(axisOfWork(func));
    Gathering gathering(func, target.dies, first);
    const Ids program = gathering.program();
    for (tile::ProgramIdOp id : ids) {
      id.getResult().replaceAllUsesWith(program[static_cast<size_t>(id.getAxis())]);
      id.erase();
    }
    func->setAttr(kDieOrderAttr, DenseI64ArrayAttr::get(func.getContext(), {target.dies, static_cast<int64_t>(first)}));
  }
};

}  // namespace

}  // namespace fattn::tilegpu
