// SPDX-License-Identifier: Apache-2.0
// What all parts of the lowering use: a thread's share of a layout's coordinates, and words of packed elements.
#include "compiler/gpu/lower/Lowering.h"

#include <bit>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace fattn::gpu {

using layout::kLane, layout::kRegister, layout::kWarp;
using layout::LinearLayout;

Lowering::LocalBits Lowering::local(Operation* of, int which, int64_t count, int role, bool together) {
  constexpr int64_t kWordBits = 32;
  auto [known, fresh] = locals_.try_emplace({of, which, role});
  if (!fresh) return known->second;
  LocalBits& next = nextLocal_[role];
  if (!together || !next.word || next.first + count > kWordBits) {
    OpBuilder::InsertionGuard guard(b);
    auto function = b.getInsertionBlock()->getParentOp();
    if (!isa<func::FuncOp>(function)) function = function->getParentOfType<func::FuncOp>();
    b.setInsertionPointToStart(&cast<func::FuncOp>(function).getBody().front());
    next = {.word = LLVM::AllocaOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), b.getI32Type(), i32(1)), .first = 0};
    LLVM::StoreOp::create(b, i32(0), next.word);
  }
  known->second = next;
  next.first += count;
  return known->second;
}

Value Lowering::i32(int64_t value) { return arith::ConstantIntOp::create(b, value, 32); }
Value Lowering::i64(int64_t value) { return arith::ConstantIntOp::create(b, value, 64); }

Value Lowering::linearMap(Value number, ArrayRef<int64_t> images) {
  // Bits that move by the same distance move together.
  llvm::SmallDenseMap<int, int64_t> masks;
  SmallVector<int> distances;
  for (auto [from, image] : llvm::enumerate(images))
    for (int64_t rest = image; rest; rest &= rest - 1) {
      int distance = std::countr_zero(static_cast<uint64_t>(rest)) - static_cast<int>(from);
      if (!masks.count(distance)) distances.push_back(distance);
      masks[distance] |= int64_t{1} << from;
    }
  Value result;
  for (int distance : distances) {
    Value bits = arith::AndIOp::create(b, number, i32(masks[distance]));
    if (distance > 0) bits = arith::ShLIOp::create(b, bits, i32(distance));
    if (distance < 0) bits = arith::ShRUIOp::create(b, bits, i32(-distance));
    result = result ? arith::XOrIOp::create(b, result, bits).getResult() : bits;
  }
  return result ? result : i32(0);
}

/// Where the bits of an input lead in output d.
static SmallVector<int64_t> imagesOf(const LinearLayout& layout, std::string_view in, int d) {
  SmallVector<int64_t> images;
  for (const layout::Axis& axis : layout.inputs()) {
    if (axis.name != in) continue;
    for (int bit = 0; bit < axis.bits; ++bit) images.push_back(layout.linearPart().at({{in, int64_t{1} << bit}})[static_cast<size_t>(d)]);
  }
  return images;
}

Value Lowering::threadPart(const LinearLayout& layout, int d) {
  const layout::Axis& out = layout.outputs()[static_cast<size_t>(d)];
  Value result = linearMap(lane, imagesOf(layout, kLane, d));
  result = arith::XOrIOp::create(b, result, linearMap(warp, imagesOf(layout, kWarp, d)));
  // The repeats: digits of the warp's number above the linear part, each a step over all that lies below it.
  int64_t below = int64_t{1} << layout.inputBits(kWarp), step = int64_t{1} << out.bits;
  for (const layout::Repeat& repeat : layout.repeats()) {
    if (repeat.in == kWarp && repeat.out == out.name) {
      Value digit = arith::RemUIOp::create(b, arith::DivUIOp::create(b, warp, i32(below)), i32(repeat.count));
      result = arith::AddIOp::create(b, result, arith::MulIOp::create(b, digit, i32(step)));
    }
    if (repeat.in == kWarp) below *= repeat.count;
    if (repeat.out == out.name) step *= repeat.count;
  }
  return result;
}

layout::Coords Lowering::registerPart(const LinearLayout& layout, int64_t r) { return layout.at({{kRegister, r}}); }

Value Lowering::combine(const LinearLayout& layout, int d, Value thread, int64_t constant) {
  int64_t reached = 0;
  for (std::string_view in : {kLane, kWarp})
    for (int64_t image : imagesOf(layout, in, d)) reached |= image;
  int64_t both = reached & constant & ((int64_t{1} << layout.outputs()[static_cast<size_t>(d)].bits) - 1);
  if (both) thread = arith::XOrIOp::create(b, thread, i32(both));
  if (constant == both) return thread;
  auto noWrap = arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;
  return arith::AddIOp::create(b, thread, i32(constant - both), noWrap);
}

Value Lowering::pack(ValueRange elements, Type word) {
  if (elements.size() == 1) return elements[0].getType() == word ? elements[0] : LLVM::BitcastOp::create(b, word, elements[0]).getResult();
  Value vector = LLVM::PoisonOp::create(b, VectorType::get(static_cast<int64_t>(elements.size()), elements[0].getType()));
  for (auto [i, element] : llvm::enumerate(elements))
    vector = LLVM::InsertElementOp::create(b, vector, element, i32(static_cast<int64_t>(i)));
  return LLVM::BitcastOp::create(b, word, vector);
}

Registers Lowering::unpack(Value word, Type element, int count) {
  if (count == 1) return {word.getType() == element ? word : LLVM::BitcastOp::create(b, element, word).getResult()};
  Value vector = LLVM::BitcastOp::create(b, VectorType::get(count, element), word);
  Registers result;
  for (int i = 0; i < count; ++i) result.push_back(LLVM::ExtractElementOp::create(b, vector, i32(i)));
  return result;
}

Type Lowering::registerType(Type element) const {
  if (isa<tile::PtrType>(element)) return LLVM::LLVMPointerType::get(element.getContext(), 1);
  if (element.isIndex()) return IntegerType::get(element.getContext(), 64);
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8) return IntegerType::get(element.getContext(), 8);
  return element;
}

/// Whether an engine stores boxes for the block, or for loops in it, which is the block to wait for them.
static bool endsStores(Block& block) {
  Operation* parent = block.getParentOp();
  // Programs that a block takes one after another wait for each other, and the block behind the last one (Programs.cpp).
  if (isa<tilegpu::EachProgramOp, LoopLikeOpInterface>(parent) || parent->getParentOfType<LoopLikeOpInterface>()) return false;
  auto tellsEngine = [](Operation* op) { return isa<tilegpu::StoreBoxesOp>(op) && !tilegpu::isMadeElsewhere(op); };
  return llvm::any_of(block, [&](Operation& op) {
    if (!isa<LoopLikeOpInterface>(op)) return tellsEngine(&op);
    return op.walk([&](Operation* inner) { return tellsEngine(inner) ? WalkResult::interrupt() : WalkResult::advance(); }).wasInterrupted();
  });
}

LogicalResult Lowering::lowerBlock(Block& block) {
  for (Operation& op : block.without_terminator())
    if (failed(lowerOperation(*this, &op))) return failure();
  if (endsStores(block)) machine.endStores(*this);
  return success();
}

}  // namespace fattn::gpu
