// SPDX-License-Identifier: Apache-2.0
// The way from a traced program to the compiler.
#include <gtest/gtest.h>

#include "dsl/Internal.h"
#include "fattn/dsl/Dsl.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

namespace fattn::dsl {
namespace {

void twice(Params& args) {
  Ptr x = args.ptr("x", DType::F32);
  store(x, load(x) * 2);
}

TEST(Internal, TracesIntoAContextOfTheCaller) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const Program program = internal::traceInto(context, "twice", twice);
  EXPECT_EQ(internal::module(program).getContext(), &context);
  EXPECT_EQ(program.mlir(), trace("twice", twice).mlir());
}

TEST(Internal, TheModuleHoldsOneKernel) {
  const Program program = trace("twice", twice);
  mlir::ModuleOp module = internal::module(program);
  ASSERT_EQ(std::distance(module.getOps<mlir::func::FuncOp>().begin(), module.getOps<mlir::func::FuncOp>().end()), 1);
  mlir::func::FuncOp kernel = *module.getOps<mlir::func::FuncOp>().begin();
  EXPECT_EQ(kernel.getName(), "twice");
  EXPECT_TRUE(kernel->hasAttr("tile.kernel"));
}

}  // namespace
}  // namespace fattn::dsl
