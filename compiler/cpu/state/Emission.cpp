// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/state/Emission.h"

using namespace mlir;

namespace fattn::cpu {

Emission::Emission(func::FuncOp source, const HostTarget& host, const OpBuilder& at, EntryPointers entry)
    : source(source), entry(entry), lanes(source, host.lanes), b(source.getLoc(), at, host), buffers(b, entry.scratch), liveness(tiles) {}

void releaseDead(Emission& e, Block& block) {
  e.tiles.dropOwners([&](Value tile, View& view) {
    if (view.slot < 0) return true;
    if (tile.getParentBlock() != &block || !e.liveness.isDead(tile)) return false;
    e.buffers.release(view);
    return true;
  });
}

}  // namespace fattn::cpu
