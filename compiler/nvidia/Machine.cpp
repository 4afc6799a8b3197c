// SPDX-License-Identifier: Apache-2.0
// Threads, programs, and what threads of a warp or block tell each other.
#include "compiler/nvidia/Machine.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fattn::nvidia {

namespace {

constexpr int64_t kAllLanes = 0xffffffff;
constexpr int64_t kPartBarrier = 1;  // the number of the barrier that some of the block's threads meet at

Value number(ImplicitLocOpBuilder& b, int64_t value) {
  return arith::ConstantOp::create(b, b.getIntegerAttr(b.getI32Type(), APInt(32, static_cast<uint64_t>(value), false, true)));
}

}  // namespace

Machine::Machine(const gpu::Target& target) : addedBytes_(target.addedBytes) {
  StringRef name = target.name;
  name.consume_front("nvidia:sm_");
  name.consumeInteger(10, capability_);
}

std::unique_ptr<gpu::Machine> makeMachine(const gpu::Target& target) { return std::make_unique<Machine>(target); }

Value intrinsic(ImplicitLocOpBuilder& b, StringRef name, Type type, ValueRange operands) {
  if (!type) return LLVM::CallIntrinsicOp::create(b, b.getStringAttr(name), operands), Value();
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), operands).getResult(0);
}

Value Machine::threadId(ImplicitLocOpBuilder& b) { return NVVM::ThreadIdXOp::create(b, b.getI32Type()); }

Value Machine::programId(ImplicitLocOpBuilder& b, int axis) {
  Type type = b.getI32Type();
  if (axis == 0) return NVVM::BlockIdXOp::create(b, type);
  if (axis == 1) return NVVM::BlockIdYOp::create(b, type);
  return NVVM::BlockIdZOp::create(b, type);
}

Value Machine::numPrograms(ImplicitLocOpBuilder& b, int axis) {
  Type type = b.getI32Type();
  if (axis == 0) return NVVM::GridDimXOp::create(b, type);
  if (axis == 1) return NVVM::GridDimYOp::create(b, type);
  return NVVM::GridDimZOp::create(b, type);
}

Value Machine::shuffleXor(ImplicitLocOpBuilder& b, Value word, int mask) {
  return NVVM::ShflOp::create(b, word.getType(), number(b, kAllLanes), word, number(b, mask), number(b, 31), NVVM::ShflKind::bfly,
                              UnitAttr());
}

Value Machine::shuffle(ImplicitLocOpBuilder& b, Value word, Value from) {
  return NVVM::ShflOp::create(b, word.getType(), number(b, kAllLanes), word, from, number(b, 31), NVVM::ShflKind::idx, UnitAttr());
}

Value Machine::anyInWarp(ImplicitLocOpBuilder& b, Value condition) {
  Value any = NVVM::VoteSyncOp::create(b, b.getI1Type(), number(b, kAllLanes), condition, NVVM::VoteSyncKind::any);
  // What lanes are asked for is rare: the way on is the one without a jump.
  return LLVM::ExpectOp::create(b, any, arith::ConstantOp::create(b, b.getBoolAttr(false)));
}

Value Machine::anyInBlock(gpu::Lowering& to, Value condition, std::optional<int64_t>) {
  ImplicitLocOpBuilder& b = to.b;
  if (barrierThreads_)
    return intrinsic(b, "llvm.nvvm.barrier.cta.red.or.aligned.count", b.getI1Type(),
                     {number(b, kPartBarrier), number(b, barrierThreads_), condition});
  return intrinsic(b, "llvm.nvvm.barrier.cta.red.or.aligned.all", b.getI1Type(), {number(b, 0), condition});
}

/// An instruction that LLVM does not move in front of a branch; with a side effect it does not move it at all.
static Value fixedWord(ImplicitLocOpBuilder& b, ValueRange operands, StringRef text, StringRef constraints, bool hasSideEffects) {
  auto attributes = LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT);
  return LLVM::InlineAsmOp::create(b, b.getI32Type(), operands, text, constraints, hasSideEffects, /*is_align_stack=*/false,
                                   LLVM::TailCallKind::None, attributes, ArrayAttr())
      .getResult(0);
}

Value Machine::saturatingDifference(ImplicitLocOpBuilder& builder, Value a, Value b) {
  return fixedWord(builder, {a, b}, "sub.sat.s32 $0, $1, $2;", "=r,r,r", /*hasSideEffects=*/false);
}

Value Machine::truncatePair(ImplicitLocOpBuilder& b, Value low, Value high, Type element, bool) {
  // LLVM would move it behind a branch.
  StringRef text = element.isBF16() ? "cvt.rn.bf16x2.f32 $0, $1, $2;" : "cvt.rn.f16x2.f32 $0, $1, $2;";
  return LLVM::BitcastOp::create(b, VectorType::get(2, element), fixedWord(b, {high, low}, text, "=r,f,f", /*hasSideEffects=*/true));
}

/// Always of all memory.
void Machine::barrier(ImplicitLocOpBuilder& b, gpu::Visible) {
  if (barrierThreads_)
    intrinsic(b, "llvm.nvvm.barrier.cta.sync.aligned.count", {}, {number(b, kPartBarrier), number(b, barrierThreads_)});
  else
    NVVM::Barrier0Op::create(b);
}

}  // namespace fattn::nvidia
