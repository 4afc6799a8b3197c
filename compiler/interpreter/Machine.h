// SPDX-License-Identifier: Apache-2.0
// The interpreter's state for one program: the values computed so far, the memory, the rules of each operation.
#ifndef FATTN_COMPILER_INTERPRETER_MACHINE_H
#define FATTN_COMPILER_INTERPRETER_MACHINE_H

#include <optional>

#include "compiler/dialect/Tile.h"
#include "compiler/interpreter/Interpreter.h"
#include "compiler/interpreter/Number.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fattn::interpreter {

/// What a block pointer holds at run time.
struct Window {
  Element base;
  std::vector<int64_t> shape, strides, offsets;
};

/// A value at run time. A scalar has one element, a tile its elements in row-major order, a block pointer a window.
struct Data {
  std::vector<Element> elements;
  std::optional<Window> window;

  const Element& scalar() const { return elements.front(); }
};

/// Throws the error that `what` happened in `op`: "file:line:column: 'op' what".
[[noreturn]] void fail(mlir::Operation* op, const std::string& what, ErrorCode code = ErrorCode::InvalidArgument);

class Machine {
 public:
  Machine(std::vector<Buffer> buffers, Grid id, Grid grid, const Options& options, int64_t& stepsLeft)
      : buffers_(std::move(buffers)), id_(id), grid_(grid), options_(options), stepsLeft_(stepsLeft) {}

  void bind(mlir::Value value, Data data) { values_[value] = std::move(data); }
  /// Runs a block up to its terminator and gives the terminator's operands.
  std::vector<Data> runBlock(mlir::Block& block);

 private:
  const Data& get(mlir::Value value) { return values_.find(value)->second; }
  int64_t integer(mlir::Value value) { return get(value).scalar().i; }
  std::vector<int64_t> integers(mlir::ValueRange values);
  std::vector<Data> dataOf(mlir::ValueRange values);
  void bindAll(mlir::ValueRange values, std::vector<Data> data);
  void charge(mlir::Operation* op);
  void execute(mlir::Operation* op);

  /// Elementwise.cpp: arith and math; false where the operation is none of them.
  bool executeElementwise(mlir::Operation* op);
  /// Memory.cpp and Compute.cpp; false where the operation is none of theirs.
  bool executeMemory(mlir::Operation* op);
  bool executeShape(mlir::Operation* op);
  bool executeCompute(mlir::Operation* op);
  bool executeControl(mlir::Operation* op);

  void execute(mlir::scf::ForOp op);
  void execute(mlir::scf::WhileOp op);
  /// Calls write(address, number, element type) for each element of the value that lies inside the array.
  template <typename Op, typename Write>
  void writeWindow(Op op, Write write);
  void execute(tile::LoadOp op);
  void execute(tile::StoreOp op);
  void execute(tile::AccumulateOp op);
  void execute(tile::GatherOp op);
  void execute(tile::ScatterOp op);
  void execute(tile::AtomicAddOp op);
  void execute(tile::AddPtrOp op);
  void execute(tile::DotOp op);
  void execute(tile::ReduceOp op);
  void execute(tile::CumsumOp op);
  void execute(tile::SelectLazyOp op);
  void execute(tile::AssumeDivisibleOp op);
  void execute(tile::DevicePrintOp op);

  /// Where the element of a window is in memory, or nothing where it is outside the array in a checked dimension.
  std::optional<Element> locate(mlir::Operation* op, const Window& window, llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> checked);
  /// The address of an element after a check that its bytes are inside the buffer.
  void* access(mlir::Operation* op, const Element& pointer, mlir::Type type);

  std::vector<Buffer> buffers_;
  Grid id_, grid_;
  const Options& options_;
  int64_t& stepsLeft_;
  llvm::DenseMap<mlir::Value, Data> values_;
};

}  // namespace fattn::interpreter

#endif
