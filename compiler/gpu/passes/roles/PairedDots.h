// SPDX-License-Identifier: Apache-2.0
// Products of the same shape, of which each warp group can compute one.
#ifndef FATTN_COMPILER_GPU_PASSES_ROLES_PAIREDDOTS_H
#define FATTN_COMPILER_GPU_PASSES_ROLES_PAIREDDOTS_H

#include "compiler/dialect/Tile.h"
#include "compiler/gpu/dialect/TileGpu.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fattn::tilegpu {

/// The first dots of an innermost loop's trip that are alike, as many as there are groups: of the same types, from zeros, of loaded
/// operands. They are in the order of their groups, in which the groups have the fewest bytes to exchange. Empty where there are not so
/// many.
llvm::SmallVector<tile::DotOp> pairedDots(mlir::scf::ForOp loop, int64_t groups);

/// Operations of a block that follow from products, of which `groupOf` gives the groups: for each the last of these groups. Other dots end
/// a chain, and so do renamings that lead to nothing but dots. What widens a number belongs to who uses that.
llvm::DenseMap<mlir::Operation*, int64_t> chainsOf(mlir::Block& block,
                                                   llvm::function_ref<std::optional<int64_t>(mlir::Operation*)> groupOf);

/// The group that is to compute the dot (`tilegpu.paired`); nothing for other operations.
std::optional<int64_t> pairedGroup(mlir::Operation* op);

/// Throws: an order with the word `pairs` cannot be kept. `remedy` is what to do instead.
[[noreturn]] void failPairs(const std::string& why, const std::string& remedy);

/// What operations of chains leave for the block's other operations.
llvm::SmallVector<mlir::Value> exchangedValues(mlir::Block& block, const llvm::DenseMap<mlir::Operation*, int64_t>& chains);

}  // namespace fattn::tilegpu

#endif
