// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/loops/LastTrip.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

/// A copy that is never issued, and waits for it alone.
void eraseSkipped(CopyAsyncOp copy) {
  for (Operation* user : llvm::make_early_inc_range(copy->getUsers()))
    if (isa<CopyWaitOp>(user) && user->getNumOperands() == 1) user->erase();
  if (copy->use_empty()) copy->erase();
}

/// Lets users have what a selection by `no` comes to.
void foldSelection(Operation* op, Value no) {
  if (auto select = dyn_cast<arith::SelectOp>(op); select && select.getCondition() == no)
    select.getResult().replaceAllUsesWith(select.getFalseValue());
}

bool isNeverTaken(Operation* op, Value no) {
  auto branch = dyn_cast<scf::IfOp>(op);
  return branch && branch->getNumResults() == 0 && !branch.elseBlock() && branch.getCondition() == no;
}

}  // namespace

void eraseUnneeded(ArrayRef<Operation*> ops, const llvm::SmallPtrSetImpl<Operation*>& skipped, Value no) {
  for (Operation* op : llvm::reverse(ops)) {
    foldSelection(op, no);
    if (auto copy = dyn_cast<CopyAsyncOp>(op); copy && skipped.contains(op))
      eraseSkipped(copy);
    else if (skipped.contains(op) || isNeverTaken(op, no) || isOpTriviallyDead(op))
      op->erase();
  }
}

}  // namespace fattn::tilegpu
