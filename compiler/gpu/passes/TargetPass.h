// SPDX-License-Identifier: Apache-2.0
// What passes over a module that ask the machine table have in common: the option that names the machine, and errors of the table.
#ifndef FATTN_COMPILER_GPU_PASSES_TARGETPASS_H
#define FATTN_COMPILER_GPU_PASSES_TARGETPASS_H

#include "compiler/gpu/Target.h"
#include "compiler/gpu/dialect/TileGpu.h"
#include "fattn/Error.h"
#include "mlir/Pass/Pass.h"

namespace fattn::tilegpu {

/// `Derived` has `static void run(mlir::ModuleOp module, const gpu::Target& machine)`, which may throw Error, and what else a pass has.
template <typename Derived>
class TargetPass : public mlir::PassWrapper<Derived, mlir::OperationPass<mlir::ModuleOp>> {
  friend Derived;
  using Base = mlir::PassWrapper<Derived, mlir::OperationPass<mlir::ModuleOp>>;
  explicit TargetPass(const std::string& name) { target = name; }
  TargetPass(const TargetPass& other) : Base(other) {}

 public:
  void getDependentDialects(mlir::DialectRegistry& registry) const override { registerTileGpuDialects(registry); }

  void runOnOperation() override {
    try {
      Derived::run(this->getOperation(), gpu::findTarget(target.getValue()));
    } catch (const Error& error) {
      this->getOperation().emitError() << error.what();
      this->signalPassFailure();
    }
  }

 private:
  mlir::Pass::Option<std::string> target{*this, "target", llvm::cl::desc("A name of the machine table"),
                                         llvm::cl::init(std::string(gpu::defaultTarget()))};
};

}  // namespace fattn::tilegpu

#endif
