// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/passes/loops/LoopGroups.h"

#include <algorithm>

#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/roles/Roles.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

constexpr int kRowsOfGroup = 64;  // of an instruction that a group of warps has the matrix unit do

bool runApart(const gpu::LoopModel& model, scf::ForOp loop, ArrayRef<Operation*> fetches) {
  const gpu::Target& target = targetOf(loop);
  if (!target.warpGroup || !hasRoomForCopier(loop->getParentOfType<func::FuncOp>())) return false;
  auto isApart = [&](const gpu::Node& node) {
    if (node.kind != gpu::NodeKind::Dot) return node.work.sharedBytes == 0;
    const gpu::MatrixInstruction* row = target.matrixFor(node.dot.type, node.dot.instruction);
    return row && row->asynchronous;
  };
  auto isBoxes = [](Operation* fetch) {
    auto copy = dyn_cast<CopyAsyncOp>(fetch);
    return !copy || copy.isBulk();
  };
  auto exchanges = [](StoreBufferOp store) { return isExchange(store); };
  return llvm::all_of(model.nodes, isApart) && llvm::all_of(fetches, isBoxes) &&
         llvm::none_of(loop.getBody()->getOps<StoreBufferOp>(), exchanges);
}

}  // namespace

void partIntoGroups(gpu::LoopModel& model, scf::ForOp loop, ArrayRef<Operation*> fetches) {
  if (!runApart(model, loop, fetches)) return;
  const int groups = static_cast<int>(warpsOf(loop) / *targetOf(loop).warpGroup);
  for (gpu::Node& node : model.nodes) {
    // Of rows, or of columns where there are too few rows.
    int& size = node.dot.m % (groups * kRowsOfGroup) == 0 ? node.dot.m : node.dot.n;
    size /= groups;
    for (double* work : {&node.work.exp2, &node.work.fma, &node.work.add, &node.work.convert, &node.work.shuffle}) *work /= groups;
  }
  model.threads /= groups;
  model.groups = std::min(model.groups * groups, gpu::kMaxGroups);
}

}  // namespace fattn::tilegpu
