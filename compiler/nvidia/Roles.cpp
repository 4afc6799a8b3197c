// SPDX-License-Identifier: Apache-2.0
// Warp groups with a role of their own: who they are, their registers, and turns among those that compute. A group waits for its turn at a
// named barrier of its own, at which the group before arrives.
//
// Sources: PTX ISA 8.7, "setmaxnreg", "elect.sync", "bar". Test: tests/lit/nvidia/roles.mlir.
#include "compiler/nvidia/Machine.h"
#include "compiler/nvidia/Watchdog.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::Lowering;

namespace {

/// The barrier of the first group's turns; 0 is the block's, 1 that of the computing warps (Machine.cpp).
constexpr int64_t kFirstTurn = 2;

int64_t groupWarps(Operation* op) { return *tilegpu::targetOf(op).warpGroup; }
int64_t groupsOf(Operation* op) { return tilegpu::warpsOf(op) / groupWarps(op); }

void atBarrier(Lowering& to, Operation* op, StringRef instruction, Value number) {
  int64_t threads = 2 * groupWarps(op) * tilegpu::targetOf(op).warpSize;  // those who wait, and those who arrive
  auto dialect = LLVM::AsmDialectAttr::get(to.b.getContext(), LLVM::AsmDialect::AD_ATT);
  LLVM::InlineAsmOp::create(to.b, TypeRange(), {number, to.i32(threads)}, (instruction + " $0, $1;").str(), "r,n,~{memory}",
                            /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None, dialect, ArrayAttr());
}

Value groupNumber(Lowering& to, Operation* op) { return arith::DivUIOp::create(to.b, to.uniformWarp, to.i32(groupWarps(op))); }

}  // namespace

LogicalResult Machine::isCopier(Lowering& to, tilegpu::IsCopierOp op) {
  int64_t warps = tilegpu::warpsOf(op);
  if (!op.getThread()) {
    to.setScalar(op.getResult(), arith::CmpIOp::create(to.b, arith::CmpIPredicate::uge, to.uniformWarp, to.i32(warps)));
    limitBarriers(warps * tilegpu::targetOf(op).warpSize);  // what stands outside of the branch comes before it
    return success();
  }
  const int64_t warp = warps + op.getThreadAttr().getInt();
  Value inWarp = arith::CmpIOp::create(to.b, arith::CmpIPredicate::eq, to.uniformWarp, to.i32(warp));
  Value one = NVVM::ElectSyncOp::create(to.b, to.b.getI1Type(), Value());
  to.setScalar(op.getResult(), arith::AndIOp::create(to.b, inWarp, one));
  return success();
}

LogicalResult Machine::warpLeast(Lowering& to, tilegpu::WarpLeastOp op) {
  Value least;
  for (Value element : to.registers(op.getInput())) least = least ? arith::MinSIOp::create(to.b, least, element).getResult() : element;
  to.setScalar(op.getResult(), NVVM::ReduxOp::create(to.b, to.b.getI32Type(), least, NVVM::ReduxKind::MIN, to.i32(-1)));
  return success();
}

LogicalResult Machine::groupLast(Lowering& to, tilegpu::GroupLastOp op) {
  Value group = groupNumber(to, op), result;
  for (auto [number, last] : llvm::enumerate(op.byGroup())) {
    Value mine = to.i32(last);
    if (result) {
      Value is = arith::CmpIOp::create(to.b, arith::CmpIPredicate::eq, group, to.i32(static_cast<int64_t>(number)));
      mine = arith::SelectOp::create(to.b, is, mine, result);
    }
    result = mine;
  }
  to.setScalar(op.getResult(), result);
  return success();
}

LogicalResult Machine::setRegisters(Lowering& to, tilegpu::SetRegistersOp op) {
  if (watchdogOf(op) != 0) return success();  // a kernel that calls functions keeps the registers it starts with
  auto action = op.getMore() ? NVVM::SetMaxRegisterAction::increase : NVVM::SetMaxRegisterAction::decrease;
  NVVM::SetMaxRegisterOp::create(to.b, static_cast<uint32_t>(op.getCount()), action);
  return success();
}

LogicalResult Machine::turnWait(Lowering& to, tilegpu::TurnWaitOp op) {
  atBarrier(to, op, "bar.sync", arith::AddIOp::create(to.b, groupNumber(to, op), to.i32(kFirstTurn)));
  return success();
}

LogicalResult Machine::turnPass(Lowering& to, tilegpu::TurnPassOp op) {
  Value group = groupNumber(to, op);
  Value last = arith::CmpIOp::create(to.b, arith::CmpIPredicate::eq, group, to.i32(groupsOf(op) - 1));
  if (!op.getFirst()) {
    Value next = arith::AddIOp::create(to.b, group, to.i32(kFirstTurn + 1));
    atBarrier(to, op, "bar.arrive", arith::SelectOp::create(to.b, last, to.i32(kFirstTurn), next));
    return success();
  }
  auto branch = scf::IfOp::create(to.b, last, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(to.b);
  to.b.setInsertionPointToStart(branch.thenBlock());
  atBarrier(to, op, "bar.arrive", to.i32(kFirstTurn));
  return success();
}

}  // namespace fattn::nvidia
