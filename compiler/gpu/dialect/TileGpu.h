// SPDX-License-Identifier: Apache-2.0
// The `tilegpu` dialect's C++ face: attributes, types, operations, and how passes ask for layouts.
#ifndef FATTN_COMPILER_GPU_DIALECT_TILEGPU_H
#define FATTN_COMPILER_GPU_DIALECT_TILEGPU_H

#include "compiler/dialect/Tile.h"
#include "compiler/gpu/Target.h"
#include "compiler/gpu/dialect/TileGpuTraits.h"
#include "compiler/layout/LinearLayout.h"
#include "compiler/layout/Shared.h"
#include "llvm/ADT/Hashing.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "runtime/base/DieOrder.h"

namespace fattn::layout {
/// For the storage of attributes.
llvm::hash_code hash_value(const LinearLayout& layout);
}  // namespace fattn::layout

#include "compiler/gpu/dialect/TileGpuDialect.h.inc"

namespace fattn::tilegpu {
/// The resource that operations on shared memory have their effects on.
struct SharedMemory : mlir::SideEffects::Resource::Base<SharedMemory> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SharedMemory)
  llvm::StringRef getName() final { return "SharedMemory"; }
};
}  // namespace fattn::tilegpu

#define GET_ATTRDEF_CLASSES
#include "compiler/gpu/dialect/TileGpuAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/gpu/dialect/TileGpuTypes.h.inc"

#define GET_OP_CLASSES
#include "compiler/gpu/dialect/TileGpuOps.h.inc"

