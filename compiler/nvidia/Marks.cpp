// SPDX-License-Identifier: Apache-2.0
// Marks (tilegpu.mark) of the launch's first block: what each warp group does, and when by the multiprocessor's clock, which all of its
// warps share. %globaltimer would tell the time of day, in steps of 32 ns and more, where a loop's trip takes less than 1000.
//
//   fattn_trace:        for each role (the computing groups, then the copying warps) 32 KB, from a multiple of 32 KB on, of marks of 8
//                       bytes: the event's number, from 1 on, and %clock; behind the last one an event of -1; the last place is written
//                       again and again
//   fattn_trace_names:  "groups roles\n", and a line for each event
//
// No branches: asynchronous dots may be in flight. What a thread keeps is the address of its next mark, null where it makes none. The
// runtime (runtime/cuda/RoleTrace.h) reads both symbols.
//
// Source: PTX ISA 8.7, "%clock". Test: tests/lit/nvidia/marks.mlir.
#include <fmt/format.h>

#include "compiler/nvidia/Boxes.h"
#include "compiler/nvidia/Machine.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::Lowering;

namespace {

constexpr int64_t kRoleBytes = 32768, kMarkBytes = 8;
constexpr StringLiteral kTrace = "fattn_trace", kNames = "fattn_trace_names";
constexpr unsigned kGlobal = 1;

int64_t warpsTogether(Operation* op) { return tilegpu::targetOf(op).warpGroup.value_or(1); }
int64_t computingGroups(Operation* op) { return tilegpu::warpsOf(op) / warpsTogether(op); }
int64_t rolesOf(Operation* op) { return computingGroups(op) + (tilegpu::copierWarpsOf(op->getParentOfType<func::FuncOp>()) > 0 ? 1 : 0); }

/// Makes the two symbols where the module has none.
void declare(Lowering& to, tilegpu::MarkOp op) {
  auto module = to.b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  if (module.lookupSymbol(kTrace)) return;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  const auto bytesOfAll = static_cast<unsigned>((rolesOf(op) + 1) * kRoleBytes);
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytesOfAll);
  auto trace = LLVM::GlobalOp::create(builder, op.getLoc(), type, /*isConstant=*/false, LLVM::Linkage::External, kTrace, Attribute(),
                                      /*alignment=*/8, kGlobal);
  builder.createBlock(&trace.getInitializerRegion());
  LLVM::ReturnOp::create(builder, op.getLoc(), LLVM::ZeroOp::create(builder, op.getLoc(), type).getResult());
  builder.setInsertionPointAfter(trace);
  std::string names = fmt::format("{} {}\n", computingGroups(op), rolesOf(op));
  for (auto text : op->getParentOfType<func::FuncOp>()->getAttrOfType<ArrayAttr>(tilegpu::kMarksAttr).getAsValueRange<StringAttr>())
    names += text.str() + "\n";
  auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), static_cast<unsigned>(names.size()));
  LLVM::GlobalOp::create(builder, op.getLoc(), bytes, /*isConstant=*/true, LLVM::Linkage::External, kNames, builder.getStringAttr(names),
                         /*alignment=*/1, kGlobal);
}

/// The address of the first mark of the thread's role, as a number (i64); 0 in threads that make none.
Value firstMark(Lowering& to, tilegpu::MarkOp op, bool copies, Value block) {
  ImplicitLocOpBuilder& b = to.b;
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), kGlobal);
  Value all = LLVM::PtrToIntOp::create(b, b.getI64Type(), LLVM::AddressOfOp::create(b, pointer, kTrace));
  all = arith::AddIOp::create(b, all, to.i64(kRoleBytes - 1));
  all = arith::AndIOp::create(b, all, to.i64(-kRoleBytes));
  Value others = block, role = to.i32(computingGroups(op));
  if (!copies) {
    Value warp = arith::RemUIOp::create(b, to.warp, to.i32(warpsTogether(op)));
    others = arith::OrIOp::create(b, others, to.lane);
    others = arith::OrIOp::create(b, others, warp);
    role = arith::DivUIOp::create(b, to.warp, to.i32(warpsTogether(op)));
  }
  role = arith::ExtUIOp::create(b, b.getI64Type(), role);
  Value offset = arith::MulIOp::create(b, role, to.i64(kRoleBytes));
  Value first = arith::AddIOp::create(b, all, offset);
  Value marks = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, others, to.i32(0));
  return arith::SelectOp::create(b, marks, first, to.i64(0));
}

}  // namespace

LogicalResult Machine::mark(Lowering& to, tilegpu::MarkOp op) {
  ImplicitLocOpBuilder& b = to.b;
  declare(to, op);
  const bool copies = isCopiers(op);
  Value& place = markPlaces_[copies ? 1 : 0];
  if (!place) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(to.warp);
    Value block = programId(b, 0);
    for (int axis : {1, 2}) block = arith::OrIOp::create(b, block, programId(b, axis));
    place = LLVM::AllocaOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), b.getI64Type(), to.i32(1));
    LLVM::StoreOp::create(b, firstMark(to, op, copies, block), place);
  }
  Value at = LLVM::LoadOp::create(b, b.getI64Type(), place);
  Value next = assembly(to, b.getI64Type(), {at, to.i32(static_cast<int64_t>(op.getEvent()) + 1)},
                        fmt::format("{{ .reg .pred on; .reg .b32 now, low; setp.ne.b64 on, $0, 0; mov.u32 now, %clock; "
                                    "@on st.global.v2.b32 [$0], {{$2, now}}; cvt.u32.u64 low, $0; and.b32 low, low, {}; "
                                    "setp.ne.and.b32 on, low, {}, on; @on st.global.b32 [$0+{}], -1; @on add.s64 $0, $0, {}; }}",
                                    kRoleBytes - 1, kRoleBytes - kMarkBytes, kMarkBytes, kMarkBytes),
                        "=l,0,n,~{memory}");
  LLVM::StoreOp::create(b, next, place);
  return success();
}

}  // namespace fattn::nvidia
