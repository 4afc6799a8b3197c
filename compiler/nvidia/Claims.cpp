// SPDX-License-Identifier: Apache-2.0
// Programs that blocks are handed while the kernel runs (tilegpu.each_program dynamic). The launch has a counter in global memory. The
// thread that copies takes the next number in the last trip of a program's copies (claim_program), or at the end of a program without such
// a trip, and tells the computing warps its ids through shared memory (kClaimSlots in TileGpu.h):
//
//   the thread that copies     number = atom.inc [counter]
//                              wait for empty[slot]; write x, y, z; arrive on full[slot]
//   the warps that compute     wait for full[slot]; read x, y, z; each warp arrives on empty[slot]
//   the thread that sends      the same, where there is one
//
// The number is taken late: a block that took it sooner would keep a program that another one could already work on. What the ring of
// operands holds is computed in the meantime.
//
// A block begins with the program of its own number, so that the counter counts those behind: with P programs and B blocks P - B of them
// are taken, and each block asks once in vain. The P-th to ask finds P - 1, from which atom.inc goes back to 0: the counter is ready for
// the next launch without anybody resetting it. A launch without a counter (null) gives each block every B-th program.
//
// Sources: PTX ISA 8.7, "atom" (inc), "mbarrier", "redux.sync". Test: tests/lit/nvidia/programs.mlir.
#include <fmt/format.h>

#include "compiler/gpu/passes/roles/Roles.h"
#include "compiler/nvidia/Boxes.h"
#include "compiler/nvidia/Machine.h"
#include "compiler/nvidia/Watchdog.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::Lowering;

namespace {

using tilegpu::kClaimBarrierBytes, tilegpu::kClaimSlotBytes, tilegpu::kClaimSlots;

/// One of the slots, for the block's `count`th program.
class ClaimSlot {
 public:
  ClaimSlot(Lowering& to, tilegpu::EachProgramOp op, Value count) : to_(to), op_(op) {
    static_assert(kClaimSlots == 2);
    slot_ = arith::AndIOp::create(to.b, count, to.i32(1));
    phase_ = arith::AndIOp::create(to.b, arith::ShRUIOp::create(to.b, count, to.i32(1)), to.i32(1));
  }

  Value ids() { return address(0, kClaimSlotBytes); }
  Value full() { return address(kClaimSlots * kClaimSlotBytes, kClaimBarrierBytes); }
  Value empty() { return address(kClaimSlots * (kClaimSlotBytes + kClaimBarrierBytes), kClaimBarrierBytes); }
  void waitUntilFull() {
    wait(full(), phase_, isSenders(op_) ? "the warp that sends" : "a warp that computes",
         "the ids of the block's next program are not written");
  }
  /// The phase before the first counts as over.
  void waitUntilEmpty() {
    wait(empty(), arith::XOrIOp::create(to_.b, phase_, to_.i32(1)), "the warp that copies",
         "the ids of a program of the block are not read");
  }

 private:
  Value address(int64_t offset, int64_t stride) {
    const int64_t begin = op_->getParentOfType<func::FuncOp>()->getAttrOfType<IntegerAttr>(tilegpu::kClaimsAttr).getInt();
    Value base = LLVM::PtrToIntOp::create(to_.b, to_.b.getI32Type(), to_.sharedBase);
    Value first = arith::AddIOp::create(to_.b, base, to_.i32(begin + offset));
    return arith::AddIOp::create(to_.b, first, arith::MulIOp::create(to_.b, slot_, to_.i32(stride)));
  }

  void wait(Value barrier, Value parity, StringRef role, StringRef complaint) {
    const int64_t milliseconds = watchdogOf(op_);
    if (milliseconds == 0) return waitForPhase(to_, barrier, parity);
    waitOrFail(to_, barrier, parity, milliseconds, role,
               [&] { return addressOfText(to_, fmt::format("{} within {} ms", complaint.str(), milliseconds)); });
  }

