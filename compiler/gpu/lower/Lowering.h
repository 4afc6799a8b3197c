// SPDX-License-Identifier: Apache-2.0
// From tiles to registers: the state that all parts of the lowering share, and the parts.
//
// A tile becomes one scalar a register, in the order of its layout's register numbers; a block pointer becomes its base, shape, strides and
// offsets; everything else keeps its value. Each part emits what one family of operations does with them, in arith, math, scf and the LLVM
// dialect; what differs between vendors it asks of Machine.
#ifndef FATTN_COMPILER_GPU_LOWER_LOWERING_H
#define FATTN_COMPILER_GPU_LOWER_LOWERING_H

#include <array>
#include <map>
#include <tuple>

#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/layout/Shared.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace fattn::gpu {

/// One scalar for each register of a tile.
using Registers = llvm::SmallVector<mlir::Value>;

/// A window into an array in global memory, as make_block_ptr and advance describe it; all but the base are i64, in elements.
struct Window {
  mlir::Value base;  ///< !llvm.ptr<1>
  llvm::SmallVector<mlir::Value, 3> shape, strides, offsets;
};

class Lowering;

/// The memory that a barrier orders: what threads of a block did there before it, others see and do not overtake behind it.
enum class Visible : std::uint8_t { Shared, All };