namespace fattn::tilegpu {

/// The layout of a tile in registers; null for other types and tiles without a home.
const layout::LinearLayout* layoutOf(mlir::Type type);
inline const layout::LinearLayout* layoutOf(mlir::Value value) { return layoutOf(value.getType()); }

/// The same tile in this layout; brought into the form of asTile().
mlir::RankedTensorType withLayout(mlir::RankedTensorType type, const layout::LinearLayout& layout);
mlir::RankedTensorType withoutLayout(mlir::RankedTensorType type);

/// Whether a reduction gives any one of the elements: its region yields its left side, so that none has to move.
bool picksAny(tile::ReduceOp op);
/// The one operation that a reduction of one tile combines two elements with; null where it takes more.
mlir::Operation* combinationOf(tile::ReduceOp op);

/// The least and the greatest index along a tile's first dimension that a group of warps holds.
struct RowsOfGroup {
  int64_t first = 0, last = 0;
  bool operator==(const RowsOfGroup&) const = default;
};

/// Those of each group of so many warps, in this layout.
llvm::SmallVector<RowsOfGroup> rowsByGroup(const layout::LinearLayout& layout, int64_t groupWarps);

/// Whether something in the operation, or it itself, waits for what an engine copies as boxes.
bool waitsForBoxes(mlir::Operation* op);

/// Bits of an element as registers and layouts count them: those of memory, 8 for an i1, 64 for pointers and index.
int elementBits(mlir::Type element);

/// What -tilegpu-assign-layouts notes on the function.
inline constexpr llvm::StringLiteral kTargetAttr = "tilegpu.target", kWarpsAttr = "tilegpu.warps",
                                     kSharedBytesAttr = "tilegpu.shared_bytes";
/// On tile.select_lazy, by -tilegpu-allocate-shared: the byte of shared memory where the block's warps vote, a word for each.
inline constexpr llvm::StringLiteral kVotesAttr = "tilegpu.votes";
/// On tile.load, tile.store, tile.device_print and tilegpu.copy_async, by -tilegpu-pad-tiles: the tile has elements of the program only
/// where the indices are below these extents. Elements outside of them are not accessed; a load gives its padding there.
inline constexpr llvm::StringLiteral kExtentsAttr = "tilegpu.extents";
/// On tile.dot, by -tilegpu-assign-layouts: the matrix instruction that it becomes (InstructionAttr).
inline constexpr llvm::StringLiteral kInstructionAttr = "tilegpu.instruction";
/// On the function, by -tilegpu-place-copies: the tensor maps that a launch makes, and the arguments that must not be negative for them.
inline constexpr llvm::StringLiteral kTensorMapsAttr = "tilegpu.tensor_maps", kNonNegativeAttr = "tilegpu.non_negative";
/// On the function, by -tilegpu-split-roles: how many warps beside those of kWarpsAttr only copy.
inline constexpr llvm::StringLiteral kCopierWarpsAttr = "tilegpu.copier_warps";
/// On tilegpu.copy_async and tilegpu.store_boxes, by -tilegpu-split-roles: which role tells the engine.
inline constexpr llvm::StringLiteral kMadeByAttr = "tilegpu.made", kMadeAlone = "alone", kMadeElsewhere = "elsewhere";
inline bool isMadeElsewhere(mlir::Operation* op) {
  auto madeBy = op->getAttrOfType<mlir::StringAttr>(kMadeByAttr);
  return madeBy && madeBy.getValue() == kMadeElsewhere;
}
/// On the function, by -tilegpu-assign-layouts: blocks are to take several programs, where the passes behind can let them.
inline constexpr llvm::StringLiteral kSeveralAttr = "tilegpu.several";
/// A barrier object of a copy engine, or one by which warps hand a slot over.
constexpr int64_t kBarrierBytes = 8;
/// On the function: its blocks may take several programs, as what is copied once a program is released (-tilegpu-release-operands); behind
/// -tilegpu-repeat-programs: they do.
inline constexpr llvm::StringLiteral kRepeatsAttr = "tilegpu.repeats";
/// On the function, with the attribute above: blocks are handed their programs while the kernel runs (tilegpu.each_program dynamic). By
/// -tilegpu-allocate-shared: the byte of shared memory where a block keeps the ids that it has been handed.
inline constexpr llvm::StringLiteral kDynamicAttr = "tilegpu.dynamic", kClaimsAttr = "tilegpu.claims";
/// There: two slots of the ids x, y and z (i32, x < 0: there is no further program) and an unused word, their barrier objects, which are
/// complete when a slot is filled, and those which are when it has been read.
constexpr int64_t kClaimSlots = 2, kClaimSlotBytes = 16, kClaimBarrierBytes = kBarrierBytes, kClaimsAlignment = 16,
                  kClaimsBytes = kClaimSlots * (kClaimSlotBytes + 2 * kClaimBarrierBytes);
/// Takes these three away: a block takes one program.
void takeOneProgram(mlir::Operation* function);
/// On the function and on tilegpu.alloc, by -tilegpu-share-copies: blocks that are neighbours along x share copies, so many of them, into
/// these buffers. tile.program_id x may be tile.num_programs x and more then, in blocks that fill up the last cluster.
inline constexpr llvm::StringLiteral kClusterAttr = "tilegpu.cluster", kSharedCopiesAttr = "tilegpu.shared_copies";
/// The blocks that share copies; 1 where none do.
int64_t clusterOf(mlir::Operation* op);
/// On the function, by -tilegpu-bound-waves: a SIMD is to hold at least so many of its warps.
inline constexpr llvm::StringLiteral kWavesAttr = "tilegpu.waves";
/// On the function, by -tilegpu-gather-programs: fattn::DieOrder's dies and first axis.
inline constexpr llvm::StringLiteral kDieOrderAttr = "tilegpu.die_order";
/// Milliseconds that a wait for a copy or a slot may last; for debugging.
inline constexpr llvm::StringLiteral kWatchdogAttr = "tilegpu.watchdog";
/// On a function: what its marks (tilegpu.mark) stand for, by their numbers; texts such as "begin wait k" (-tilegpu-place-marks).
inline constexpr llvm::StringLiteral kMarksAttr = "tilegpu.marks";
/// On tilegpu.alloc, by -tilegpu-allocate-shared: the buffer is filled once a program, and the programs of a block take its slots in turns
/// (-tilegpu-repeat-programs). How many slots there are is a power of two.
inline constexpr llvm::StringLiteral kSlotByProgramAttr = "tilegpu.slot_by_program";
/// The axes along which the pairs of tilegpu.each_program are numbered, one after the other: theirs first, so that all programs that differ
/// in nothing else run at about the same time.
inline size_t axisInTurn(tile::Axis axis, size_t turn) { return DieOrder::axisInTurn(static_cast<size_t>(axis), turn); }
/// The first programs, `most` or all, that block `block` of `blocks` takes (tilegpu.each_program along `axis`), in their order, as numbers
/// along x first.
llvm::SmallVector<int64_t> programsOf(const std::array<int64_t, 3>& extents, tile::Axis axis, int64_t block, int64_t blocks,
                                      size_t most = SIZE_MAX);
/// The same of tilegpu.each_program dynamic, where any block may take any program behind the first ones: what `seed` deals it.
llvm::SmallVector<int64_t> dealtPrograms(int64_t programs, int64_t block, int64_t blocks, uint64_t seed, size_t most = SIZE_MAX);
/// On tile.dot and tilegpu.dot_async, by -tilegpu-exchange-operands: -tilegpu-assign-owners gives the result to one warp group.
inline constexpr llvm::StringLiteral kOwnedAttr = "tilegpu.owned";
/// On the function, by -tilegpu-choose-pairs or -tilegpu-assign-layouts: groups compute products of their own.
inline constexpr llvm::StringLiteral kPairsAttr = "tilegpu.pairs";
/// On tile.dot and tilegpu.dot_async, by -tilegpu-assign-layouts: which warp group is to compute the dot, and what follows from it alone
/// (-tilegpu-assign-pairs). On tilegpu.alloc, by -tilegpu-exchange-pairs: the groups exchange tiles there.
inline constexpr llvm::StringLiteral kPairedAttr = "tilegpu.paired";
/// On tile.dot and tilegpu.dot_async of a loop, by -tilegpu-schedule-loops: nothing waits for the dot before the next trip does, and what
/// it reads of shared memory stays until then. -tilegpu-place-waits lets it run on when its trip ends.
inline constexpr llvm::StringLiteral kRunsOnAttr = "tilegpu.runs_on";
/// On tile.dot and tilegpu.dot_async, by -tilegpu-pad-tiles: how much of its depth, and how many of its columns, are no padding. Behind
/// that depth both operands are zeros; behind those columns the result may be anything, such as the accumulator. Neither needs to be
/// multiplied.
inline constexpr llvm::StringLiteral kUsedAttr = "tilegpu.used";
/// What is to be multiplied of a dot's depth and columns, as far as there is padding.
struct UsedPart {
  int64_t depth = INT64_MAX, columns = INT64_MAX;
};
UsedPart usedPartOf(mlir::Operation* dot);
/// On tilegpu.alloc, by -tilegpu-exchange-operands and -tilegpu-exchange-pairs: warps fill the buffer for others.
inline constexpr llvm::StringLiteral kExchangeAttr = "tilegpu.exchange";
/// On tile.cumsum, by -tilegpu-decompose-conversions: an element is not part of its own sum.
inline constexpr llvm::StringLiteral kExclusiveAttr = "tilegpu.exclusive";
/// The extents of an operation; empty where all elements count.
llvm::ArrayRef<int64_t> extentsOf(mlir::Operation* op);
/// The machine of the function that `op` is, or is in. Throws Error{InvalidArgument} where the attribute is missing or unknown.
const gpu::Target& targetOf(mlir::Operation* op);
/// The banks of its shared memory; where the function has no machine, the most usual ones.
layout::Banks banksOf(mlir::Operation* op);
/// The warps of the function's block that compute; of an operation in tilegpu.owner_only those of the owner.
int64_t warpsOf(mlir::Operation* op);
/// Warps of its function's block that only copy.
int64_t copierWarpsOf(mlir::Operation* op);

/// Registers the dialect and those whose operations stand beside it.
void registerTileGpuDialects(mlir::DialectRegistry& registry);

/// The dot that a value in flight is the result of, in the trip before where a loop carries it; null of any other value.
DotAsyncOp dotOf(mlir::Value inFlight);

}  // namespace fattn::tilegpu

#endif
