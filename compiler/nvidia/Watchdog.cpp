// SPDX-License-Identifier: Apache-2.0
// The clock is read between attempts; when time is up the kernel calls what CUDA's assert() calls, whose message outlives the kernel:
//
//   again:  mbarrier.try_wait      it sleeps for a while before it says no
//           %globaltimer           time is up: __assertfail(message, kernel, 0, role, 1)
//
// Sources: PTX ISA 8.7, "%globaltimer"; PTX Writer's Guide to Interoperability, "System calls: __assertfail". Test:
// tests/lit/nvidia/watchdog.mlir.
#include "compiler/nvidia/Watchdog.h"

#include <fmt/format.h>

#include "compiler/nvidia/Boxes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::Lowering;

namespace {

ModuleOp moduleOf(Lowering& to) { return to.b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>(); }

Type pointerOf(Lowering& to) { return LLVM::LLVMPointerType::get(to.b.getContext()); }

LLVM::LLVMFuncOp assertFail(Lowering& to) {
  constexpr StringLiteral kName = "__assertfail";
  ModuleOp module = moduleOf(to);
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(kName)) return known;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  Type pointer = pointerOf(to);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                          {pointer, pointer, builder.getI32Type(), pointer, builder.getI64Type()});
  return LLVM::LLVMFuncOp::create(builder, module.getLoc(), kName, type);
}

}  // namespace

Value addressOfText(Lowering& to, StringRef characters) {
  ModuleOp module = moduleOf(to);
  std::string bytes = characters.str() + '\0', symbol;
  for (int number = 0;; ++number) {
    symbol = fmt::format("fattn_text_{}", number);
    auto known = module.lookupSymbol<LLVM::GlobalOp>(symbol);
    if (known && cast<StringAttr>(known.getValueAttr()).getValue() == bytes) break;
    if (known) continue;
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), static_cast<unsigned>(bytes.size()));
    LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Internal, symbol,
                           builder.getStringAttr(bytes));
    break;
  }
  return LLVM::AddressOfOp::create(to.b, pointerOf(to), symbol);
}

int64_t watchdogOf(Operation* op) {
  auto milliseconds = op->getParentOfType<func::FuncOp>()->getAttrOfType<IntegerAttr>(tilegpu::kWatchdogAttr);
  return milliseconds ? milliseconds.getInt() : 0;
}

void waitOrFail(Lowering& to, Value barrier, Value parity, int64_t milliseconds, StringRef role, llvm::function_ref<Value()> message) {
  constexpr int64_t kNanoseconds = 1'000'000;  // of a millisecond
  Value late = assembly(to, to.b.getI32Type(), {barrier, parity},
                        fmt::format("{{ .reg .pred done, early; .reg .b64 start, now; mov.u64 start, %globaltimer; mov.b32 $0, 0; "
                                    "again: mbarrier.try_wait.parity.shared::cta.b64 done, [$1], $2; @done bra end; "
                                    "mov.u64 now, %globaltimer; sub.u64 now, now, start; setp.lt.u64 early, now, {}; @early bra again; "
                                    "mov.b32 $0, 1; end: }}",
                                    milliseconds * kNanoseconds),
                        "=&r,r,r,~{memory}");
  Value failed = arith::CmpIOp::create(to.b, arith::CmpIPredicate::ne, late, to.i32(0));
  inBranch(to, failed, [&] {
    StringRef kernel = to.b.getInsertionBlock()->getParentOp()->getParentOfType<func::FuncOp>().getName();
    Value text = message(), file = addressOfText(to, kernel), function = addressOfText(to, role);
    LLVM::CallOp::create(to.b, assertFail(to), ValueRange{text, file, to.i32(0), function, to.i64(1)});
  });
}

}  // namespace fattn::nvidia
