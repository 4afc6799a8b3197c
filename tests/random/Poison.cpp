// SPDX-License-Identifier: Apache-2.0
#include "tests/random/Poison.h"

#include <algorithm>
#include <set>

#include "compiler/dialect/Tile.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace fattn::random {
namespace {

constexpr char kPoison = 0x5a;  // as a float of any width a finite number

bool isPointer(Type type) { return tile::isPtrLike(type) || isa<tile::BlockPtrType>(type); }

/// Whether memory is reached through the pointer by stores alone. A pointer that a region takes in may be read there.
bool onlyStoredTo(Value pointer) {
  SmallVector<Value> pending = {pointer};
  while (!pending.empty()) {
    for (OpOperand& use : pending.pop_back_val().getUses()) {
      Operation* user = use.getOwner();
      if (isa<tile::StoreOp, tile::ScatterOp>(user) && use.getOperandNumber() == 0) continue;
      if (user->getNumRegions() != 0 || user->getNumResults() != 1 || !isPointer(user->getResult(0).getType())) return false;
      pending.push_back(user->getResult(0));
    }
  }
  return true;
}

}  // namespace

void poisonOutputs(generator::Program& program) {
  std::set<size_t> shared;  // an argument that others are, too, may be read as one of them
  for (size_t i = 0; i < program.arguments.size(); ++i)
    if (auto same = generator::sameAs(program, i)) shared.insert(*same);
  auto function = program.module->lookupSymbol<func::FuncOp>(program.entry);
  for (auto [i, argument] : llvm::enumerate(program.arguments)) {
    auto* array = std::get_if<generator::Array>(&argument);
    if (array && !array->type.isInteger(1) && !shared.contains(i) && onlyStoredTo(function.getArgument(i)))
      std::ranges::fill(array->bytes, kPoison);
  }
}

}  // namespace fattn::random