/// What a vendor's instructions do. Values are scalars; i32 where nothing else is said.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual mlir::Value threadId(mlir::ImplicitLocOpBuilder& b) = 0;  ///< within the block
  virtual mlir::Value programId(mlir::ImplicitLocOpBuilder& b, int axis) = 0;
  virtual mlir::Value numPrograms(mlir::ImplicitLocOpBuilder& b, int axis) = 0;
  /// A 32-bit value that all lanes of a warp have, in a form from which the code generator sees it, where that is worth it.
  virtual mlir::Value uniform(mlir::ImplicitLocOpBuilder& /*b*/, mlir::Value word) { return word; }
  /// A 32-bit value of lane `lane ^ mask`, or of lane `from`.
  virtual mlir::Value shuffleXor(mlir::ImplicitLocOpBuilder& b, mlir::Value word, int mask) = 0;
  virtual mlir::Value shuffle(mlir::ImplicitLocOpBuilder& b, mlir::Value word, mlir::Value from) = 0;
  /// Whether one instruction picks the bytes of a word from two, by numbers in a register: permuteBytes, with a selector for two 16-bit
  /// halves of (first, second): 0 and 1 are the halves of the first word.
  virtual bool permutesBytes() const { return false; }
  virtual mlir::Value permuteBytes(mlir::ImplicitLocOpBuilder& /*b*/, mlir::Value /*first*/, mlir::Value /*second*/,
                                   mlir::Value /*selector*/) {
    return {};
  }
  virtual int64_t byteSelector(std::array<int, 2> /*halves*/) const { return 0; }
  /// Whether the i1 holds in any lane of the warp; in any thread of the block.
  virtual mlir::Value anyInWarp(mlir::ImplicitLocOpBuilder& b, mlir::Value condition) = 0;
  /// `votes`: the byte of shared memory that the block's warps may vote in, a word for each, where one is set apart.
  virtual mlir::Value anyInBlock(Lowering& to, mlir::Value condition, std::optional<int64_t> votes) = 0;
  virtual void barrier(mlir::ImplicitLocOpBuilder& b, Visible visible) = 0;
  /// From here on the last two are of the block's first threads only, so many (0: of all).
  virtual void limitBarriers(int64_t /*threads*/) {}
  /// math.exp2, log2, ... on f32 scalars with one instruction: null where there is none, and LLVM decides.
  virtual mlir::Value math(mlir::ImplicitLocOpBuilder& b, mlir::Operation* op, mlir::ValueRange operands) = 0;
  // Global memory. A value is an integer or floating-point number, or a vector of 32- or 64-bit ones, aligned to its size. Where
  // `predicate` (null: always) is false nothing is accessed; a load then gives `other`. No branch: what follows stays convergent.
  virtual mlir::Value loadGlobal(mlir::ImplicitLocOpBuilder& b, mlir::Value address, mlir::Type type, mlir::Value predicate,
                                 mlir::Value other) = 0;
  /// Whether instructions add an offset of 32 bits that lanes differ in to an address that all lanes of a warp share.
  virtual bool addsLanesLast() const { return false; }
  /// The address of so many bytes of zeros, which a load may read where it is not to access its array; null where there are none.
  virtual mlir::Value zeros(mlir::ImplicitLocOpBuilder& /*b*/, int64_t /*bytes*/) { return {}; }
  /// Whether a branch around a load becomes its predicate: where one behind the load would wait for the data.
  virtual bool prefersPredicates() const { return false; }
  /// Whether what the usual side of a select_lazy gives is computed before the branch, so that no block is left of that side.
  virtual bool keepsUsualSidesEmpty() const { return false; }
  virtual void storeGlobal(mlir::ImplicitLocOpBuilder& b, mlir::Value address, mlir::Value value, mlir::Value predicate) = 0;
  /// The old value, where `used`; zero where `predicate` is false.
  virtual mlir::Value atomicAdd(mlir::ImplicitLocOpBuilder& b, mlir::Value address, mlir::Value value, mlir::Value predicate,
                                tile::MemoryOrder order, bool used) = 0;
  /// Adds neighbours atomically, of which nobody wants the old values; the address is aligned to all of them. One by one, where a machine
  /// knows nothing better. (Global.cpp)
  virtual void accumulateGlobal(Lowering& to, mlir::Value address, mlir::ValueRange elements, mlir::Value predicate);
  /// Two f32 as a vector of two f16 or bf16, in a form that no branch makes wide again: LLVM would convert behind it what both sides
  /// convert.
  /// `moderate`: the caller promises what tile::kModerateAttr says.
  virtual mlir::Value truncatePair(mlir::ImplicitLocOpBuilder& b, mlir::Value low, mlir::Value high, mlir::Type element, bool moderate) = 0;
  /// a - b of i32, the nearest i32 where that is none; computed where it stands, even if that is a branch in a loop that changes neither:
  /// what follows from it, as the comparisons of a mask, would take a register each in front of the loop.
  virtual bool hasSaturatingDifference() const { return false; }
  virtual mlir::Value saturatingDifference(mlir::ImplicitLocOpBuilder& /*builder*/, mlir::Value /*a*/, mlir::Value /*b*/) { return {}; }
  /// One element of shared memory, where the predicate holds (null: always). No branch, as above.
  virtual void storeShared(mlir::ImplicitLocOpBuilder& b, mlir::Value address, mlir::Value value, mlir::Value predicate) = 0;
  virtual mlir::LogicalResult dot(Lowering& to, tile::DotOp op) = 0;
  /// By vectors, where a machine knows nothing better. (SharedMemory.cpp)
  virtual mlir::LogicalResult loadBuffer(Lowering& to, tilegpu::LoadBufferOp op);
  virtual mlir::LogicalResult storeBuffer(Lowering& to, tilegpu::StoreBufferOp op);
  // What only machines with such engines, units or roles have. Else passes make none of these, and they are errors. (LowerTensors.cpp)
  virtual mlir::LogicalResult copyAsync(Lowering& to, tilegpu::CopyAsyncOp op);
  virtual mlir::LogicalResult copyWait(Lowering& to, tilegpu::CopyWaitOp op);
  virtual mlir::LogicalResult release(Lowering& to, tilegpu::ReleaseOp op);
  virtual mlir::LogicalResult storeBoxes(Lowering& to, tilegpu::StoreBoxesOp op);
  virtual mlir::LogicalResult sendBoxes(Lowering& to, tilegpu::SendBoxesOp op);
  virtual mlir::LogicalResult awaitSent(Lowering& to, tilegpu::AwaitSentOp op);
  /// Before the block's shared memory goes: behind such stores, or behind programs with some, of which a block takes one after another.
  virtual void endStores(Lowering& /*to*/) {}
  /// The ids of the program that the block takes next, its `count`th (tilegpu.each_program dynamic), and whether there is one (i1).
  struct NextProgram {
    std::array<mlir::Value, 3> ids;
    mlir::Value exists;
  };
  virtual mlir::FailureOr<NextProgram> nextProgram(Lowering& to, tilegpu::EachProgramOp op, mlir::Value count);
  virtual mlir::LogicalResult claimProgram(Lowering& to, tilegpu::ClaimProgramOp op);
  /// At the end of the function.
  virtual void endBlock(Lowering& /*to*/, mlir::func::FuncOp /*function*/) {}
  virtual mlir::LogicalResult isCopier(Lowering& to, tilegpu::IsCopierOp op);
  virtual mlir::LogicalResult warpLeast(Lowering& to, tilegpu::WarpLeastOp op);
  virtual mlir::LogicalResult groupLast(Lowering& to, tilegpu::GroupLastOp op);
  virtual mlir::LogicalResult setRegisters(Lowering& to, tilegpu::SetRegistersOp op);
  virtual mlir::LogicalResult mark(Lowering& to, tilegpu::MarkOp op);
  virtual mlir::LogicalResult turnWait(Lowering& to, tilegpu::TurnWaitOp op);
  virtual mlir::LogicalResult turnPass(Lowering& to, tilegpu::TurnPassOp op);
  virtual mlir::LogicalResult slotAcquire(Lowering& to, tilegpu::SlotAcquireOp op);
  virtual mlir::LogicalResult slotCommit(Lowering& to, tilegpu::SlotCommitOp op);
  virtual mlir::LogicalResult slotWait(Lowering& to, tilegpu::SlotWaitOp op);
  virtual mlir::LogicalResult ownerOnly(Lowering& to, tilegpu::OwnerOnlyOp op);
  virtual mlir::LogicalResult initBarriers(Lowering& to, tilegpu::InitBarriersOp op);
  virtual mlir::LogicalResult dotAsync(Lowering& to, tilegpu::DotAsyncOp op);
  virtual mlir::LogicalResult dotWait(Lowering& to, tilegpu::DotWaitOp op);
  virtual mlir::LogicalResult fenceAsync(Lowering& to, tilegpu::FenceAsyncOp op);
  /// Where a kernel waits for the launch in front by itself; elsewhere the device does.
  virtual void awaitLaunches(Lowering& /*to*/) {}
  virtual mlir::LogicalResult devicePrint(Lowering& to, tile::DevicePrintOp op) = 0;
};

