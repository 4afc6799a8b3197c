// SPDX-License-Identifier: Apache-2.0
// Operations that move elements around without computing: each register of the result is some register of the same thread.
//
//   %y = tile.trans %x, [1, 0] : tensor<16x8xf16, #a> -> tensor<8x16xf16, #t>        =>        y0 = x0, y1 = x1, ...
//
// WHICH ONE. An operation says which element of the input element j of the result is: a map of coordinates that is linear over F2, apart
// from a constant. So register r of the result is register s of the input in every thread if they hold the same element in lane 0 of warp
// 0, and if each lane bit and each warp moves both alike. Where that does not hold, data would have to cross lanes: that is
// tilegpu.convert_layout's part.
#include <functional>
#include <map>

#include "compiler/gpu/lower/Lowering.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fattn::gpu {
namespace {

using layout::Coords, layout::kLane, layout::kRegister, layout::kWarp, layout::LinearLayout;

/// The element of the input that is this element of the result.
using CoordinateMap = llvm::function_ref<Coords(const Coords&)>;

/// Whether the lanes and warps of both layouts hold the same elements relative to their first thread.
bool threadsAgree(const LinearLayout& input, const LinearLayout& result, int64_t inputRegister, CoordinateMap map) {
  auto agree = [&](int64_t lane, int64_t warp) {
    return input.at({{kRegister, inputRegister}, {kLane, lane}, {kWarp, warp}}) == map(result.at({{kLane, lane}, {kWarp, warp}}));
  };
  for (int64_t lane = 1; lane < result.inputSize(kLane); lane *= 2)
    if (!agree(lane, 0)) return false;
  for (int64_t warp = 1; warp < result.inputSize(kWarp); ++warp)
    if (!agree(0, warp)) return false;
  return true;
}

LogicalResult noRename(Operation* op) {
  return op->emitOpError() << "has a result whose layout needs data of other threads; legal is the layout that follows from the operand's, "
                              "and a tilegpu.convert_layout from there";
}

LogicalResult rename(Lowering& to, Operation* op, Value input, Value result, CoordinateMap map) {
  const LinearLayout &from = *tilegpu::layoutOf(input), &into = *tilegpu::layoutOf(result);
  std::map<Coords, int64_t> holder;
  for (int64_t r = 0; r < from.inputSize(kRegister); ++r) holder.emplace(Lowering::registerPart(from, r), r);
  const Registers source = to.registers(input);
  Registers renamed;
  for (int64_t r = 0; r < into.inputSize(kRegister); ++r) {
    auto at = holder.find(map(Lowering::registerPart(into, r)));
    if (at == holder.end() || (r == 0 && !threadsAgree(from, into, at->second, map))) return noRename(op);
    renamed.push_back(source[static_cast<size_t>(at->second)]);
  }
  to.set(result, std::move(renamed));
  return success();
}

LogicalResult lower(Lowering& to, tile::SplatOp op) {
  Value value = tile::isTile(op.getInput().getType()) ? to.registers(op.getInput()).front() : to.scalar(op.getInput());
  to.set(op.getResult(), Registers(static_cast<size_t>(tilegpu::layoutOf(op.getResult())->inputSize(kRegister)), value));
  return success();
}

/// Every thread has the element. Registers hold numbers of at least 8 bits.
LogicalResult lower(Lowering& to, tile::UnsplatOp op) {
  Value element = to.registers(op.getInput()).front();
  const unsigned bits = element.getType().getIntOrFloatBitWidth(), word = std::max(bits, 32u);
  Type own = element.getType(), integer = to.b.getIntegerType(bits), wide = to.b.getIntegerType(word);
  Value number = own == integer ? element : arith::BitcastOp::create(to.b, integer, element).getResult();
  if (word != bits) number = arith::ExtUIOp::create(to.b, wide, number);
  number = to.machine.uniform(to.b, number);
  if (word != bits) number = arith::TruncIOp::create(to.b, integer, number);
  to.setScalar(op.getResult(), own == integer ? number : arith::BitcastOp::create(to.b, own, number).getResult());
  return success();
}

LogicalResult lower(Lowering& to, tile::ArangeOp op) {
  const LinearLayout& layout = *tilegpu::layoutOf(op.getResult());
  Type type = to.registerType(op.getResult().getType().getElementType());
  Value thread = to.threadPart(layout, 0);
  Registers numbers;
  for (int64_t r = 0; r < layout.inputSize(kRegister); ++r) {
    Value number = to.combine(layout, 0, thread, Lowering::registerPart(layout, r)[0]);
    unsigned bits = type.getIntOrFloatBitWidth();
    if (bits > 32) number = arith::ExtUIOp::create(to.b, type, number);
    if (bits < 32) number = arith::TruncIOp::create(to.b, type, number);
    Value start = arith::ConstantIntOp::create(to.b, type, static_cast<int64_t>(op.getStart()));
    numbers.push_back(op.getStart() ? arith::AddIOp::create(to.b, number, start).getResult() : number);
  }
  to.set(op.getResult(), std::move(numbers));
  return success();
}

LogicalResult lower(Lowering& to, tile::ExpandDimsOp op) {
  return rename(to, op, op.getInput(), op.getResult(), [&](const Coords& j) {
    Coords i = j;
    i.erase(i.begin() + static_cast<int64_t>(op.getAxis()));
    return i;
  });
}

LogicalResult lower(Lowering& to, tile::BroadcastOp op) {
  ArrayRef<int64_t> shape = op.getInput().getType().getShape();
  return rename(to, op, op.getInput(), op.getResult(), [&](const Coords& j) {
    Coords i = j;
    for (auto [d, size] : llvm::enumerate(shape))
      if (size == 1) i[d] = 0;
    return i;
  });
}

LogicalResult lower(Lowering& to, tile::TransOp op) {
  return rename(to, op, op.getInput(), op.getResult(), [&](const Coords& j) {
    Coords i(j.size());
    for (auto [d, from] : llvm::enumerate(op.getPermutation())) i[static_cast<size_t>(from)] = j[d];
    return i;
  });
}

LogicalResult lower(Lowering& to, tile::ReshapeOp op) {
  ArrayRef<int64_t> from = op.getInput().getType().getShape(), into = op.getResult().getType().getShape();
  return rename(to, op, op.getInput(), op.getResult(), [&](const Coords& j) {
    int64_t number = 0;
    for (auto [d, size] : llvm::enumerate(into)) number = number * size + j[d];
    Coords i(from.size());
    for (size_t d = from.size(); d-- > 0; number /= from[d]) i[d] = number % from[d];
    return i;
  });
}

LogicalResult lower(Lowering& to, tilegpu::GroupPartOp op) {
  to.set(op.getResult(), to.registers(op.getInput()));
  return success();
}

LogicalResult lower(Lowering& to, tilegpu::SliceOp op) {
  return rename(to, op, op.getInput(), op.getResult(), [&](const Coords& j) {
    Coords i = j;
    for (auto [d, offset] : llvm::enumerate(op.getOffsets())) i[d] += offset;
    return i;
  });
}

LogicalResult lower(Lowering& to, tile::SplitOp op) {
  for (auto [half, result] : llvm::enumerate(op->getResults())) {
    auto append = [&](const Coords& j) {
      Coords i = j;
      i.push_back(static_cast<int64_t>(half));
      return i;
    };
    if (failed(rename(to, op, op.getInput(), result, append))) return failure();
  }
  return success();
}

/// In the layout that join() says the halves alternate; the result's may number its registers in another order.
LogicalResult lower(Lowering& to, tile::JoinOp op) {
  LinearLayout joined = tilegpu::layoutOf(op.getLhs())->join().asTile(static_cast<int>(op.getResult().getType().getRank()));
  const Registers left = to.registers(op.getLhs()), right = to.registers(op.getRhs());
  Registers both;
  for (auto [l, r] : llvm::zip(left, right)) both.append({l, r});
  FailureOr<Registers> result =
      convertRegisters(to, both, joined, *tilegpu::layoutOf(op.getResult()), op.getResult().getType().getElementType());
  if (failed(result)) return noRename(op);
  to.set(op.getResult(), std::move(*result));
  return success();
}

}  // namespace

std::optional<LogicalResult> lowerShape(Lowering& to, Operation* op) {
  return llvm::TypeSwitch<Operation*, std::optional<LogicalResult>>(op)
      .Case<tile::SplatOp, tile::UnsplatOp, tile::ArangeOp, tile::ExpandDimsOp, tile::BroadcastOp, tile::TransOp, tile::ReshapeOp,
            tilegpu::SliceOp, tilegpu::GroupPartOp, tile::SplitOp, tile::JoinOp>([&](auto shape) { return lower(to, shape); })
      .Default([](Operation*) { return std::nullopt; });
}

}  // namespace fattn::gpu
