// SPDX-License-Identifier: Apache-2.0
// tile.cumsum within a warp.
//
// The number of an element in its line is written in digits, each chosen by registers or by one bit of the lane. From the lowest digit on,
// the totals of blocks of elements are combined to those of larger blocks, and each block learns what comes before it in the larger one:
//
//   registers: 1 -> 1, 2 -> 2; lane: 1 -> 4, 2 -> 8                  16 elements, 4 in each of 4 lanes
//     s0 = x0, s1 = s0 + x1, s2 = s1 + x2, s3 = s2 + x3              running sums of the registers, s3 is the total
//     p = shfl.bfly s3, 1;  e = lane & 1 ? p : 0;  t = s3 + p        one shuffle a lane bit
//     q = shfl.bfly t, 2;   e += lane & 2 ? q : 0
//     s0 += e, ...
//
// So a line over all lanes costs five shuffles, and an addition or two for each register. The attribute tilegpu.exclusive leaves the
// element itself out of its sum. Test: tests/lit/gpu/lower-cumsum.mlir.
#include <map>

#include "compiler/gpu/lower/Lowering.h"
#include "compiler/layout/Queries.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

using layout::Coords, layout::kRegister, layout::LinearLayout, layout::ScanDigit;

/// By the place of a register; no value stands for zero.
using Sums = std::map<Coords, Value>;

class Scan {
 public:
  Scan(Lowering& to, tile::CumsumOp op, std::vector<ScanDigit> digits)
      : to_(to),
        op_(op),
        layout_(*tilegpu::layoutOf(op.getInput())),
        digits_(std::move(digits)),
        isInclusive_(!op->hasAttr(tilegpu::kExclusiveAttr)) {}

  void run() {
    const Registers source = to_.registers(op_.getInput());
    Sums elements;
    for (size_t r = 0; r < source.size(); ++r) elements.try_emplace(place(static_cast<int64_t>(r)), source[r]);
    Sums sums = sumsBefore(0, elements);
    for (auto& [at, sum] : sums) {
      if (!isInclusive_)
        sum = sum ? sum : zero(elements.at(at));
      else if (digits_.empty() || digits_.front().lane)
        sum = plus(sum, elements.at(at));
    }
    Registers result;
    for (size_t r = 0; r < source.size(); ++r) result.push_back(sums.at(place(static_cast<int64_t>(r))));
    to_.set(op_.getResult(), std::move(result));
  }

 private:
  Coords place(int64_t r) const { return Lowering::registerPart(layout_, r); }

  Value plus(Value left, Value right) {
    if (!left || !right) return left ? left : right;
    if (isa<FloatType>(left.getType())) return arith::AddFOp::create(to_.b, left, right);
    return arith::AddIOp::create(to_.b, left, right);
  }

  /// What changes no sum: of floating-point numbers -0.0.
  Value zero(Value like) {
    Type type = like.getType();
    if (isa<FloatType>(type)) return arith::ConstantOp::create(to_.b, to_.b.getFloatAttr(type, -0.0));
    return arith::ConstantOp::create(to_.b, to_.b.getIntegerAttr(type, 0));
  }

  /// The sum of all that comes before each block of a line, given the totals of the blocks: those of elements whose digits below `level`
  /// are any. Where the first digit is one of registers, an element's own value is part of an inclusive sum already.
  Sums sumsBefore(size_t level, const Sums& totals) {
    if (level == digits_.size()) {
      Sums none;
      for (const auto& [at, total] : totals) none[at] = Value();
      return none;
    }
    return digits_[level].lane ? acrossLanes(level, totals) : acrossRegisters(level, totals);
  }

  Sums acrossRegisters(size_t level, const Sums& totals) {
    auto [below, count, lane] = digits_[level];
    auto axis = static_cast<size_t>(op_.getAxis());
    std::map<Coords, std::map<int64_t, Coords>> blocks;  // by the larger block, in the order of the sum
    for (const auto& [at, total] : totals) {
      Coords block = at;
      int64_t digit = at[axis] / below % count;
      block[axis] -= digit * below;
      blocks[block][op_.getReverse() ? -digit : digit] = at;
    }
    Sums local, larger;
    for (const auto& [block, members] : blocks) {
      Value sum;
      bool own = level == 0 && isInclusive_;
      for (const auto& [digit, at] : members) {
        if (!own) local[at] = sum;
        if (own || level + 1 < digits_.size() || digit != members.rbegin()->first) sum = plus(sum, totals.at(at));
        if (own) local[at] = sum;
      }
      larger[block] = sum;
    }
    Sums before = sumsBefore(level + 1, larger);
    for (const auto& [block, members] : blocks)
      for (const auto& [digit, at] : members) local[at] = plus(before.at(block), local[at]);
    return local;
  }

  Sums acrossLanes(size_t level, const Sums& totals) {
    int64_t mask = digits_[level].lane;
    Value bit = arith::AndIOp::create(to_.b, to_.lane, to_.i32(mask));
    auto behind = op_.getReverse() ? arith::CmpIPredicate::eq : arith::CmpIPredicate::ne;
    Value isBehind = arith::CmpIOp::create(to_.b, behind, bit, to_.i32(0));
    Registers own;
    for (const auto& [at, total] : totals) own.push_back(total);
    Registers others = shuffleXor(to_, own, static_cast<int>(mask));
    Sums local, larger;
    size_t i = 0;
    for (const auto& [at, total] : totals) {
      local[at] = arith::SelectOp::create(to_.b, isBehind, others[i], zero(total));
      larger[at] = level + 1 < digits_.size() ? plus(total, others[i]) : total;
      ++i;
    }
    Sums before = sumsBefore(level + 1, larger);
    for (auto& [at, sum] : local) sum = plus(before.at(at), sum);
    return local;
  }

  Lowering& to_;
  tile::CumsumOp op_;
  const LinearLayout& layout_;
  std::vector<ScanDigit> digits_;
  bool isInclusive_;
};

}  // namespace

LogicalResult lowerCumsum(Lowering& to, tile::CumsumOp op) {
  auto digits = layout::scanDigits(*tilegpu::layoutOf(op.getInput()), static_cast<int>(op.getAxis()));
  if (!digits)
    return op.emitOpError()
           << "adds elements of several warps, or of lanes in no order; -tilegpu-decompose-conversions rewrites such a sum "
              "before this pass";
  Scan(to, op, std::move(*digits)).run();
  return success();
}

}  // namespace fattn::gpu