class Lowering {
 public:
  Lowering(mlir::OpBuilder builder, mlir::Location loc, Machine& machine) : b(loc, builder), machine(machine) {}

  mlir::ImplicitLocOpBuilder b;  ///< where the next instruction goes
  Machine& machine;

  // Values. Those of the source function lead to those of the lowered one.
  const Registers& registers(mlir::Value tile) const { return tiles_.find(tile)->second; }
  void set(mlir::Value tile, Registers registers) { tiles_[tile] = std::move(registers); }
  const Window& window(mlir::Value blockPtr) const { return windows_.find(blockPtr)->second; }
  void set(mlir::Value blockPtr, Window window) { windows_[blockPtr] = std::move(window); }
  mlir::Value scalar(mlir::Value value) const { return scalars_.lookup(value); }
  void setScalar(mlir::Value value, mlir::Value to) { scalars_.map(value, to); }

  // The thread, computed once at the function's entry.
  mlir::Value lane, warp;
  mlir::Value uniformWarp;  ///< `warp`, in a form from which the code generator sees that all lanes have the same; where dots are in flight
                            ///< or boxes are copied
  mlir::Value sharedBase;   ///< !llvm.ptr<3>, the start of the block's shared memory
  layout::Banks banks;      ///< of the machine's shared memory

  /// The branch in which an owner does something for all warps, which keep count of it behind the branch; null outside.
  mlir::Operation* ownerBranch = nullptr;
  mlir::Value loadPredicate;  ///< tile.load accesses nothing where this is false, and gives zeros; null: it holds

  /// Tensor maps: pointers to the launch's objects, in the order of the function's list.
  llvm::SmallVector<mlir::Value, 4> tensorMaps;
  /// How many programs there are along each axis (i32), where blocks take several; else empty.
  llvm::SmallVector<mlir::Value, 3> extents;
  /// Where these are handed out while the kernel runs: the launch's counter of those that are taken (!llvm.ptr<1>); else null.
  mlir::Value counter;
  mlir::Value programCount;                   ///< in a program of these: its number among the block's
  std::optional<Machine::NextProgram> taken;  ///< and the next one, where the program has taken it before its end
  /// Bits of the thread that operations change as they are executed, 0 at first: they lie in an i32 (a pointer to it), from bit `first` on.
  struct LocalBits {
    mlir::Value word;
    int64_t first = 0;
  };
  /// Number `which` of this operation, so many. With `together` those of one role share words.
  LocalBits local(mlir::Operation* of, int which, int64_t count, int role, bool together);
  /// Whether barrier objects are so many that what a thread keeps of them shares words; once it is known.
  std::optional<bool> sharesWords;

  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  /// Over F2: the xor of images[i] for each bit i that is set in an i32.
  mlir::Value linearMap(mlir::Value number, llvm::ArrayRef<int64_t> images);
  /// The part of an output's number (i32) that this thread's lane and warp pick; the register's part is partOf(layout, r)[d], and the
  /// whole is the xor of both. Repeats of warps are added.
  mlir::Value threadPart(const layout::LinearLayout& layout, int d);
  /// The coordinates of register r with lane and warp 0.
  static layout::Coords registerPart(const layout::LinearLayout& layout, int64_t r);
  /// thread ^ constant, as an addition where no bit of the thread's part can overlap the constant.
  mlir::Value combine(const layout::LinearLayout& layout, int d, mlir::Value thread, int64_t constant);

