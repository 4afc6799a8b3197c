// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/EmitKernel.h"

#include "compiler/cpu/builder/Convert.h"
#include "compiler/cpu/operations/Operations.h"
#include "compiler/cpu/state/Emission.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Reads argument `i` of the source from its slot of eight bytes.
Value argumentOf(Emission& e, BlockArgument arg, int32_t i) {
  HostBuilder& b = e.b;
  Type type = isa<tile::PtrType>(arg.getType()) ? Type(LLVM::LLVMPointerType::get(b.getContext())) : arg.getType();
  Type memory = type.isInteger(1) ? Type(b.getI8Type()) : type;
  Value args = e.entry.args;
  Value at = LLVM::GEPOp::create(b, args.getType(), b.getI64Type(), args, ArrayRef<LLVM::GEPArg>{i});
  return convert(b, LLVM::LoadOp::create(b, memory, at), type);
}

}  // namespace

FailureOr<int64_t> emitKernel(func::FuncOp source, const HostTarget& host, const OpBuilder& at, EntryPointers entry) {
  Emission e(source, host, at, entry);
  for (BlockArgument arg : source.getArguments()) e.scalars.map(arg, argumentOf(e, arg, static_cast<int32_t>(arg.getArgNumber())));
  if (failed(emitBlock(e, source.getBody().front()))) return failure();
  return e.buffers.bytes();
}

}  // namespace fattn::cpu
