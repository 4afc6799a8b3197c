// SPDX-License-Identifier: Apache-2.0
// Blocks that share copies (tilegpu.cluster): a cluster of the launch, along x. Shared memory has the same places in all of them.
//
//   copy_async (one thread)   wait for empty[slot] of this block; arrive on its full[slot], expecting all bytes; copy this block's
//                             part of the boxes to all blocks, each of which counts them on its own full[slot]
//   release (each warp)       arrive on empty[slot] of all blocks: the slot is free where no block reads it any more
//
// A part may arrive before its block expects it: the phase ends with the arrival that expects it. No block ends before all others have read
// what it has copied and arrived on its barriers.
//
// Sources: PTX ISA 8.7, "cp.async.bulk.tensor" (.multicast), "mapa", "mbarrier.arrive", "barrier.cluster". Test:
// tests/lit/nvidia/clusters.mlir.
#include "compiler/nvidia/Boxes.h"
#include "compiler/nvidia/Machine.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::Lowering;

void meetCluster(Lowering& to, Operation* op) {
  if (tilegpu::clusterOf(op) == 1) return;
  assembly(to, {}, {}, "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;", "~{memory}");
}

Value clusterRank(Lowering& to, Operation* op) {
  return arith::RemUIOp::create(to.b, to.machine.programId(to.b, 0), to.i32(tilegpu::clusterOf(op)));
}

// The first lanes speak for the warp, one to each block.
void arriveInCluster(Lowering& to, Operation* op, Value barrier) {
  Value tells = arith::CmpIOp::create(to.b, arith::CmpIPredicate::ult, to.lane, to.i32(tilegpu::clusterOf(op)));
  assembly(to, {}, {barrier, to.lane, tells},
           "{ .reg .b32 there; @$2 mapa.shared::cluster.u32 there, $0, $1; @$2 mbarrier.arrive.shared::cluster.b64 _, [there]; }",
           "r,r,b,~{memory}");
}

void Machine::endBlock(Lowering& to, func::FuncOp function) { meetCluster(to, function); }

}  // namespace fattn::nvidia
