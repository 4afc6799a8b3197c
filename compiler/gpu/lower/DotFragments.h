// SPDX-License-Identifier: Apache-2.0
// Finds the registers of a matrix instruction's fragments among those of a tile, by where their elements lie in lane 0 of warp 0, which is
// the same in every thread up to the thread's own place.
#ifndef FATTN_COMPILER_GPU_LOWER_DOTFRAGMENTS_H
#define FATTN_COMPILER_GPU_LOWER_DOTFRAGMENTS_H

#include <map>

#include "compiler/gpu/lower/Lowering.h"

namespace fattn::gpu {

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
