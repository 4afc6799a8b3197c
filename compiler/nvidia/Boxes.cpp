// SPDX-License-Identifier: Apache-2.0
#include "compiler/nvidia/Boxes.h"

#include <fmt/format.h>

#include "compiler/gpu/passes/roles/Roles.h"
#include "compiler/layout/Shared.h"
#include "compiler/nvidia/Watchdog.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::Lowering;

Value assembly(Lowering& to, Type type, ValueRange operands, const std::string& text, StringRef constraints) {
  auto dialect = LLVM::AsmDialectAttr::get(to.b.getContext(), LLVM::AsmDialect::AD_ATT);
  auto op = LLVM::InlineAsmOp::create(to.b, type ? TypeRange(type) : TypeRange(), operands, text, constraints, /*has_side_effects=*/true,
                                      /*is_align_stack=*/false, LLVM::TailCallKind::None, dialect, ArrayAttr());
  return type ? op.getResult(0) : Value();
}

Value computedHere(Lowering& to, Value number) { return assembly(to, number.getType(), {number}, "mov.b32 $0, $1;", "=r,r"); }

void inBranch(Lowering& to, Value condition, llvm::function_ref<void()> emit) {
  OpBuilder::InsertionGuard guard(to.b);
  auto branch = scf::IfOp::create(to.b, condition, /*withElseRegion=*/false);
  to.b.setInsertionPointToStart(branch.thenBlock());
  emit();
}

DictionaryAttr tensorMapOf(Operation* op, uint64_t number) {
  return cast<DictionaryAttr>(op->getParentOfType<func::FuncOp>()->getAttrOfType<ArrayAttr>(tilegpu::kTensorMapsAttr)[number]);
}

Value coordinate(Lowering& to, Value offset) {
  if (auto extension = offset.getDefiningOp<arith::ExtSIOp>(); extension && extension.getIn().getType().isInteger(32))
    return extension.getIn();
  Value low = arith::MaxSIOp::create(to.b, offset, to.i64(std::numeric_limits<int32_t>::min()));
  Value both = arith::MinSIOp::create(to.b, low, to.i64(std::numeric_limits<int32_t>::max()));
  return arith::TruncIOp::create(to.b, to.b.getI32Type(), both);
}

/// Whether a test of this kind leads to the operation.
static bool isBehind(Operation* op, llvm::function_ref<bool(tilegpu::IsCopierOp)> isKind) {
  for (; op; op = op->getParentOp())
    if (auto branch = dyn_cast_or_null<scf::IfOp>(op->getParentOp()); branch && branch.thenBlock() == op->getBlock())
      if (auto test = branch.getCondition().getDefiningOp<tilegpu::IsCopierOp>(); test && isKind(test)) return true;
  return false;
}

bool isCopiers(Operation* op) {
  return isBehind(op, [](tilegpu::IsCopierOp) { return true; });
}

bool isSenders(Operation* op) {
  return isBehind(op, [](tilegpu::IsCopierOp test) { return tilegpu::isThread(test, tilegpu::kSendingThread); });
}

FailureOr<BoxSlot> BoxSlot::create(Lowering& to, Operation* op, Value buffer, Value slot, Value phase) {
  auto alloc = buffer.getDefiningOp<tilegpu::AllocOp>();
  if (!alloc || !alloc.getOffset() || !alloc.getBarriers())
    return op->emitOpError() << "needs a buffer with a place and with barriers, which -tilegpu-allocate-shared gives it";
  return BoxSlot(to, alloc, to.scalar(slot), phase ? to.scalar(phase) : Value(), isCopiers(op) ? 1 : 0);
}

BoxSlot::BoxSlot(Lowering& to, tilegpu::AllocOp alloc, Value slot, Value phase, int role)
    : to_(&to), alloc_(alloc), slot_(slot), phase_(phase), number_(getConstantIntValue(slot)), role_(role) {}

int64_t BoxSlot::bytesArriving() {
  int64_t bytes = type().getSlotBytes();
  alloc_->getParentOfType<func::FuncOp>().walk([&](tilegpu::AllocOp other) {
    if (other.getArrives() == alloc_.getBarriers()) bytes += other.getResult().getType().getSlotBytes();
  });
  return bytes;
}

Value BoxSlot::address(int64_t start, int64_t stride) {
  Value base = LLVM::PtrToIntOp::create(to_->b, to_->b.getI32Type(), to_->sharedBase);
  if (number_) return arith::AddIOp::create(to_->b, base, to_->i32(start + *number_ * stride));
  Value inSlots = arith::MulIOp::create(to_->b, slot_, to_->i32(stride));
  return arith::AddIOp::create(to_->b, arith::AddIOp::create(to_->b, base, to_->i32(start)), inSlots);
}

Lowering::LocalBits BoxSlot::bits(Parities which) {
  if (!to_->sharesWords) {
    // A word of its own takes a register, and a place in a shared one an instruction more in each phase.
    constexpr int64_t kMostWords = 4;
    int64_t buffers = 0;
    alloc_->getParentOfType<func::FuncOp>().walk([&](tilegpu::AllocOp alloc) { buffers += alloc.getBarriers().has_value(); });
    to_->sharesWords = buffers > kMostWords;
  }
  return to_->local(alloc_, which, type().getSlots(), role_, *to_->sharesWords);
}

Value BoxSlot::parity(Parities which) {
  if (phase_) return arith::AndIOp::create(to_->b, phase_, to_->i32(1));
  const Lowering::LocalBits bits = this->bits(which);
  Value word = LLVM::LoadOp::create(to_->b, to_->b.getI32Type(), bits.word);
  Value shifted = arith::ShRUIOp::create(to_->b, word, number_ ? to_->i32(*number_ + bits.first) : slot_);
  if (!number_ && bits.first != 0) shifted = arith::ShRUIOp::create(to_->b, shifted, to_->i32(bits.first));
  return arith::AndIOp::create(to_->b, shifted, to_->i32(1));
}

