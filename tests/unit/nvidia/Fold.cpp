// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/nvidia/Fold.h"

#include <llvm/ADT/bit.h>

#include <stdexcept>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace fattn {

mlir::Value floatOfBits(mlir::ImplicitLocOpBuilder& b, std::uint32_t bits) {
  return mlir::arith::ConstantOp::create(b,
                                         b.getFloatAttr(b.getF32Type(), llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, bits))));
}

std::vector<std::uint32_t> folded(mlir::MLIRContext& context,
                                  llvm::function_ref<std::vector<mlir::Value>(mlir::ImplicitLocOpBuilder&)> emit) {
  mlir::Location loc = mlir::UnknownLoc::get(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
  mlir::ImplicitLocOpBuilder b = mlir::ImplicitLocOpBuilder::atBlockEnd(loc, module->getBody());
  auto function = mlir::func::FuncOp::create(b, "f", b.getFunctionType({}, {}));
  b.setInsertionPointToStart(function.addEntryBlock());
  std::vector<mlir::Value> values = emit(b);
  mlir::ValueRange range(values);
  function.setFunctionType(b.getFunctionType({}, range.getTypes()));
  auto results = mlir::func::ReturnOp::create(b, range);
  mlir::PassManager passes(&context);
  passes.addPass(mlir::createCanonicalizerPass());
  if (failed(passes.run(*module))) throw std::runtime_error("the canonicalizer failed");
  std::vector<std::uint32_t> numbers;
  for (mlir::Value value : results.getOperands()) {
    llvm::APInt number;
    if (!matchPattern(value, mlir::m_ConstantInt(&number))) throw std::runtime_error("a value does not fold to a constant");
    numbers.push_back(static_cast<std::uint32_t>(number.getZExtValue()));
  }
  return numbers;
}

}  // namespace fattn
