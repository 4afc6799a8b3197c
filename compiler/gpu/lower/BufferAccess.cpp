// SPDX-License-Identifier: Apache-2.0
// Splits offsets in shared memory into what the thread decides, what the register decides, and what is known.
#include "compiler/gpu/lower/BufferAccess.h"

#include <bit>

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace fattn::gpu {

using layout::Coords, layout::kLane, layout::kRegister, layout::kWarp, layout::LinearLayout;

FailureOr<BufferAccess> BufferAccess::create(Lowering& to, Operation* op, Value buffer, Value slot, LinearLayout access,
                                             ArrayRef<int64_t> offsets) {
  auto alloc = buffer.getDefiningOp<tilegpu::AllocOp>();
  if (!alloc) return op->emitOpError() << "needs a buffer that is the result of tilegpu.alloc";
  if (!alloc.getOffset()) return alloc.emitOpError() << "needs an offset, which -tilegpu-allocate-shared sets";
  auto type = cast<tilegpu::BufferType>(buffer.getType());
  BufferAccess result(to, std::move(access));
  LinearLayout places = layout::SharedLayout(type.getLayout().getLayout()).offsets();
  result.start_ = static_cast<int64_t>(*alloc.getOffset());
  result.slotBytes_ = type.getSlotBytes();
  if (failed(result.findThreads(op, places, type.getElementBytes()))) return failure();
  for (int64_t r = 0; r < result.access_.inputSize(kRegister); ++r) {
    Coords coords = Lowering::registerPart(result.access_, r);
    for (auto [d, offset] : llvm::enumerate(offsets)) coords[d] += offset;
    result.offsets_.push_back(places.apply(coords)[0] * type.getElementBytes());
  }
  result.base_ = to.sharedBase;
  Value inSlots = to.scalar(slot);
  if (auto known = getConstantIntValue(inSlots)) {
    result.start_ += *known * result.slotBytes_;
  } else if (type.getSlots() > 1) {
    Value bytes = arith::MulIOp::create(to.b, inSlots, to.i32(result.slotBytes_));
    result.base_ = LLVM::GEPOp::create(to.b, result.base_.getType(), to.b.getI8Type(), result.base_, ArrayRef<LLVM::GEPArg>{bytes});
  }
  return result;
}

LogicalResult BufferAccess::findThreads(Operation* op, const LinearLayout& places, int64_t elementBytes) {
  // Coordinates of threads have to stay within what is linear in memory, else an addition would not be an xor.
  auto offsetOf = [&](const Coords& coords, bool linear) -> FailureOr<int64_t> {
    for (auto [d, coordinate] : llvm::enumerate(coords)) {
      if (!linear || coordinate >> places.inputBits(layout::dim(static_cast<int>(d))) == 0) continue;
      return op->emitOpError() << "cannot address a tile whose threads reach across the odd number of parts of dim " << d
                               << " of the buffer; its layout is " << access_.str();
    }
    return places.apply(coords)[0] * elementBytes;
  };
  for (auto [in, images] : {std::pair{kLane, &laneImages_}, {kWarp, &warpImages_}})
    for (int bit = 0; bit < access_.inputBits(in); ++bit) {
      FailureOr<int64_t> image = offsetOf(access_.at({{in, int64_t{1} << bit}}), true);
      if (failed(image)) return failure();
      images->push_back(*image);
      threadBits_ |= *image;
    }
  int64_t below = int64_t{1} << access_.inputBits(kWarp);
  for (const layout::Repeat& repeat : access_.repeats()) {
    if (repeat.in != kWarp) continue;
    FailureOr<int64_t> bytes = offsetOf(access_.at({{kWarp, below}}), false);
    for (int64_t digit = 1; digit < repeat.count; ++digit)
      if (*offsetOf(access_.at({{kWarp, below * digit}}), false) != *bytes * digit)
        return op->emitOpError() << "cannot address a buffer in which the copies of warps are not evenly spaced; its layout is "
                                 << access_.str();
    digits_.push_back({below, repeat.count, *bytes});
    below *= repeat.count;
  }
  return success();
}

int64_t BufferAccess::alignment() const {
  int64_t bits = threadBits_ | 16 | slotBytes_ | start_;
  for (const WarpDigit& digit : digits_) bits |= digit.bytes;
  return bits & -bits;
}

Value BufferAccess::pointer(int64_t r) {
  ImplicitLocOpBuilder& b = to_->b;
  if (!thread_)
    thread_ = arith::XOrIOp::create(b, to_->linearMap(to_->lane, laneImages_), to_->linearMap(to_->warp, warpImages_)).getResult();
  int64_t flipped = offset(r) & threadBits_, added = offset(r) - flipped + start_;
  Value& pointer = pointers_[flipped];
  if (!pointer) {
    Value place = flipped ? arith::XOrIOp::create(b, thread_, to_->i32(flipped)).getResult() : thread_;
    for (auto [below, count, bytes] : digits_) {
      Value digit = arith::RemUIOp::create(b, arith::DivUIOp::create(b, to_->warp, to_->i32(below)).getResult(), to_->i32(count));
      place = arith::AddIOp::create(b, place, arith::MulIOp::create(b, digit, to_->i32(bytes)).getResult());
    }
    pointer = LLVM::GEPOp::create(b, base_.getType(), b.getI8Type(), base_, ArrayRef<LLVM::GEPArg>{place});
  }
  if (!added) return pointer;
  return LLVM::GEPOp::create(b, base_.getType(), b.getI8Type(), pointer, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(added)});
}

bool BufferAccess::lanesFollow(int64_t bytes) const {
  return digits_.empty() &&
         llvm::all_of(llvm::enumerate(laneImages_), [&](const auto& lane) { return lane.value() == bytes << lane.index(); });
}

Value BufferAccess::pointerOfWarp(int64_t r, Value warp) {
  ImplicitLocOpBuilder& b = to_->b;
  const int64_t flipped = offset(r) & threadBits_;
  Value place = arith::XOrIOp::create(b, to_->linearMap(warp, warpImages_), to_->i32(flipped));
  place = arith::AddIOp::create(b, place, to_->i32(offset(r) - flipped + start_));
  return LLVM::GEPOp::create(b, base_.getType(), b.getI8Type(), base_, ArrayRef<LLVM::GEPArg>{place});
}

std::vector<std::vector<int64_t>> bufferVectors(const BufferAccess& access, int64_t elementBytes, int64_t maxBytes) {
  // The algebra's sharedVector() speaks of whole tiles; here the tile may be a box of the buffer's.
  std::map<int64_t, int64_t> byOffset;
  for (int64_t r = 0; r < access.access().inputSize(kRegister); ++r) byOffset.try_emplace(access.offset(r), r);
  int64_t bytes = std::max(elementBytes, std::min(maxBytes, access.alignment()));
  for (;; bytes /= 2) {
    std::vector<std::vector<int64_t>> groups;
    int64_t next = 0;
    bool whole = true;
    for (auto [offset, r] : byOffset) {
      if (offset % bytes == 0) {
        groups.emplace_back();
        next = offset;
      }
      whole = whole && !groups.empty() && offset == next;
      next = offset + elementBytes;
      if (whole) groups.back().push_back(r);
    }
    size_t count = static_cast<size_t>(bytes / elementBytes);
    if (bytes == elementBytes || (whole && llvm::all_of(groups, [&](const auto& group) { return group.size() == count; }))) return groups;
  }
}

}  // namespace fattn::gpu