  Lowering& to_;
  tilegpu::EachProgramOp op_;
  Value slot_, phase_;
};

Value programsOf(Lowering& to) {
  return arith::MulIOp::create(to.b, to.extents[0], arith::MulIOp::create(to.b, to.extents[1], to.extents[2]));
}

/// What the thread that copies keeps of a claim: whether it has claimed a program ahead, and the answer. i32, of the thread's own.
enum class Kept : uint8_t { IsAhead, Answer };
Value kept(Lowering& to, tilegpu::EachProgramOp op, Kept which) {
  constexpr int64_t kWord = 32;
  return to.local(op, static_cast<int>(which), kWord, /*role=*/1, /*together=*/false).word;
}

/// Claims the block's `count`th program: its own at first, then the counter's. The answer and the number of blocks are its number, added
/// where it is used, so that nothing waits for the answer before.
Value claim(Lowering& to, Value count) {
  Value block = to.machine.programId(to.b, 0), blocks = to.machine.numPrograms(to.b, 0);
  Value before = arith::SubIOp::create(to.b, count, to.i32(1));
  Value inTurn = arith::AddIOp::create(to.b, block, arith::MulIOp::create(to.b, before, blocks));
  Value counted = LLVM::ICmpOp::create(to.b, LLVM::ICmpPredicate::ne, to.counter, LLVM::ZeroOp::create(to.b, to.counter.getType()));
  Value isLater = arith::CmpIOp::create(to.b, arith::CmpIPredicate::ne, count, to.i32(0));
  Value asks = arith::AndIOp::create(to.b, counted, isLater);
  Value last = arith::SubIOp::create(to.b, programsOf(to), to.i32(1));
  return assembly(to, to.b.getI32Type(), {to.counter, last, asks, inTurn},
                  "mov.b32 $0, $4; @$3 atom.relaxed.gpu.global.inc.u32 $0, [$1], $2;", "=&r,l,r,b,r,~{memory}");
}

void keepClaim(Lowering& to, tilegpu::EachProgramOp op, Value count) {
  LLVM::StoreOp::create(to.b, claim(to, count), kept(to, op, Kept::Answer));
}

Value claimedNumber(Lowering& to, tilegpu::EachProgramOp op, Value count) {
  Value ahead = LLVM::LoadOp::create(to.b, to.b.getI32Type(), kept(to, op, Kept::IsAhead));
  inBranch(to, arith::CmpIOp::create(to.b, arith::CmpIPredicate::eq, ahead, to.i32(0)), [&] { keepClaim(to, op, count); });
  LLVM::StoreOp::create(to.b, to.i32(0), kept(to, op, Kept::IsAhead));
  Value answer = LLVM::LoadOp::create(to.b, to.b.getI32Type(), kept(to, op, Kept::Answer));
  return arith::AddIOp::create(to.b, to.machine.numPrograms(to.b, 0), answer);
}

/// By the thread that copies.
gpu::Machine::NextProgram claimAndTell(Lowering& to, tilegpu::EachProgramOp op, Value count) {
  Value number = claimedNumber(to, op, count);
  Value exists = arith::CmpIOp::create(to.b, arith::CmpIPredicate::ult, number, programsOf(to));
  Value row = arith::DivUIOp::create(to.b, number, to.extents[0]);
  gpu::Machine::NextProgram next{
      .ids = {arith::RemUIOp::create(to.b, number, to.extents[0]), arith::RemUIOp::create(to.b, row, to.extents[1]),
              arith::DivUIOp::create(to.b, row, to.extents[1])},
      .exists = exists};
  ClaimSlot slot(to, op, count);
  slot.waitUntilEmpty();
  Value x = arith::SelectOp::create(to.b, exists, next.ids[0], to.i32(-1));
  assembly(to, {}, {slot.ids(), x, next.ids[1], next.ids[2]}, "st.shared.v4.b32 [$0], {$1, $2, $3, $3};", "r,r,r,r,~{memory}");
  assembly(to, {}, {slot.full()}, "mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}");
  return next;
}

Type fourWords(Lowering& to) {
  const SmallVector<Type> words(4, to.b.getI32Type());
  return LLVM::LLVMStructType::getLiteral(to.b.getContext(), words);
}

/// By the thread that sends.
gpu::Machine::NextProgram readTold(Lowering& to, tilegpu::EachProgramOp op, Value count) {
  ClaimSlot slot(to, op, count);
  slot.waitUntilFull();
  Value read = assembly(to, fourWords(to), {slot.ids()}, "ld.shared.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,r,~{memory}");
  gpu::Machine::NextProgram next;
  for (auto [i, id] : llvm::enumerate(next.ids)) id = LLVM::ExtractValueOp::create(to.b, read, static_cast<int64_t>(i));
  assembly(to, {}, {slot.empty()}, "mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}");
  next.exists = arith::CmpIOp::create(to.b, arith::CmpIPredicate::sge, next.ids[0], to.i32(0));
  return next;
}

/// By the warps that compute: one lane of a warp reads, and arrives when it has. The assembler sees from redux.sync that all lanes have
/// the same ids, and that lanes stay together.
gpu::Machine::NextProgram takeTold(Lowering& to, tilegpu::EachProgramOp op, Value count) {
  ClaimSlot slot(to, op, count);
  slot.waitUntilFull();
  Type word = to.b.getI32Type(), words = fourWords(to);
  Value read = assembly(to, words, {slot.ids()},
                        "{ .reg .pred one; elect.sync _|one, 0xffffffff; mov.b32 $0, 0; mov.b32 $1, 0; mov.b32 $2, 0; mov.b32 $3, 0; "
                        "@one ld.shared.v4.b32 {$0, $1, $2, $3}, [$4]; }",
                        "=&r,=&r,=&r,=&r,r,~{memory}");
  gpu::Machine::NextProgram next;
  for (auto [i, id] : llvm::enumerate(next.ids)) {
    Value mine = LLVM::ExtractValueOp::create(to.b, read, static_cast<int64_t>(i));
    id = NVVM::ReduxOp::create(to.b, word, mine, NVVM::ReduxKind::OR, to.i32(-1));
  }
  arriveForWarp(to, slot.empty());
  next.exists = arith::CmpIOp::create(to.b, arith::CmpIPredicate::sge, next.ids[0], to.i32(0));
  return next;
}

}  // namespace

