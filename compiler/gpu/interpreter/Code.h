// SPDX-License-Identifier: Apache-2.0
// A kernel as a list of instructions with jumps, so that each warp can stop and go on anywhere, with the tables of its layouts at hand.
#ifndef FATTN_COMPILER_GPU_INTERPRETER_CODE_H
#define FATTN_COMPILER_GPU_INTERPRETER_CODE_H

#include "compiler/gpu/dialect/TileGpu.h"
#include "compiler/gpu/interpreter/Block.h"
#include "compiler/gpu/interpreter/Distribution.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fattn::adversary {

using Action = std::function<void(Block&, Warp&)>;
using Test = std::function<bool(Block&, Warp&)>;

struct Instruction {
  enum class Kind : std::uint8_t {
    Act,      ///< this warp by itself
    Branch,   ///< to `target` where the test does not hold
    Barrier,  ///< waits for all warps: what was done before is done for all of them
    Vote,     ///< waits for all warps, and goes to `target` where none of their tests holds
    Meet,     ///< waits for all warps, no more
    Await,    ///< waits until the test holds
    End,
  };
  Kind kind = Kind::Act;
  mlir::Operation* op = nullptr;
  Action act;
  Test test;
  std::size_t target = 0;
};

struct Code {
  std::vector<Instruction> instructions;
  std::size_t values = 0;      ///< slots of a warp
  std::vector<int> arguments;  ///< their slots
  int64_t warps = 0, lanes = 0, sharedBytes = 0;
  bool repeats = false;  ///< a block takes several programs
  int64_t copiers = 0;   ///< further warps, which meet no others: of those that only copy, each with a thread that does something
};

/// Makes the code of a kernel. The operation's families are in files of their own, as functions that give an empty action for an
/// operation that is none of theirs.
class Flattener {
 public:
  explicit Flattener(mlir::func::FuncOp kernel) : kernel_(kernel) {}
  Code run();

  int slot(mlir::Value value) { return slots_.try_emplace(value, static_cast<int>(slots_.size())).first->second; }
  std::vector<int> slots(mlir::ValueRange values);
  /// Of a tile with a layout.
  std::shared_ptr<const Distribution> distribution(mlir::Type tile);
  std::shared_ptr<const Distribution> distribution(mlir::Value tile) { return distribution(tile.getType()); }
  std::shared_ptr<const Distribution> distribution(const layout::LinearLayout& layout);

 private:
  std::size_t emit(Instruction instruction);
  std::size_t act(mlir::Operation* op, Action action) { return emit({.op = op, .act = std::move(action), .test = {}}); }
  void jumpTo(mlir::Operation* op, std::size_t target);
  void patch(std::size_t instruction) { code_.instructions[instruction].target = code_.instructions.size(); }
  /// Copies values at once, as if there were no order among them.
  Action assign(mlir::ValueRange to, mlir::ValueRange from);

  void block(mlir::Block& block);
  void visit(mlir::Operation* op);
  void visit(mlir::scf::ForOp loop);
  void visit(mlir::scf::WhileOp loop);
  void visit(mlir::scf::IfOp branch);
  void visit(tile::SelectLazyOp lazy);
  bool warpsDecide(tile::SelectLazyOp lazy);
  void visit(tile::AtomicAddOp add);
  void visit(tilegpu::EachProgramOp each);
  void visit(tilegpu::OwnerOnlyOp owned);

  mlir::func::FuncOp kernel_;
  Code code_;
  llvm::DenseMap<mlir::Value, int> slots_;
  llvm::DenseMap<mlir::Attribute, std::shared_ptr<const Distribution>> distributions_;
};

/// Elementwise.cpp: arith and math.
Action elementwiseAction(Flattener& to, mlir::Operation* op);
/// Shapes.cpp: what only renames registers, and conversions within a warp.
Action shapeAction(Flattener& to, mlir::Operation* op);
/// Compute.cpp: dot, reduce, cumsum.
Action computeAction(Flattener& to, mlir::Operation* op);
/// Global.cpp: the grid, pointers, loads and stores.
Action globalAction(Flattener& to, mlir::Operation* op);
/// The two halves of an atomic addition whose old values other threads need: what adds, and what hands them out. The second is empty
/// where every thread has what it needs.
std::pair<Action, Action> atomicActions(Flattener& to, tile::AtomicAddOp op);
/// Boxes.cpp: copies of boxes, waits for them and releases. What each waits for, where it does, and what it then does.
struct Awaited {
  Test ready;
  Action act;
};
std::optional<Awaited> boxAction(Flattener& to, mlir::Operation* op);
/// What a warp keeps count of where another group is the owner.
Action passOwned(Flattener& to, tilegpu::OwnerOnlyOp op);
/// The warp's part of the tile into the buffer.
Action layBoxes(Flattener& to, tilegpu::StoreBoxesOp op);
/// Roles.cpp: who a warp is, barrier objects, and turns.
std::optional<Awaited> roleAction(Flattener& to, mlir::Operation* op);
/// Shared.cpp: buffers and copies, and what is in Dots.cpp.
Action sharedAction(Flattener& to, mlir::Operation* op);
Action dotAsync(Flattener& to, tilegpu::DotAsyncOp op);
Action dotWait(Flattener& to, tilegpu::DotWaitOp op);

/// The region of a reduction on numbers.
using ScalarFunction = std::function<void(const Warp& warp, const Element* operands, Element* results)>;
ScalarFunction scalarFunction(Flattener& to, mlir::Block& region);

/// For each of a warp's registers of the result, the warp's register of the input that has the element `map` names.
enum class Reach : std::uint8_t {
  Lane,  ///< in the same lane
  Warp,  ///< in any lane, in the same where it has it
};
std::vector<std::vector<int32_t>> sourceRegisters(mlir::Operation* op, const Distribution& input, const Distribution& result, Reach reach,
                                                  llvm::function_ref<int64_t(int64_t)> map);

}  // namespace fattn::adversary

#endif
