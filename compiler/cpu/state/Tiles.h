// SPDX-License-Identifier: Apache-2.0
// Which tiles have memory, where, and which of them own it.
#ifndef FATTN_COMPILER_CPU_STATE_TILES_H
#define FATTN_COMPILER_CPU_STATE_TILES_H

#include "compiler/cpu/builder/View.h"

namespace fattn::cpu {

class Tiles {
 public:
  bool contains(mlir::Value tile) const { return views.contains(tile); }
  /// Where the tile lies; null if it has no memory. Valid until another tile is placed.
  View* find(mlir::Value tile) {
    auto it = views.find(tile);
    return it == views.end() ? nullptr : &it->second;
  }
  /// The same, if the tile lies in a slot of its own that may be overwritten.
  View* findOwn(mlir::Value tile) {
    View* view = find(tile);
    return view && view->slot >= 0 && !view->shared ? view : nullptr;
  }
  View& at(mlir::Value tile) { return views.find(tile)->second; }

  void place(mlir::Value tile, View view) { views[tile] = std::move(view); }
  /// From now on the tile's slot is returned once nobody needs the tile any more.
  void own(mlir::Value tile) { owners.push_back(tile); }
  void placeOwned(mlir::Value tile, View view) {
    place(tile, std::move(view));
    own(tile);
  }
  /// Forgets the owners for which `drops` is true.
  void dropOwners(llvm::function_ref<bool(mlir::Value, View&)> drops) {
    llvm::erase_if(owners, [&](mlir::Value tile) { return drops(tile, at(tile)); });
  }

 private:
  llvm::DenseMap<mlir::Value, View> views;
  llvm::SmallVector<mlir::Value> owners;  ///< in the order in which their slots return
};

/// The buffer without the duty to return it.
inline View borrowed(View view) {
  view.slot = -1;
  return view;
}
/// The buffer and the duty to return it: `view` keeps neither.
inline View taken(View& view) {
  View mine = view;
  view.slot = -1;
  return mine;
}

}  // namespace fattn::cpu

#endif
