// SPDX-License-Identifier: Apache-2.0
#include "compiler/gpu/interpreter/BufferPlaces.h"

#include <fmt/format.h>

#include "fattn/Error.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace fattn::adversary {

/// The buffers that an access may have written or read.
static bool accesses(Operation* op, tilegpu::AllocOp alloc) { return llvm::is_contained(op->getOperands(), alloc.getResult()); }

BufferPlaces::BufferPlaces(Operation* op, Value buffer) : op_(op), alloc_(buffer.getDefiningOp<tilegpu::AllocOp>()) {
  if (!alloc_) interpreter::fail(op, "needs a buffer that is the result of tilegpu.alloc");
  if (!alloc_.getOffset()) interpreter::fail(alloc_, "needs an offset, which -tilegpu-allocate-shared sets");
  tilegpu::BufferType type = alloc_.getResult().getType();
  start_ = static_cast<int64_t>(*alloc_.getOffset());
  slots_ = type.getSlots();
  slotBytes_ = type.getSlotBytes();
  elementBytes_ = type.getElementBytes();
  Distribution order(
      type.getLayout().getLayout().renamed(layout::kOffset, layout::kRegister).asTile(static_cast<int>(type.getShape().size())));
  offsets_.resize(static_cast<std::size_t>(order.elementCount()));
  for (auto [offset, element] : llvm::enumerate(order.elements(0)))
    offsets_[static_cast<std::size_t>(element)] = static_cast<int64_t>(offset) * elementBytes_;
}

std::optional<int64_t> BufferPlaces::slotStart(Block& block, int64_t slot) const {
  int64_t start = start_ + slot * slotBytes_;
  if (slot >= 0 && slot < slots_ && start + slotBytes_ <= block.run.shared.bytes) return start;
  block.run.log.report(FaultKind::Bounds, nullptr, op_, [&] {
    if (slot < 0 || slot >= slots_) return fmt::format("{} accesses slot {} of a buffer of {} slots", describe(op_), slot, slots_);
    return fmt::format("{} accesses bytes up to {} of shared memory, of which the kernel has {}", describe(op_), start + slotBytes_,
                       block.run.shared.bytes);
  });
  return std::nullopt;
}

void BufferPlaces::checkWritten(Block& block, const Access& access, int64_t at) const {
  const Access* writer = block.run.shared.shadow.writer(at, block.firstPhase);
  if (writer && accesses(writer->op, alloc_)) return;
  block.run.log.report(FaultKind::Unwritten, writer ? writer->op : nullptr, access.op, [&] {
    std::string who = writer ? describe(writer->op) + " has written for another buffer" : "nobody has written";
    return fmt::format("{} in warp {} reads byte {} of shared memory, which {}", describe(access.op), block.run.log.warpOf(access.thread),
                       at, who);
  });
}

}  // namespace fattn::adversary
