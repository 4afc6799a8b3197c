// SPDX-License-Identifier: Apache-2.0
// What passes over a module that ask the machine table have in common: the option that names the machine, and errors of the table.
#ifndef FATTN_COMPILER_GPU_PASSES_TARGETPASS_H
#define FATTN_COMPILER_GPU_PASSES_TARGETPASS_H

#include "compiler/gpu/Target.h"
#include "compiler/gpu/dialect/TileGpu.h"
#include "fattn/Error.h"
#include "mlir/Pass/Pass.h"

namespace fattn::tilegpu {

/// `Generated` is the base that Passes.td gives `Derived`, with the option `target`. `Derived` has `static void run(mlir::ModuleOp module,
/// const gpu::Target& machine)`, which may throw Error, and what else a pass has.
template <typename Generated>
class TargetPass : public Generated {
 public:
  using Generated::Generated;
  void getDependentDialects(mlir::DialectRegistry& registry) const override { registerTileGpuDialects(registry); }

  /// May throw Error.
  virtual void run(mlir::ModuleOp module, const gpu::Target& machine) = 0;

  void runOnOperation() final {
    try {
      run(this->getOperation(), gpu::findTarget(this->target.getValue()));
    } catch (const Error& error) {
      this->getOperation().emitError() << error.what();
      this->signalPassFailure();
    }
  }
};

}  // namespace fattn::tilegpu

#endif
