// SPDX-License-Identifier: Apache-2.0
// Finds the registers of a matrix instruction's fragments among those of a tile, by where their elements lie in lane 0 of warp 0, which is
// the same in every thread up to the thread's own place. A, B and C have to agree on that place: A has C's rows, B has C's columns, and all
// threads have all of k.
#ifndef FATTN_COMPILER_GPU_LOWER_DOTFRAGMENTS_H
#define FATTN_COMPILER_GPU_LOWER_DOTFRAGMENTS_H

#include <map>

#include "compiler/gpu/lower/Lowering.h"

namespace fattn::gpu {

/// Whether the lanes lie as in the instruction's fragment and the warps as in the accumulator along the dimension that they share; along
/// the other one (-1: none) all warps have everything.
inline bool agrees(const layout::LinearLayout& layout, const layout::LinearLayout& fragment, const layout::LinearLayout& accumulator,
                   size_t sharedDim, int otherDim) {
  const auto placeOf = [](const layout::LinearLayout& of, int64_t lane, int64_t warp) { return of.apply({0, lane, warp}); };
  if (layout.inputSize(layout::kWarp) != accumulator.inputSize(layout::kWarp)) return false;
  for (int64_t lane = 0; lane < fragment.inputSize(layout::kLane); ++lane)
    if (placeOf(layout, lane, 0) != placeOf(fragment, lane, 0)) return false;
  for (int64_t warp = 0; warp < layout.inputSize(layout::kWarp); ++warp) {
    layout::Coords place = placeOf(layout, 0, warp);
    if (place[sharedDim] != placeOf(accumulator, 0, warp)[sharedDim]) return false;
    if (otherDim >= 0 && place[static_cast<size_t>(otherDim)] != 0) return false;
  }
  return true;
}

/// One operand's registers, by the place of a fragment.
class Fragments {
 public:
  Fragments(const layout::LinearLayout& layout, layout::LinearLayout fragment) : fragment_(std::move(fragment)) {
    for (int64_t r = 0; r < layout.inputSize(layout::kRegister); ++r) registers_.try_emplace(Lowering::registerPart(layout, r), r);
  }
  /// The numbers of the registers of the fragment whose first element is (row, column); empty if the tile has not all of them.
  llvm::SmallVector<int64_t> at(int64_t row, int64_t column) const {
    llvm::SmallVector<int64_t> result;
    for (int64_t i = 0; i < fragment_.inputSize(layout::kRegister); ++i) {
      layout::Coords inside = Lowering::registerPart(fragment_, i);
      auto found = registers_.find({row + inside[0], column + inside[1]});
      if (found == registers_.end()) return {};
      result.push_back(found->second);
    }
    return result;
  }
  /// The places in one dimension where a thread has fragments.
  llvm::SmallVector<int64_t> places(int d) const {
    int64_t size = fragment_.outputSize(layout::dim(d));
    llvm::SmallVector<int64_t> result;
    for (const auto& [coords, r] : registers_)
      if (coords[d] % size == 0) result.push_back(coords[d]);
    llvm::sort(result);
    result.erase(llvm::unique(result), result.end());
    return result;
  }

 private:
  layout::LinearLayout fragment_;
  std::map<layout::Coords, int64_t> registers_;
};

}  // namespace fattn::gpu

#endif