void BoxSlot::flip(Parities which, Value wanted) {
  if (phase_) return;
  OpBuilder::InsertionGuard guard(to_->b);
  if (to_->ownerBranch) to_->b.setInsertionPointAfter(to_->ownerBranch);
  const Lowering::LocalBits bits = this->bits(which);
  Value word = LLVM::LoadOp::create(to_->b, to_->b.getI32Type(), bits.word);
  Value bit = wanted ? arith::ExtUIOp::create(to_->b, to_->b.getI32Type(), wanted).getResult() : to_->i32(1);
  bit = arith::ShLIOp::create(to_->b, bit, to_->i32(bits.first + number_.value_or(0)));
  if (!number_) bit = arith::ShLIOp::create(to_->b, bit, slot_);
  LLVM::StoreOp::create(to_->b, arith::XOrIOp::create(to_->b, word, bit), bits.word);
}

/// try_wait sleeps for a while before it says no.
void waitForPhase(Lowering& to, Value barrier, Value parity) {
  assembly(to, {}, {barrier, parity},
           "{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1; @!done bra again; }", "r,r,~{memory}");
}

void BoxSlot::wait(Parities which) {
  Value own = parity(which), over = own;
  // A slot that nobody has filled yet is empty: the phase before the first counts as over.
  if (which == kEmpty) over = arith::XOrIOp::create(to_->b, own, to_->i32(1));
  Value barrier = which == kFull ? full() : empty();
  const int64_t milliseconds = watchdogOf(alloc_);
  if (milliseconds == 0) return waitForPhase(*to_, barrier, over);
  waitOrFail(*to_, barrier, over, milliseconds, role_ == 0 ? "a warp that computes" : "the warp that copies",
             [&] { return complaint(which, own, milliseconds); });
}

Value BoxSlot::complaint(Parities which, Value parity, int64_t milliseconds) {
  int64_t buffer = 0;
  alloc_->getParentOfType<func::FuncOp>().walk([&](tilegpu::AllocOp other) {
    if (other.getBarriers() && *other.getBarriers() < *alloc_.getBarriers()) ++buffer;
  });
  std::string shape;
  for (int64_t size : type().getShape()) shape += fmt::format("{}{}", shape.empty() ? "" : "x", size);
  const char* what = which == kFull ? "is filled" : "is handed back";
  Value result;
  for (int64_t slot = 0; slot < type().getSlots(); ++slot)
    for (int64_t phase : {0, 1}) {
      if (number_ && *number_ != slot) continue;
      Value text = addressOfText(*to_, fmt::format("slot {} of buffer {} ({} slots of {}), phase of parity {}, {} within {} ms", slot,
                                                   buffer, type().getSlots(), shape, phase, what, milliseconds));
      if (result) {
        Value here = arith::CmpIOp::create(to_->b, arith::CmpIPredicate::eq, parity, to_->i32(phase));
        if (!number_)
          here = arith::AndIOp::create(to_->b, here, arith::CmpIOp::create(to_->b, arith::CmpIPredicate::eq, slot_, to_->i32(slot)));
        text = arith::SelectOp::create(to_->b, here, text, result);
      }
      result = text;
    }
  return result;
}

void arriveForWarp(Lowering& to, Value barrier) {
  assembly(to, {}, {barrier}, "{ .reg .pred one; elect.sync _|one, 0xffffffff; @one mbarrier.arrive.shared::cta.b64 _, [$0]; }",
           "r,~{memory}");
}

void forEachBox(Lowering& to, DictionaryAttr map, BoxSlot& slot, ArrayRef<Value> first,
                llvm::function_ref<void(Value bytes, Value row, Value column)> emit) {
  ArrayRef<int64_t> box = cast<DenseI64ArrayAttr>(map.get("box")).asArrayRef(), shape = slot.type().getShape();
  Value bytes = slot.bytes();
  layout::LinearLayout places = layout::SharedLayout(slot.type().getLayout().getLayout()).offsets();
  auto moved = [&](Value at, int64_t by) { return by ? arith::AddIOp::create(to.b, at, to.i32(by)).getResult() : at; };
  for (int64_t column = 0; column < shape[1]; column += box[0])
    for (int64_t row = 0; row < shape[0]; row += box[1])
      emit(moved(bytes, places.apply({row, column})[0] * slot.type().getElementBytes()), moved(first[0], row), moved(first[1], column));
}

SmallVector<Value> furtherCoordinates(Lowering& to, Operation* op, ValueRange coordinates, DictionaryAttr map) {
  SmallVector<Value> result;
  auto function = op->getParentOfType<func::FuncOp>();
  for (auto [value, stride] : llvm::zip(coordinates, map.getAs<ArrayAttr>("strides").getValue().drop_front())) {
    Value at = to.scalar(value);
    for (int64_t argument : cast<DenseI64ArrayAttr>(stride).asArrayRef().drop_front()) {
      Value factor = to.scalar(function.getArgument(static_cast<unsigned>(argument)));
      Value zero = arith::ConstantOp::create(to.b, to.b.getZeroAttr(factor.getType()));
      Value none = arith::CmpIOp::create(to.b, arith::CmpIPredicate::eq, factor, zero);
      at = arith::SelectOp::create(to.b, none, to.i32(0), at);
    }
    result.push_back(at);
  }
  return result;
}

}  // namespace fattn::nvidia
