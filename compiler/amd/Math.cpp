// SPDX-License-Identifier: Apache-2.0
// Functions of math on f32.
//
// exp2              v_exp_f32, 1 ulp; results below 2^-126 are zero
// exp, log, log2    as LLVM expands them: around v_exp_f32 and v_log_f32, with a product of two parts and with subnormal numbers kept
// tanh              gpu/lower/MathFunctions.h
// LLVM expands sqrt, rsqrt and division, too; they are correctly rounded.
// Source: "AMD Instinct MI300 Instruction Set Architecture", section 12, V_EXP_F32, V_RCP_F32. Test: tests/lit/amd/math.mlir.
#include "mlir/Dialect/Math/IR/Math.h"

#include "compiler/amd/Machine.h"
#include "compiler/gpu/lower/MathFunctions.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;

namespace fattn::amd {

Value Machine::math(ImplicitLocOpBuilder& b, Operation* op, ValueRange operands) {
  if (operands.empty() || !operands[0].getType().isF32()) return {};
  auto exp2 = [&](Value x) -> Value { return ROCDL::ROCDLExp2::create(b, x.getType(), x); };
  auto reciprocal = [&](Value x) -> Value { return ROCDL::ROCDLRcp::create(b, x.getType(), x); };
  return llvm::TypeSwitch<Operation*, Value>(op)
      .Case([&](math::Exp2Op) { return exp2(operands[0]); })
      .Case([&](math::ExpOp) { return LLVM::ExpOp::create(b, operands[0]); })
      .Case([&](math::LogOp) { return LLVM::LogOp::create(b, operands[0]); })
      .Case([&](math::Log2Op) { return LLVM::Log2Op::create(b, operands[0]); })
      .Case([&](math::TanhOp) { return gpu::tanh(b, operands[0], exp2, reciprocal); })
      .Default([](Operation*) { return Value(); });
}

}  // namespace fattn::amd
