// SPDX-License-Identifier: Apache-2.0
// Values of tiles at points of the innermost loop body that is being made: none is computed twice there.
#ifndef FATTN_COMPILER_CPU_STATE_MEMO_H
#define FATTN_COMPILER_CPU_STATE_MEMO_H

#include <map>
#include <vector>

#include "compiler/cpu/builder/View.h"

namespace fattn::cpu {

/// A copy of the memo, put back later, forgets what was computed in between.
class Memo {
 public:
  /// Null: not computed yet.
  mlir::Value find(mlir::Value tile, const Point& p) const {
    auto it = values.find(keyOf(tile, p));
    return it == values.end() ? mlir::Value() : it->second;
  }
  void remember(mlir::Value tile, const Point& p, mlir::Value computed) { values[keyOf(tile, p)] = computed; }
  void clear() { values.clear(); }

 private:
  using Key = std::pair<void*, std::vector<void*>>;
  static Key keyOf(mlir::Value tile, const Point& p) {
    std::vector<void*> at;
    for (mlir::Value i : p.index) at.push_back(i.getAsOpaquePointer());
    at.push_back(reinterpret_cast<void*>(static_cast<intptr_t>(p.lane)));
    at.push_back(reinterpret_cast<void*>(static_cast<intptr_t>(p.width)));
    return {tile.getAsOpaquePointer(), at};
  }
  std::map<Key, mlir::Value> values;
};

}  // namespace fattn::cpu

#endif
