// SPDX-License-Identifier: Apache-2.0
// Numbers the accesses to memory and keeps a copy of the program, for -tilegpu-check-order:
//
//   %x = tile.load %p                          %x = tile.load %p                  with 0 in its location
//   tile.store %q, %x                    =>    tile.store %q, %x                  with 1 in its location
//
// Option `print` puts the copy into the module instead, as a module of the name tilegpu_before whose accesses have their numbers as
// attributes; the accesses of the function get them too. Such a file can be written as a test of -tilegpu-check-order.
//
// Test: tests/lit/gpu/record-order.mlir.
#include "compiler/gpu/check/CheckOrder.h"
#include "compiler/gpu/check/Passes.h"
#include "compiler/gpu/dialect/SourceLabels.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace fattn::check {

#define GEN_PASS_DEF_RECORDORDERPASS
#include "compiler/gpu/check/Passes.h.inc"

namespace {

class RecordOrderPass : public impl::RecordOrderPassBase<RecordOrderPass> {
 public:
  using RecordOrderPassBase::RecordOrderPassBase;
  RecordOrderPass() = default;
  explicit RecordOrderPass(std::shared_ptr<OrderRecord> record) : record(std::move(record)) {}
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isDeclaration()) continue;
      labelSources(function);
      if (print) showLabels(function);
    }
    if (record) record->before = OwningOpRef<ModuleOp>(module.clone());
  }

 private:
  static void showLabels(func::FuncOp function) {
    function.walk([](Operation* op) {
      if (auto label = tilegpu::sourceLabelOf(op))
        op->setAttr(tilegpu::kSourceAttr, DenseI64ArrayAttr::get(op->getContext(), {label->source, label->clone}));
    });
  }

  std::shared_ptr<OrderRecord> record;
};

}  // namespace

std::unique_ptr<Pass> createRecordOrderPass(std::shared_ptr<OrderRecord> record) {
  return std::make_unique<RecordOrderPass>(std::move(record));
}

}  // namespace fattn::check