FailureOr<gpu::Machine::NextProgram> Machine::nextProgram(Lowering& to, tilegpu::EachProgramOp op, Value count) {
  if (isSenders(op)) return readTold(to, op, count);
  return isCopiers(op) ? claimAndTell(to, op, count) : takeTold(to, op, count);
}

LogicalResult Machine::claimProgram(Lowering& to, tilegpu::ClaimProgramOp op) {
  auto each = op->getParentOfType<tilegpu::EachProgramOp>();
  keepClaim(to, each, arith::AddIOp::create(to.b, to.programCount, to.i32(1)));
  LLVM::StoreOp::create(to.b, to.i32(1), kept(to, each, Kept::IsAhead));
  return success();
}

void initClaims(Lowering& to, func::FuncOp function) {
  auto begin = function->getAttrOfType<IntegerAttr>(tilegpu::kClaimsAttr);
  if (!begin) return;
  const int64_t readers = tilegpu::warpsOf(function) + (tilegpu::rolesOf(function).sender ? 1 : 0);
  Value base = LLVM::PtrToIntOp::create(to.b, to.b.getI32Type(), to.sharedBase);
  for (int64_t i = 0; i < 2 * kClaimSlots; ++i) {
    const int64_t arrivals = i < kClaimSlots ? 1 : readers;
    Value at = arith::AddIOp::create(to.b, base, to.i32(begin.getInt() + kClaimSlots * kClaimSlotBytes + i * kClaimBarrierBytes));
    assembly(to, {}, {at, to.i32(arrivals)}, "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}");
  }
}

}  // namespace fattn::nvidia
