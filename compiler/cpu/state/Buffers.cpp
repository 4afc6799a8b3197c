// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/state/Buffers.h"

#include "compiler/cpu/builder/Access.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace fattn::cpu {

View Buffers::allocate(ArrayRef<int64_t> shape, Type element, int lane, Rows rows) {
  View view{.base = {}, .element = element, .shape = llvm::to_vector(shape), .strides = {}, .lane = lane, .padded = true, .slot = -1};
  int64_t lanes = b.host.lanes;
  int rank = shape.size();
  if (lane < 0) view.lane = lane = rank - 1;
  view.strides.resize(rank);
  int64_t stride = 1;
  auto place = [&](int d) {
    view.strides[d] = b.getI64IntegerAttr(stride);
    // The lane dimension is padded for whole vectors, the others so that 16x16 blocks of a transposition fit.
    int64_t multiple = d == lane ? std::min<int64_t>(2 * lanes, llvm::PowerOf2Ceil(std::max<int64_t>(shape[d], lanes))) : 1;
    stride *= llvm::alignTo(shape[d], multiple);
  };
  if (lane >= 0) place(lane);
  // A first-level cache has 64 sets of lines: at 8 lines' distance, rows would share an eighth of them.
  constexpr int64_t kCrowded = 8;
  if (int64_t line = b.host.lineBytes / bytesOf(element); rows == Rows::Spread && stride % (kCrowded * line) == 0) stride += line;
  for (int d = rank - 1; d >= 0; --d)
    if (d != lane) place(d);
  view.slot = scratch.allocate((stride + 2 * lanes) * bytesOf(element));
  view.base =
      LLVM::GEPOp::create(b, base.getType(), b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(scratch.offset(view.slot))});
  return view;
}

void Buffers::release(View& view) {
  if (view.slot >= 0 && !pinned.contains(view.slot)) scratch.release(view.slot);
  view.slot = -1;
}

SmallVector<int> Buffers::pin(ArrayRef<View> carried) {
  SmallVector<int> fresh;
  for (const View& view : carried)
    if (pinned.insert(view.slot).second) fresh.push_back(view.slot);
  return fresh;
}

void Buffers::unpin(ArrayRef<int> slots) {
  for (int slot : slots) pinned.erase(slot);
}

}  // namespace fattn::cpu
