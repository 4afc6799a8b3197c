// SPDX-License-Identifier: Apache-2.0
// The generator's state while it writes one program.
#ifndef FATTN_TESTS_GENERATOR_BUILDER_H
#define FATTN_TESTS_GENERATOR_BUILDER_H

#include <cmath>

#include "compiler/dialect/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tests/generator/Generator.h"

namespace fattn::generator {

/// A tile, a bound of its magnitude, and of the difference between two implementations. 0 for integers, which are exact.
struct Tracked {
  mlir::Value value;
  double bound = 0;
  double error = 0;

  mlir::RankedTensorType type() const { return mlir::cast<mlir::RankedTensorType>(value.getType()); }
  mlir::Type element() const { return type().getElementType(); }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(element()); }
};

class Builder {
 public:
  Builder(mlir::MLIRContext& context, const std::string& name, Choices choices, const Options& options);
  Program finish();

 private:
  using Value = mlir::Value;
  using Type = mlir::Type;

  // Builder.cpp: the frame of a program.
  Value constant(int64_t value, unsigned bits = 64);
  /// A new argument.
  Value addArgument(Type type, std::variant<Array, int64_t> contents, const std::string& name);
  /// How an array of these elements is aligned.
  struct Placement {
    int64_t misalignment = 0;
    bool alignedRows = false;  ///< rows begin at multiples of 16 bytes if the first does
    bool promised = false;     ///< the arguments say so
  };
  Placement place(Type element);
  Value addArray(Type element, int64_t count, bool random, const Placement& placement);
  Value addInteger(int64_t value, int64_t divisibility = 1);
  /// Where a row begins after one of `columns` elements, and the value that says so.
  int64_t stride(int64_t columns, Type element, const Placement& placement);
  /// A block pointer into a new array that the programs of the grid walk through, and the bound of what is in it.
  Value window(llvm::ArrayRef<int64_t> shape, Type element, bool output);
  Tracked load(llvm::ArrayRef<int64_t> shape, Type element);
  Tracked loadFrom(Value pointer);
  Tracked loadAnything();
  void store(Tracked tile);
  Type randomFloat();
  std::array<int64_t, 2> randomShape();
  Value offset(int dim, int64_t size);

  // Steps.cpp: straight-line operations.
  /// Some tile made so far, of the type asked for; loads one where there is none.
  Tracked any(bool isFloat);
  Tracked anyLike(mlir::RankedTensorType type);
  Tracked splat(double value, mlir::RankedTensorType type);
  Tracked rounded(Value value, double bound, double error);
  Tracked tamed(Tracked tile);
  Tracked castTo(Tracked tile, Type element);
  Tracked unary(Tracked x);
  Tracked binary(Tracked x, Tracked y);
  Tracked integerBinary(Tracked x, Tracked y);
  /// Row and column numbers of a tile's elements.
  std::array<Value, 2> coordinates(mlir::RankedTensorType like);
  /// A tile of truth values without error.
  Value condition(mlir::RankedTensorType like);
  Tracked select(Value condition, Tracked x);
  Tracked reduceAndBroadcast(Tracked x);
  Tracked reduce(Tracked x, int64_t axis);
  Value argmax(Tracked x, int64_t axis);
  Value restored(Value reduced, int64_t axis, mlir::RankedTensorType type);
  Tracked cumsum(Tracked x);
  Tracked dot(Tracked a);
  Tracked transposed(Tracked x);
  Tracked rearranged(Tracked x);
  Tracked gathered();

  // Control.cpp: operations with regions.
  Tracked loop(Tracked carried);
  Tracked dotLoop();
  Tracked whileLoop(Tracked carried);
  Tracked branch(Tracked x, Tracked y);
  Tracked lazy(Tracked usual);
  void scatterAndCount(Tracked x);
  /// Half of a carried tile plus another, clamped: what the bodies of loops compute. Contracts errors by half.
  Tracked contract(Tracked carried, Tracked other);

  void step();
  void add(Tracked tile);

  Choices random_;
  Options options_;
  mlir::OpBuilder b_;
  mlir::Location loc_;
  Program program_;
  mlir::func::FuncOp function_;
  Value id_[2];
  std::vector<Tracked> pool_;
};

/// Units in the last place by which an operation of two implementations may differ, and the relative size of one.
inline constexpr double kUlps = 8;
double unit(mlir::Type type);

}  // namespace fattn::generator

#endif
