// SPDX-License-Identifier: Apache-2.0
// Who still needs a value: code is made in program order, so a value is dead once all that read it, or what is computed from it without
// memory, are done.
#ifndef FATTN_COMPILER_CPU_STATE_LIVENESS_H
#define FATTN_COMPILER_CPU_STATE_LIVENESS_H

#include <vector>

#include "compiler/cpu/state/Tiles.h"
#include "mlir/IR/Operation.h"

namespace fattn::cpu {

class Liveness {
 public:
  explicit Liveness(const Tiles& tiles) : tiles(tiles) {}

  void markDone(mlir::Operation* op) { done.insert(op); }
  bool isDone(mlir::Operation* op) const { return done.contains(op); }
  bool isDead(mlir::Value value);
  /// Dead once the operations that `counts` names are done, too.
  bool deadAfter(mlir::Value value, llvm::function_ref<bool(mlir::Operation*)> counts) const;
  /// To be called before tiles get memory: that ends uses of others behind them.
  void forgetUsers() { pendingUser.clear(); }
  /// Is the memory overwritten, perhaps, between this load and the last use of its value? Then it has to be read now.
  bool overwrittenBeforeUse(mlir::Operation* load);

 private:
  mlir::Operation* nextWriter(mlir::Operation* op);

  const Tiles& tiles;
  llvm::DenseSet<mlir::Operation*> done;
  llvm::DenseMap<mlir::Value, mlir::Operation*> pendingUser;                   ///< a user that was not done when it was last looked for
  llvm::DenseMap<mlir::Block*, std::vector<mlir::Operation*>> writersOfBlock;  ///< operations that write to global memory, in order
};

}  // namespace fattn::cpu

#endif
