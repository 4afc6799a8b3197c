// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies by cp.async: 4, 8 or 16 bytes a thread, each copy of a tile a group of its own.
//
//   cp.async.cg.shared.global [%s], [%g], 16;                     where the whole window is inside of its array and wanted, else
//   @%wanted cp.async.cg.shared.global [%s], [%g], 16, %size;     %size = 16 where the elements are inside, 0 where none is
// Only %size bytes are read, and the others become zero, as padding wants: the array may end within a vector. A copy that is not wanted
// must not even do that: nobody waits for it, and its bytes may be another buffer's by then. Source: PTX ISA 8.7, "cp.async". Test:
// tests/lit/nvidia/copies.mlir.
#include <fmt/format.h>

#include "compiler/gpu/lower/BufferAccess.h"
#include "compiler/gpu/lower/WindowAccess.h"
#include "compiler/layout/Queries.h"
#include "compiler/nvidia/Machine.h"
#include "compiler/transforms/Divisibility.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace fattn::nvidia {

using gpu::BufferAccess, gpu::Lowering;

namespace {

/// The widest vectors whose elements follow each other in both memories; registers of each.
std::vector<std::vector<int64_t>> copyVectors(tilegpu::CopyAsyncOp op, const BufferAccess& shared, int64_t elementBytes) {
  const layout::LinearLayout& layout = op.getLayout()->getLayout();
  int d = transforms::contiguousDim(op.getPtr()).value_or(static_cast<int>(layout.outputs().size()) - 1);
  int64_t bytes = std::min(transforms::accessBytes(op.getPtr(), tilegpu::extentsOf(op)), shared.alignment());
  for (; bytes >= 4; bytes /= 2) {
    int width = layout::vectorWidth(layout, d, static_cast<int>(elementBytes * 8), static_cast<int>(bytes));
    if (width * elementBytes < bytes) continue;
    auto groups = layout::memoryVectors(layout, d, width);
    bool together = llvm::all_of(groups, [&](const std::vector<int64_t>& group) {
      for (auto [i, r] : llvm::enumerate(group))
        if (shared.offset(r) != shared.offset(group[0]) + static_cast<int64_t>(i) * elementBytes) return false;
      return shared.offset(group[0]) % bytes == 0;
    });
    if (together) return groups;
  }
  return {};
}

/// One instruction; 16 bytes bypass the first-level cache. LLVM has it without a predicate.
void copy(ImplicitLocOpBuilder& b, Value into, Value from, int64_t bytes, Value size, Value wanted) {
  if (!wanted) {
    auto modifier = bytes == 16 ? NVVM::LoadCacheModifierKind::CG : NVVM::LoadCacheModifierKind::CA;
    NVVM::CpAsyncOp::create(b, into, from, static_cast<uint32_t>(bytes), modifier, size);
    return;
  }
  std::string text = fmt::format("@$2 cp.async.{}.shared.global [$0], [$1], {}{};", bytes == 16 ? "cg" : "ca", bytes, size ? ", $3" : "");
  SmallVector<Value> operands = {LLVM::PtrToIntOp::create(b, b.getI32Type(), into), from, wanted};
  if (size) operands.push_back(size);
  LLVM::InlineAsmOp::create(b, TypeRange(), operands, text, size ? "r,l,b,r,~{memory}" : "r,l,b,~{memory}", /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
}

/// A thread's part of one copy, vector by vector.
class ThreadCopy {
 public:
  ThreadCopy(Lowering& to, tilegpu::CopyAsyncOp op, BufferAccess& shared, const std::vector<std::vector<int64_t>>& groups)
      : to_(to),
        groups_(groups),
        bytes_(op.getBuffer().getType().getElementBytes() * static_cast<int64_t>(groups[0].size())),
        dim_(transforms::contiguousDim(op.getPtr()).value_or(static_cast<int>(op.getLayout()->getLayout().outputs().size()) - 1)),
        mayBeCut_(transforms::mayEndWithin(op.getPtr(), op.getBoundaryCheck(), bytes_)),
        pred_(op.getPred() ? to.scalar(op.getPred()) : Value()),
        holder_(gpu::isHolder(to, layout::holdersOf(op.getLayout()->getLayout()))),
        global_(to, op.getPtr().getType(), to.window(op.getPtr()), op.getBoundaryCheck(), tilegpu::extentsOf(op),
                op.getLayout()->getLayout()) {
    for (const std::vector<int64_t>& group : groups) {
      Value from = global_.address(group[0]);
      pointers_.emplace_back(shared.pointer(group[0]), from);
    }
  }

  /// A window that lies inside of its array, as nearly all do, is copied without looking at each vector.
  void emit() {
    if (global_.isPadded()) return copyAll(wanted(), /*checked=*/true);
    Value inside = global_.insideWhole();
    if (!inside) return copyAll(wanted(), /*checked=*/false);
    auto branch = scf::IfOp::create(to_.b, TypeRange(), gpu::both(to_.b, inside, pred_), /*addThenBlock=*/true, /*addElseBlock=*/true);
    to_.b.setInsertionPointToStart(branch.thenBlock());
    copyAll(holder_, /*checked=*/false);
    scf::YieldOp::create(to_.b);
    to_.b.setInsertionPointToStart(branch.elseBlock());
    copyAll(wanted(), /*checked=*/true);
    scf::YieldOp::create(to_.b);
    to_.b.setInsertionPointAfter(branch);
  }

 private:
  Value wanted() { return gpu::both(to_.b, pred_, holder_); }

  Value bytesInside(const std::vector<int64_t>& group) {
    auto width = static_cast<int64_t>(group.size());
    if (!mayBeCut_) return arith::SelectOp::create(to_.b, global_.inside(group[0]), to_.i32(bytes_), to_.i32(0));
    return arith::MulIOp::create(to_.b, global_.countInside(group[0], dim_, width), to_.i32(bytes_ / width));
  }

  void copyAll(Value wanted, bool checked) {
    for (const auto& [group, pointers] : llvm::zip_equal(groups_, pointers_)) {
      Value size;
      if (checked) size = bytesInside(group);
      copy(to_.b, pointers.first, pointers.second, bytes_, size, wanted);
    }
  }

  Lowering& to_;
  const std::vector<std::vector<int64_t>>& groups_;
  int64_t bytes_;
  int dim_;        ///< that a vector's elements follow each other along
  bool mayBeCut_;  ///< the array may end within a vector
  Value pred_;     ///< whether there is anything to copy, the same in all threads; may be null
  Value holder_;   ///< what several threads hold is copied by one: two copies of the same bytes race, though for nothing; may be null
  gpu::WindowAccess global_;
  SmallVector<std::pair<Value, Value>> pointers_;  ///< shared and global
};

}  // namespace

LogicalResult Machine::copyAsync(Lowering& to, tilegpu::CopyAsyncOp op) {
  if (op.isBulk()) return copyBoxes(to, op);
  const layout::LinearLayout& layout = op.getLayout()->getLayout();
  FailureOr<BufferAccess> shared = BufferAccess::create(to, op, op.getBuffer(), op.getSlot(), layout, {});
  if (failed(shared)) return failure();
  auto groups = copyVectors(op, *shared, op.getBuffer().getType().getElementBytes());
  if (groups.empty())
    return op.emitOpError() << "needs at least 4 bytes that are proven to be aligned and follow each other in global memory, in the buffer "
                               "and in a thread of the layout "
                            << layout.str();
  ThreadCopy(to, op, *shared, groups).emit();
  NVVM::CpAsyncCommitGroupOp::create(to.b);
  return success();
}

LogicalResult Machine::copyWait(Lowering& to, tilegpu::CopyWaitOp op) {
  if (op.isBulk()) return waitForBoxes(to, op);
  NVVM::CpAsyncWaitGroupOp::create(to.b, static_cast<uint32_t>(op.getPending().value_or(0)));
  return success();
}

}  // namespace fattn::nvidia
