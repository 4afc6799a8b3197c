// SPDX-License-Identifier: Apache-2.0
// Lets a kernel that overlaps with the launch in front of it (tile.overlaps) read what that does not write (tile.settled) before it waits:
//
//   %q = tile.gather %pq                              %t = tilegpu.copy_async %k, %b        (%k is settled)
//   %x = tile.expand_dims %q                          tilegpu.await_launches
//   %t = tilegpu.copy_async %k, %b             =>     %q = tile.gather %pq
//   tilegpu.store_buffer %x, %c                       %x = tile.expand_dims %q
//                                                     tilegpu.store_buffer %x, %c
//
// The wait stands where the first operation has to: one that touches other memory and does more than to read it, or has an effect and needs
// what was read there. Reads of other memory in front of that place, and what is computed from them, move behind the wait in their order.
// Conditions: C1 the operations are those of the function's body; one with regions that touch other memory is where the wait stands, so
// that every thread waits once. C2 what moves has no effects but such reads, and nothing that stays behind it writes global memory.
//
// Runs behind all passes that place waits and barriers. Test: tests/lit/gpu/await-launches.mlir.
#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/gpu/passes/TargetPass.h"
#include "compiler/transforms/Aliasing.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_AWAITLAUNCHESPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

class Waiter {
 public:
  explicit Waiter(func::FuncOp function) : body_(function.getBody().front()) {}

  void run() {
    Operation* place = body_.getTerminator();
    for (Operation& op : body_.without_terminator()) {
      const bool needsLate = usesLate(&op);
      if (onlyReadsOthers(&op) || (needsLate && isMemoryEffectFree(&op))) {
        late_.insert(&op);
        continue;
      }
      if (!needsLate && !touchesOthers(&op)) continue;
      place = &op;
      break;
    }
    OpBuilder b(place);
    AwaitLaunchesOp::create(b, place->getLoc());
    for (Operation* op : late_) op->moveBefore(place);
  }

 private:
  /// Anything but reads of settled memory, here or in regions.
  bool touchesOthers(Operation* op) {
    if (op->walk([](Operation* inner) {
            return isa<tile::DevicePrintOp, ClaimProgramOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
          }).wasInterrupted())
      return true;
    return llvm::any_of(transforms::accessesIn(op), [&](const transforms::MemoryAccess& access) {
      return access.writes || access.orders || !access.pointer || !aliasing_.isSettled(access.pointer);
    });
  }

  /// A load of other memory, which may go behind what does not write.
  bool onlyReadsOthers(Operation* op) { return isa<tile::LoadOp, tile::GatherOp>(op) && touchesOthers(op); }

  bool usesLate(Operation* op) {
    return op
        ->walk([&](Operation* inner) {
          auto isLate = [&](Value value) { return late_.contains(value.getDefiningOp()); };
          return llvm::any_of(inner->getOperands(), isLate) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  Block& body_;
  transforms::Aliasing aliasing_;
  llvm::SetVector<Operation*> late_;
};

struct AwaitLaunchesPass : impl::AwaitLaunchesPassBase<AwaitLaunchesPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function->hasAttr(tile::kOverlapsAttr) || !targetOf(function).overlapsLaunches) return;
    bool settled = false;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) settled |= function.getArgAttr(i, transforms::kSettledAttr) != nullptr;
    if (settled) Waiter(function).run();
  }
};

}  // namespace

}  // namespace fattn::tilegpu
