// SPDX-License-Identifier: Apache-2.0
// What the checker keeps of a function: control flow, scalar integers and pointers, and every access to memory that threads share.
//
// Tiles in registers are left out: a thread's registers are its own. The rest is a tree of blocks of steps over numbered values, so that
// running it some hundred times (Run.h) costs little.
#ifndef FATTN_COMPILER_GPU_CHECK_PROGRAM_H
#define FATTN_COMPILER_GPU_CHECK_PROGRAM_H

#include <vector>

#include "compiler/gpu/dialect/TileGpu.h"
#include "llvm/ADT/BitVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace fattn::check {

/// What a step does to memory, or that it is none of these.
enum class Act : std::uint8_t {
  None,
  Copy,
  Wait,
  Release,  ///< of a slot, by all warps, for the next copy of boxes into it, or by an owner for what warps fill it with next
  Acquire,  ///< of a slot that warps fill, when its owner has released it
  Commit,   ///< of a slot, by all warps, for its owner
  Await,    ///< of a slot, by its owner, until all warps have committed it
  Barrier,
  ReadBuffer,
  WriteBuffer,
  ReadByDot,  ///< by a dot in flight, from here to its wait; a step for each operand in shared memory
  WaitDot,
  Fence,
  MakeBarriers,  ///< objects that boxes need
  WaitTurn,      ///< of a warp group
  PassTurn,
  ReadGlobal,
  WriteGlobal,
  AtomicGlobal,
  Send  ///< by warps that only copy, of what others have laid
};

enum class StepKind : std::uint8_t { Number, Opaque, Pointer, Window, Forward, Access, For, While, If, Lazy, Programs, Owner };

struct Step {
  StepKind kind = StepKind::Opaque;
  Act act = Act::None;
  mlir::Operation* op = nullptr;
  llvm::SmallVector<int, 4> operands = {};  ///< numbers of values; -1 where the checker does not follow one
  llvm::SmallVector<int, 2> results = {};
  llvm::SmallVector<int, 2> blocks = {};  ///< of regions, in order; -1 for an empty one
  llvm::SmallVector<int, 2> loops = {};   ///< bodies of the loops around it, from the outermost to the innermost
  // Accesses.
  int buffer = -1;          ///< which of Program::buffers
  int label = -1;           ///< of the program before scheduling; -1 where it has no such access
  int stream = -1;          ///< counts the runs of one copy of an access: its prologue, its loop and its last trip are one stream
  int owners = -1;          ///< which of Program::accessors
  bool orders = false;      ///< an atomic addition before and behind which all other accesses stay
  bool bulk = false;        ///< a copy of boxes by an engine, or the wait for one: not counted, but known by its slot
  int phase = -1;           ///< the value that says how many copies or waits there were for the slot; -1: none
  int loop = -1;            ///< the number of a scf.for
  std::int64_t number = 0;  ///< pending of a wait, the value of a constant, the argument's index, 1 for the first read of a dot and for the
                            ///< turn that the last group opens, the label of a tile.unsplat
};

struct Body {
  std::vector<Step> steps;
  llvm::SmallVector<int> arguments, yields;
  llvm::SmallVector<int> buffers;  ///< that are allocated here, and gone where the block ends
  mlir::Operation* terminator = nullptr;
};

struct Buffer {
  mlir::Operation* alloc = nullptr;
  int firstSlot = 0;  ///< slots of all buffers are numbered through
  std::int64_t slots = 1, begin = 0, slotBytes = 0;
  const Step* onlyWriter = nullptr;  ///< of a buffer that no labelled access touches
  bool labelled = false;
  bool objects = false;    ///< boxes in it need barrier objects, which are made at the function's start
  bool released = false;   ///< copies into it wait until all warps have released the slot
  bool committed = false;  ///< warps fill its slots for an owner
  bool rewritten = false;  ///< what it holds at a loop's head nobody reads (Rewritten.cpp)
};

/// How the threads of a block share an access: what Owners.h computes from.
struct Accessor {
  mlir::Attribute layout;                 ///< null where all threads access the same scalar
  llvm::SmallVector<int64_t> shape = {};  ///< of what is accessed; of a part: of the whole, of the part, and where it begins
  bool oneHolder = false;                 ///< of several threads that hold an element only the first accesses it
  bool byWarp = false;                    ///< an engine accesses for what a whole warp holds, when its threads have met
  bool operator==(const Accessor&) const = default;
};

struct Program {
  mlir::func::FuncOp function;
  std::vector<Body> blocks;  ///< the first is the function's
  std::vector<Buffer> buffers;
  std::vector<Accessor> accessors;
  std::vector<std::vector<int>> overlaps;  ///< for each slot the others that have some of its bytes
  std::vector<int> shaping;                ///< arguments that trips and conditions follow from
  std::vector<std::int64_t> scales;        ///< constants beside them
  std::vector<int> windows;                ///< for each value that is a pointer which one of them it is; -1 for numbers
  int copiers = 0;                         ///< warps of their own that make the copies of boxes, or send what others have laid
  std::optional<tile::Axis> repeats;       ///< a block takes one program after another, in pairs along the axis
  bool dynamic = false;                    ///< or any of those that no other block takes
  int values = 0, pointers = 0, streams = 0, loops = 0, slots = 0;
  std::int64_t mostSlots = 1;
  llvm::BitVector boxSlots;  ///< slots that boxes are copied into
};

/// Sets Buffer::rewritten.
void findRewrittenBuffers(Program& program);

/// Of a store that lays some columns of a tile, which are stored one part after the other: these; null where it stores all of it.
inline tilegpu::SliceOp storedPartOf(mlir::Operation* op) {
  auto store = llvm::dyn_cast<tilegpu::StoreBoxesOp>(op);
  return store ? store.getValue().getDefiningOp<tilegpu::SliceOp>() : tilegpu::SliceOp();
}

/// Fails, with an error of the operation, where the function has control flow that is not structured.
mlir::FailureOr<Program> programOf(mlir::func::FuncOp function);

}  // namespace fattn::check

#endif
