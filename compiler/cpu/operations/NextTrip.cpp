// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/operations/NextTrip.h"

#include "compiler/transforms/AffineTiles.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Values that are the same in every trip of a loop, although some are computed inside.
class Unchanged {
 public:
  explicit Unchanged(scf::ForOp loop) : loop(loop) {}

  bool operator()(Value v) {
    if (loop.isDefinedOutsideOfLoop(v) || known.contains(v)) return true;
    Operation* op = v.getDefiningOp();
    if (!op || op->getNumRegions() || !isPure(op)) return false;
    if (!llvm::all_of(op->getOperands(), [&](Value operand) { return (*this)(operand); })) return false;
    known.insert(v);
    return true;
  }

 private:
  scf::ForOp loop;
  llvm::DenseSet<Value> known;
};

/// By how much an offset grows from trip to trip; none where that is not the same for all trips.
std::optional<int64_t> growth(Value offset, scf::ForOp loop, int64_t step, Unchanged& isUnchanged) {
  if (isUnchanged(offset)) return 0;
  SmallVector<transforms::IntegerResult> computed;
  std::optional<transforms::AffineBounds> bounds = transforms::boundsOf(offset, computed);
  if (!bounds) return std::nullopt;
  for (auto& [term, coefficient] : bounds->terms)
    if (term != loop.getInductionVar() && coefficient != 0 && !isUnchanged(term)) return std::nullopt;
  return bounds->coefficientOf(loop.getInductionVar()) * step;
}

}  // namespace

int readsOnAlong(tile::LoadOp load) {
  auto loop = load->getParentOfType<scf::ForOp>();
  auto window = load.getPtr().getDefiningOp<tile::MakeBlockPtrOp>();
  std::optional<int64_t> step = loop ? getConstantIntValue(loop.getStep()) : std::nullopt;
  if (!window || !step) return -1;
  Unchanged isUnchanged(loop);
  bool stays = isUnchanged(window.getBase()) && llvm::all_of(window.getStrides(), [&](Value stride) { return isUnchanged(stride); });
  if (!stays) return -1;
  int along = -1;
  for (auto [d, offset] : llvm::enumerate(window.getOffsets())) {
    std::optional<int64_t> grows = growth(offset, loop, *step, isUnchanged);
    if (grows == 0) continue;
    if (along >= 0 || grows != load.getResult().getType().getDimSize(d)) return -1;
    along = static_cast<int>(d);
  }
  return along;
}

}  // namespace fattn::cpu
