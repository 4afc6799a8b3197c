// SPDX-License-Identifier: Apache-2.0
// Rounds what a product multiplies behind the select_lazy that it comes through, where the matrix unit works meanwhile:
//
//   %n = arith.truncf %p                              %z = tile.select_lazy %any usual(%p) {
//   %z = tile.select_lazy %any usual(%n) {              ...
//     ...                                      =>       tile.yield %q
//     %m = arith.truncf %q                            }
//     tile.yield %m                                   %n = arith.truncf %z
//   }                                                 tile.dot %n, ...
//   tile.dot %z, ...
//
// The lowering of a select_lazy ends with a branch, and no code generator moves work over it. In front of the branch rounding delays it
// and the product behind; behind the branch the product's first step waits for its own fragment alone, and the rest is rounded while the
// matrix unit works. Each element takes a wider register over the branch: worth it where rounding takes several instructions.
// Assumption: A1 both sides round the value. Test: tests/lit/gpu/round-behind-lazy.mlir.
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/TargetPass.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_ROUNDBEHINDLAZYPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// Whether the machine rounds to this type in several instructions, beside which its matrix unit works.
bool isWorthwhile(const gpu::Target& machine, Type element) {
  if (!element.isBF16() || machine.rates.convertsToBF16) return false;
  const gpu::MatrixInstruction* row = machine.emittedFor(DType::BF16);
  return row && !row->occupiesAlu;
}

bool feedsDot(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation* user) { return isa<tile::DotOp>(user); });
}

/// The same operation with the results of these numbers as wide as what is rounded to them.
void widen(tile::SelectLazyOp lazy, ArrayRef<unsigned> numbers) {
  Operation* yield = lazy.getExact().front().getTerminator();
  for (unsigned i : numbers) {
    auto usual = lazy.getUsual()[i].getDefiningOp<arith::TruncFOp>(), exact = yield->getOperand(i).getDefiningOp<arith::TruncFOp>();
    OpBuilder b(lazy->getContext());
    b.setInsertionPointAfter(lazy);
    Value result = lazy.getResult(i);
    auto rounded = cast<arith::TruncFOp>(b.clone(*usual));
    result.replaceAllUsesExcept(rounded.getResult(), rounded);
    rounded.getInMutable().assign(result);
    result.setType(usual.getIn().getType());
    lazy.getUsualMutable()[i].assign(usual.getIn());
    yield->setOperand(i, exact.getIn());
    if (usual->use_empty()) usual->erase();
    if (exact->use_empty()) exact->erase();
  }
}

class RoundBehindLazyPass : public TargetPass<impl::RoundBehindLazyPassBase<RoundBehindLazyPass>> {
 public:
  using TargetPass::TargetPass;
  void run(ModuleOp module, const gpu::Target& machine) override {
    module.walk([&](tile::SelectLazyOp lazy) {
      Operation* yield = lazy.getExact().front().getTerminator();
      SmallVector<unsigned> numbers;
      for (auto [i, result] : llvm::enumerate(lazy.getResults())) {
        auto usual = lazy.getUsual()[i].getDefiningOp<arith::TruncFOp>(), exact = yield->getOperand(i).getDefiningOp<arith::TruncFOp>();
        if (usual && exact && usual.getIn().getType() == exact.getIn().getType() && feedsDot(result) &&
            isWorthwhile(machine, getElementTypeOrSelf(result.getType())))
          numbers.push_back(static_cast<unsigned>(i));
      }
      widen(lazy, numbers);
    });
  }
};

}  // namespace

}  // namespace fattn::tilegpu
