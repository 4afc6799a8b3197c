// SPDX-License-Identifier: Apache-2.0
// Lets neighbouring blocks share what they copy alike: the blocks of a cluster, which are neighbours along x, each bring a part of the tile
// for all.
//
//   %b = alloc : buffer<2 x 64x256xbf16>            %b = alloc {tilegpu.shared_copies} : ...
//   scf.if (is_copier thread 0) {                 (function: tilegpu.cluster = 2)
//     scf.for ... { copy_async %k, %b[%s] }   =>
//   }
//   tile.store %p, %x                               scf.if (program_id x < num_programs x) { tile.store %p, %x }
//
// A copy is alike where neither its place nor whether and how often it is made follows from the program's id along x. It waits until the
// slot is free in all blocks, and a release tells all of them.
//
// A launch's blocks along x are then a multiple of the cluster's. A block too many computes what the last program does, as the others need
// its part of the copies, and stores nothing.
//
// Conditions, else the function stays as it is: C1 roles are split, and a block takes one program; C2 some buffer has alike copies only,
// into slots that are released, and as many boxes as can be shared out; C3 nothing that writes global memory has a result.
//
// Runs behind -tilegpu-split-roles. Test: tests/lit/gpu/share-copies.mlir.
#include "compiler/gpu/passes/Buffers.h"
#include "compiler/gpu/passes/Passes.h"
#include "compiler/transforms/Aliasing.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::tilegpu {

#define GEN_PASS_DEF_SHARECOPIESPASS
#include "compiler/gpu/passes/Passes.h.inc"

namespace {

/// Whether an operation, with the control flow around it, follows from the program's id along x.
bool followsFromX(Operation* op) {
  SetVector<Value> from;
  const auto add = [&](Operation* needed) {
    from.insert_range(needed->getOperands());
    for (Operation* parent = needed->getParentOp(); parent && !isa<func::FuncOp>(parent); parent = parent->getParentOp())
      from.insert_range(parent->getOperands());
  };
  add(op);
  for (size_t i = 0; i < from.size(); ++i) {
    if (auto argument = dyn_cast<BlockArgument>(from[i])) {
      Operation* parent = argument.getOwner()->getParentOp();
      if (isa<func::FuncOp>(parent)) continue;
      from.insert_range(parent->getOperands());
      from.insert_range(argument.getOwner()->getTerminator()->getOperands());
      continue;
    }
    Operation* made = from[i].getDefiningOp();
    if (auto program = dyn_cast<tile::ProgramIdOp>(made); program && program.getAxis() == tile::Axis::x) return true;
    add(made);
    for (Region& region : made->getRegions())
      for (Block& block : region) from.insert_range(block.getTerminator()->getOperands());
  }
  return false;
}

int64_t boxesOf(CopyAsyncOp copy) {
  auto maps = copy->getParentOfType<func::FuncOp>()->getAttrOfType<ArrayAttr>(kTensorMapsAttr);
  ArrayRef<int64_t> box = cast<DenseI64ArrayAttr>(cast<DictionaryAttr>(maps[*copy.getMap()]).get("box")).asArrayRef();
  int64_t elements = 1;
  for (int64_t size : copy.getPtr().getType().getShape()) elements *= size;
  return elements / (box[0] * box[1]);
}

/// C2.
SmallVector<AllocOp> sharedBuffers(func::FuncOp func, int64_t cluster) {
  llvm::MapVector<AllocOp, bool> alike;
  func.walk([&](CopyAsyncOp copy) {
    if (!copy.isBulk() || isMadeElsewhere(copy)) return;
    auto alloc = copy.getBuffer().getDefiningOp<AllocOp>();
    const bool isAlike = isReleased(alloc.getResult()) && !alloc.getArrives() && boxesOf(copy) % cluster == 0 && !followsFromX(copy);
    auto [known, fresh] = alike.insert({alloc, isAlike});
    if (!fresh) known->second &= isAlike;
  });
  SmallVector<AllocOp> shared;
  for (auto [alloc, isAlike] : alike) {
    const bool bringsOthers = llvm::any_of(alike, [&](auto other) { return other.first.getArrives() == alloc.getBarriers(); });
    if (isAlike && !bringsOthers) shared.push_back(alloc);
  }
  return shared;
}

/// Everything is the last program's in a block behind it, which stores nothing.
void leaveOutStores(func::FuncOp func, ArrayRef<Operation*> writes) {
  OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
  Location loc = func.getLoc();
  Type i32 = b.getI32Type();
  Value id = tile::ProgramIdOp::create(b, loc, i32, tile::Axis::x), count = tile::NumProgramsOp::create(b, loc, i32, tile::Axis::x);
  Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, id, count);
  Value last = arith::SubIOp::create(b, loc, count, arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(1)));
  Value taken = arith::MinSIOp::create(b, loc, id, last);
  func.walk([&](tile::ProgramIdOp program) {
    if (program.getResult() == id || program.getAxis() != tile::Axis::x) return;
    program.getResult().replaceAllUsesWith(taken);
    program.erase();
  });
  for (Operation* write : writes) {
    OpBuilder at(write);
    auto branch = scf::IfOp::create(at, write->getLoc(), exists, /*withElseRegion=*/false);
    write->moveBefore(branch.thenBlock()->getTerminator());
  }
}

class ShareCopiesPass : public impl::ShareCopiesPassBase<ShareCopiesPass> {
 public:
  using ShareCopiesPassBase::ShareCopiesPassBase;
  void getDependentDialects(DialectRegistry& registry) const override { registerTileGpuDialects(registry); }
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isDeclaration() || cluster < 2 || !func->hasAttr(kCopierWarpsAttr) || func->hasAttr(kRepeatsAttr)) return;  // C1
    if (cluster > targetOf(func).mostClusterBlocks) return;
    SmallVector<Operation*> writes;
    bool mayLeaveOut = true;
    func.walk([&](Operation* op) {
      std::optional<transforms::MemoryAccess> access = transforms::accessOf(op);
      const bool stores = isa<StoreBoxesOp, SendBoxesOp, tile::DevicePrintOp>(op) || (access && access->writes);
      if (!stores) return;
      mayLeaveOut &= op->getNumResults() == 0;
      writes.push_back(op);
    });
    SmallVector<AllocOp> shared = sharedBuffers(func, cluster);
    if (!mayLeaveOut || shared.empty()) return;
    Builder b(func.getContext());
    for (AllocOp alloc : shared) alloc->setAttr(kSharedCopiesAttr, b.getUnitAttr());
    func->setAttr(kClusterAttr, b.getI64IntegerAttr(cluster));
    leaveOutStores(func, writes);
  }
};

}  // namespace

}  // namespace fattn::tilegpu
