// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies by loads from global memory to LDS, of 4 or 16 bytes a lane:
//
//   rocdl.global.load.lds %from, %into, 16      %from: each lane's own; %into: the wave's (M0), behind which lane i fills bytes 16 i, ...
//
// Lanes whose elements lie outside of their array read zeros of the code object, as loads do (GlobalAccess.cpp). A copy that is not wanted
// is branched around: its bytes may be another buffer's by then.
//
// Who waits: vmcnt counts these loads with all others of global memory, in order. A wait is for all that are under way, whatever `pending`
// says: how many instructions follow a copy is known when LLVM has ordered them. LLVM knows these loads, too, and would wait for them in
// front of each read of LDS and in each fence. So what else a function does in LDS is said to be apart from what copies fill: waits and
// barriers keep it so, and these barriers order memory for the wave alone (Machine::barrier). The simulator finds each read of bytes that a
// copy may still fill.
//
// LLVM 22 counts these loads in lgkmcnt as well, where the chip does not: its wait for an access of LDS that comes before them would be too
// weak by their number (github.com/llvm/llvm-project/pull/179305). So a wave waits for its own accesses of LDS first, which mostly a
// barrier has just done, and none moves to between that wait and the loads.
//
// Source: "AMD Instinct MI300 Instruction Set Architecture", GLOBAL_LOAD_LDS_DWORD, S_WAITCNT; LLVM 22, SIInsertWaitcnts.cpp (LDS DMA).
// Test: tests/lit/amd/copies.mlir.
#include "compiler/amd/Machine.h"
#include "compiler/gpu/lower/BufferAccess.h"
#include "compiler/gpu/lower/WindowAccess.h"
#include "compiler/transforms/Divisibility.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::amd {

using gpu::BufferAccess, gpu::Lowering;

namespace {

// The fields of s_waitcnt: all ones but for the loads.
constexpr uint32_t kLoadsOfGfx9 = 0x0f70;
// Nothing moves across such a sched.barrier. Fences do not hold permutations of lanes by LDS, which access no memory.
constexpr uint32_t kNothing = 0;

/// Registers of each load: as many bytes as the engine has, which follow each other in global memory and in a lane's place of the buffer,
/// and lanes behind each other.
std::vector<std::vector<int64_t>> copyVectors(tilegpu::CopyAsyncOp op, const BufferAccess& shared, const gpu::CopyEngine& engine) {
  const layout::LinearLayout& layout = op.getLayout()->getLayout();
  const int64_t elementBytes = op.getBuffer().getType().getElementBytes();
  const int d = transforms::contiguousDim(op.getPtr()).value_or(static_cast<int>(layout.outputs().size()) - 1);
  const int64_t together = transforms::accessBytes(op.getPtr(), tilegpu::extentsOf(op));
  for (const int64_t bytes : llvm::reverse(engine.bytes)) {
    const int64_t width = bytes / elementBytes;
    if (bytes > together || !llvm::isPowerOf2_64(static_cast<uint64_t>(bytes)) || !shared.lanesFollow(bytes) ||
        layout::consecutive(layout, d) < width || transforms::mayEndWithin(op.getPtr(), op.getBoundaryCheck(), bytes))
      continue;
    auto groups = layout::memoryVectors(layout, d, static_cast<int>(width));
    const bool inOrder = llvm::all_of(groups, [&](const std::vector<int64_t>& group) {
      for (auto [i, r] : llvm::enumerate(group))
        if (shared.offset(r) != shared.offset(group[0]) + static_cast<int64_t>(i) * elementBytes) return false;
      return true;
    });
    if (inOrder) return groups;
  }
  return {};
}

}  // namespace

LogicalResult Machine::copyAsync(Lowering& to, tilegpu::CopyAsyncOp op) {
  const gpu::CopyEngine* engine = target_.copy(gpu::CopyKind::DirectToShared);
  if (!engine || op.isBulk()) return gpu::Machine::copyAsync(to, op);
  const layout::LinearLayout& layout = op.getLayout()->getLayout();
  FailureOr<BufferAccess> shared = BufferAccess::create(to, op, op.getBuffer(), op.getSlot(), layout, {});
  if (failed(shared)) return failure();
  const auto groups = copyVectors(op, *shared, *engine);
  if (groups.empty() || !layout.isInjective())
    return op.emitOpError()
           << "needs vectors that " << target_.name
           << " can copy, proven to be aligned, each lane's behind the lane's before, and elements of one thread each, but the "
              "layout is "
           << layout.str();
  ImplicitLocOpBuilder& b = to.b;
  OpBuilder::InsertionGuard behind(b);
  if (op.getPred()) b.setInsertionPointToStart(scf::IfOp::create(b, to.scalar(op.getPred()), /*withElseRegion=*/false).thenBlock());
  gpu::WindowAccess global(to, op.getPtr().getType(), to.window(op.getPtr()), op.getBoundaryCheck(), tilegpu::extentsOf(op), layout);
  const int64_t bytes = op.getBuffer().getType().getElementBytes() * static_cast<int64_t>(groups[0].size());
  orderForWave(b, LLVM::AtomicOrdering::release);
  waitForOwnAccesses(b, gpu::Visible::Shared);
  ROCDL::SchedBarrier::create(b, kNothing);
  for (const std::vector<int64_t>& group : groups) {
    Value from = global.address(group[0]);
    if (const Value inside = global.inside(group[0])) from = orZeros(b, inside, from);
    ROCDL::GlobalLoadLDSOp::create(b, TypeRange(), from, shared->pointerOfWarp(group[0], to.warp), static_cast<uint32_t>(bytes),
                                   /*offset=*/0U, /*aux=*/0U, ArrayAttr(), ArrayAttr(), ArrayAttr());
  }
  ROCDL::SchedBarrier::create(b, kNothing);
  orderForWave(b, LLVM::AtomicOrdering::acquire);
  return success();
}

LogicalResult Machine::copyWait(Lowering& to, tilegpu::CopyWaitOp op) {
  if (op.isBulk()) return gpu::Machine::copyWait(to, op);
  orderForWave(to.b, LLVM::AtomicOrdering::release);
  ROCDL::SWaitcntOp::create(to.b, kLoadsOfGfx9);
  orderForWave(to.b, LLVM::AtomicOrdering::acquire);
  return success();
}

void keepApartFromCopies(func::FuncOp kernel) {
  SmallVector<ROCDL::GlobalLoadLDSOp> copies;
  kernel.walk([&](ROCDL::GlobalLoadLDSOp copy) { copies.push_back(copy); });
  if (copies.empty()) return;
  Builder b(kernel.getContext());
  auto domain = LLVM::AliasScopeDomainAttr::get(b.getContext(), b.getStringAttr("fattn.lds"), StringAttr());
  auto scope = [&](StringRef name) {
    return b.getArrayAttr(LLVM::AliasScopeAttr::get(b.getContext(), b.getStringAttr(name), domain, StringAttr()));
  };
  const ArrayAttr copied = scope("fattn.lds.copied"), others = scope("fattn.lds.others");
  for (ROCDL::GlobalLoadLDSOp copy : copies) copy.setAliasScopes(copied);
  kernel.walk([&](LLVM::AliasAnalysisOpInterface access) {
    if (!isa<LLVM::LoadOp, LLVM::StoreOp>(access)) return;
    const bool isShared = llvm::any_of(access.getAccessedOperands(),
                                       [](Value address) { return cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace() == 3; });
    if (!isShared) return;
    access.setAliasScopes(others);
    access.setNoAliasScopes(copied);
  });
}

}  // namespace fattn::amd