  /// `count` neighbours as one value of type T: 16-bit pairs or 8-bit quads as i32, and back.
  mlir::Value pack(mlir::ValueRange elements, mlir::Type word);
  Registers unpack(mlir::Value word, mlir::Type element, int count);
  /// The type of one register in LLVM's terms: i8 for fp8, !llvm.ptr<1> for pointers, i64 for index.
  mlir::Type registerType(mlir::Type element) const;

  /// Emits everything in a block of the source function but its terminator.
  mlir::LogicalResult lowerBlock(mlir::Block& block);

 private:
  llvm::DenseMap<mlir::Value, Registers> tiles_;
  llvm::DenseMap<mlir::Value, Window> windows_;
  mlir::IRMapping scalars_;
  std::map<std::tuple<mlir::Operation*, int, int>, LocalBits> locals_;
  std::map<int, LocalBits> nextLocal_;  ///< by role: the last word, and its first free bit
};

// The parts, each in a file of its own; lowerOperation() in LowerTensors.cpp knows which takes what.
mlir::LogicalResult lowerOperation(Lowering& to, mlir::Operation* op);
mlir::LogicalResult lowerPrograms(Lowering& to, tilegpu::EachProgramOp op);      // Programs.cpp
mlir::LogicalResult takeProgram(Lowering& to, tilegpu::TakeProgramOp op);        // Programs.cpp
mlir::LogicalResult lowerElementwise(Lowering& to, mlir::Operation* op);         // arith, math on tiles: Elementwise.cpp
mlir::LogicalResult lowerControl(Lowering& to, mlir::Operation* op);             // scf, tile.select_lazy: Control.cpp
mlir::LogicalResult lowerReduce(Lowering& to, tile::ReduceOp op);                // Reduce.cpp
mlir::LogicalResult lowerCumsum(Lowering& to, tile::CumsumOp op);                // Cumsum.cpp
mlir::LogicalResult lowerConversion(Lowering& to, tilegpu::ConvertLayoutOp op);  // Conversions.cpp
mlir::LogicalResult lowerPointers(Lowering& to, mlir::Operation* op);   // make_block_ptr, advance, addptr, program_id: Pointers.cpp
mlir::LogicalResult lowerGlobal(Lowering& to, mlir::Operation* op);     // tile.load, store: Global.cpp
mlir::LogicalResult lowerScattered(Lowering& to, mlir::Operation* op);  // tile.gather, scatter, atomic_add: Scattered.cpp
/// Shapes.cpp: splat, arange, expand_dims, ..., slice; nothing where the operation is none of these.
std::optional<mlir::LogicalResult> lowerShape(Lowering& to, mlir::Operation* op);

/// Whether a reduction says for select_lazy, and nothing else, where any lane of a warp has a condition: the branch asks all lanes anyway,
/// so that lowerReduce() leaves it out. (Reduce.cpp)
bool isVote(tile::ReduceOp op);

/// The registers of a tile in another layout, where data stays within a warp: renamed, or shuffled. (Conversions.cpp)
mlir::FailureOr<Registers> convertRegisters(Lowering& to, const Registers& source, const layout::LinearLayout& from,
                                            const layout::LinearLayout& into, mlir::Type element);

/// Elements of less than 64 bits in the low bits of one i32, or one of 64 bits as two, and back. (Conversions.cpp)
Registers shuffleWords(Lowering& to, llvm::ArrayRef<mlir::Value> elements);
Registers fromShuffleWords(Lowering& to, llvm::ArrayRef<mlir::Value> words, mlir::Type element, int count);

/// What lane `lane ^ mask` has of each of these; small ones share words. (Reduce.cpp)
Registers shuffleXor(Lowering& to, llvm::ArrayRef<mlir::Value> values, int mask);

/// Replaces a kernel by one of the same name without tiles. (LowerTensors.cpp)
mlir::LogicalResult lowerTensors(mlir::func::FuncOp kernel, Machine& machine);

}  // namespace fattn::gpu

#endif
