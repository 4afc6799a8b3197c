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

/// A tile, a bound of its magnitude, and of the difference between two implementations. Integers are exact.
struct Tracked {
  mlir::Value value;
  double bound = 0;
  double error = 0;
  /// A power of two that divides every element, where one is known and the error is 0: sums of such numbers are exact in any order as
  /// long as the element type has the bits.
  double quantum = 0;

  mlir::RankedTensorType type() const { return mlir::cast<mlir::RankedTensorType>(value.getType()); }
  mlir::Type element() const { return type().getElementType(); }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(element()); }
  int64_t dim(unsigned i) const { return type().getDimSize(i); }
};

class Builder {
 public:
  Builder(mlir::MLIRContext& context, const std::string& name, Choices choices, const Options& options);
  Program finish();

 private:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using Shape = llvm::ArrayRef<int64_t>;
  using TensorType = mlir::RankedTensorType;

  // Builder.cpp: the frame of a program, and the choice of what comes next.
  void step();
  void elementwise();
  void castStep();
  void masked();
  void store();
  /// Steps between the ends of a region; what they make is forgotten with the region's scope.
  void steps(int64_t most);
  void keep(Tracked tile);
  /// The operation made last is worth counting under this name.
  void note(const char* feature);
  void eraseDeadCode();
  void eraseUnusedArguments();
  void promiseNoAliases();
  Type randomFloat();
  int64_t randomSize();
  /// Sizes of a tile that is computed with `factor` operations an element.
  std::array<int64_t, 2> randomShape(int64_t factor = 1);
  /// How often a loop runs whose trips cost so much.
  int64_t randomTrips(int64_t cost);
  void spend(int64_t operations) { budget_ -= operations * repeated_; }
  bool affords(int64_t operations) const { return operations * repeated_ <= budget_ / 4; }

  // Arrays.cpp: arguments, arrays, loads and stores.
  Value constant(int64_t value, unsigned bits = 64);
  Value addArgument(Type type, std::variant<Array, int64_t> contents, const std::string& name);
  Value addInteger(int64_t value, int64_t divisibility = 1, unsigned bits = 64);
  /// How an array of these elements is aligned.
  struct Placement {
    int64_t misalignment = 0;
    bool alignedRows = false;  ///< rows begin at multiples of 16 bytes if the first does
    bool promised = false;     ///< the arguments say so
  };
  Placement place(Type element);
  Value addArray(Type element, int64_t count, const Fill& fill, const Placement& placement);
  Fill randomFill();
  /// A strided array, or the part of one that belongs to this program of the grid.
  struct View {
    Value base;
    unsigned argument = 0;
    Value start;  ///< elements from the argument to the base; null where there are none
    Type element;
    llvm::SmallVector<int64_t> extents, strides;
    llvm::SmallVector<Value> sizeValues, strideValues;
    bool coarse = false;  ///< holds multiples of a quarter
  };
  enum class Whose : uint8_t { Shared, Own };
  View view(Type element, Shape extents, bool random, Whose whose);
  static View flatView(Value base, Type element);
  /// The same memory seen as an array of another shape, without gaps.
  View reshaped(const View& flat, Shape extents, bool transposed);
  Value programNumber();
  /// Where the program's window begins in each dimension.
  llvm::SmallVector<Value> windowOffsets(Shape shape);
  Value blockPointer(const View& view, Shape shape, llvm::ArrayRef<Value> offsets);
  Value pointers(const View& view, Shape shape, llvm::ArrayRef<Value> offsets);
  /// True where a window's elements are in the array.
  Value inBounds(const View& view, Shape shape, llvm::ArrayRef<Value> offsets);
  /// `inside`: the window surely is, so that it need not be checked.
  Tracked loadFrom(const View& view, Shape shape, llvm::ArrayRef<Value> offsets, bool inside);
  Tracked loadThrough(Value blockPointer, bool coarse, bool inside);
  static Tracked fresh(Type element, bool coarse);
  Tracked loaded(Value value, bool coarse);
  void storeTo(const View& view, Tracked tile, llvm::ArrayRef<Value> offsets, bool inside);
  mlir::Attribute randomPadding(Type element);
  llvm::SmallVector<int64_t> checkedDims(unsigned rank, bool inside);
  Tracked load(Shape shape, Type element);
  Tracked loadAnything();
  /// A number from memory, of this program; integers are in [low, high].
  Value scalar(Type element, int64_t low = -8, int64_t high = 8);
  void store(Tracked tile);
  /// An output's elements may be off by this much.
  void tolerate(unsigned argument, double error);

  // Steps.cpp: elementwise operations.
  /// Some tile made so far, of the kind asked for; loads one where there is none.
  Tracked any(bool isFloat);
  Tracked anyLike(TensorType type);
  /// The newest tile; where it has another type, the sum of its elements everywhere.
  Tracked newestAs(TensorType type);
  Tracked splat(double value, TensorType type);
  Tracked rounded(Value value, double bound, double error, double quantum = 0, double ulps = 0);
  Tracked tamed(Tracked tile);
  /// Times a power of two, so that the bound is at most 1.
  Tracked normalized(Tracked tile);
  Tracked castTo(Tracked tile, Type element);
  Tracked plus(Tracked x, Tracked y);
  Tracked minus(Tracked x, Tracked y);
  Tracked times(Tracked x, Tracked y);
  Tracked larger(Tracked x, Tracked y);
  Tracked exp2(Tracked x);
  Tracked unary(Tracked x);
  Tracked binary(Tracked x, Tracked y);
  Tracked integerUnary(Tracked x);
  Tracked integerBinary(Tracked x, Tracked y);
  Tracked either(Value condition, Tracked x, Tracked y);
  /// Some function of the elements.
  Tracked changed(Tracked x);

  // Masks.cpp: tiles of truth values, without error.
  /// The index in a dimension of each element, counted from `start` (i64) where there is one.
  Value numbers(Shape shape, unsigned dim, Value start, Type integer);
  /// `row` and `column`: where the tile begins in something larger.
  Value condition(Shape shape, Value row = {}, Value column = {});
  Value comparison(Shape shape, Value row, Value column);
  Value wrappedComparison(Shape shape, Value row, Value column);
  /// A truth value for each row, or one for all.
  Value rowCondition(int64_t rows);

  // Shapes.cpp: operations that combine or move elements, and vectors beside tiles.
  Tracked reduce(Tracked x, int64_t axis);
  Tracked sumOfAll(Tracked x);
  Value argmax(Tracked x, int64_t axis);
  Tracked restored(Tracked reduced, int64_t axis, TensorType type);
  Tracked reduced(Tracked x);
  Tracked cumsum(Tracked x);
  Tracked transposed(Tracked x);
  Tracked rearranged(Tracked x);
  Tracked anyVector(int64_t size, bool isFloat);
  void vectorStep();

  // Dots.cpp: matrix products, alone and in loops.
  Tracked product(Tracked a, Tracked b, Tracked acc);
  Tracked product(Tracked a, Tracked b);
  void dot();
  void dotLoop();
  void chain();
  Tracked scores(Tracked q, Tracked x, Value column);
  void fiveDots();

  // Control.cpp: operations with regions.
  struct Trips {
    int64_t most = 0;   ///< there are so many, or fewer where the bound is data
    int64_t block = 1;  ///< elements of the walked dimension a trip
  };
  /// What is walked through is at element `at` of its dimension.
  using Body = llvm::function_ref<llvm::SmallVector<Value>(Value at, mlir::ValueRange carried)>;
  llvm::SmallVector<Value> counted(Trips trips, mlir::ValueRange inits, Body body);
  Value throughTile(Value number);
  Value highBound(Trips trips, unsigned bits, int64_t step);
  void loop();
  void whileLoop();
  void branch();
  void lazy();
  Tracked lazily(Tracked usual, int depth);
  /// Half of a carried tile plus another, clamped: what the bodies of loops compute. Contracts errors by half.
  Tracked contract(Tracked carried, Tracked other);

  // Memory.cpp: memory that is read and written.
  View perhapsThroughAnother(const View& view);
  void gathered();
  void scattered();
  void atomics();
  void inPlace();
  void storeThenLoad();
  void loadThenStore();
  Tracked loadOtherwise(const View& flat, TensorType written, Tracked holds);
  void carriedThroughMemory();
  Tracked towards(Tracked x, Tracked weight);
  void chasedTable();

  /// Restores the insertion point, the tiles at hand, and how often what comes is repeated.
  class Scope {
   public:
    explicit Scope(Builder& b) : b_(b), guard_(b.b_), tiles_(b.pool_.size()), vectors_(b.vectors_.size()), repeated_(b.repeated_) {
      ++b_.depth_;
    }
    /// Of a loop.
    Scope(Builder& b, int64_t trips) : Scope(b) {
      b_.repeated_ *= std::max<int64_t>(1, trips);
      ++b_.loops_, loops_ = 1;
    }
    ~Scope() {
      b_.pool_.resize(tiles_);
      b_.vectors_.resize(vectors_);
      b_.repeated_ = repeated_;
      b_.loops_ -= loops_;
      --b_.depth_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Builder& b_;
    mlir::OpBuilder::InsertionGuard guard_;
    size_t tiles_, vectors_;
    int64_t repeated_;
    int loops_ = 0;
  };
  struct Step {
    int weight;
    void (*run)(Builder&);
    int depth;  ///< of regions it may be in, at most
    enum Memory : uint8_t {
      Reads,        ///< at most
      Writes,       ///< what nobody reads, or only after it
      ReadsWritten  ///< also what an earlier trip of a loop around it would have written: not in loops
    } memory;
  };
  static llvm::ArrayRef<Step> stepTable();

  Choices random_;
  Options options_;
  mlir::OpBuilder b_;
  mlir::Location loc_;
  Program program_;
  mlir::func::FuncOp function_;
  Value id_[2];
  std::vector<Tracked> pool_, vectors_;
  std::vector<int64_t> sizes_;  ///< that most tiles of the program have
  std::vector<std::pair<mlir::Operation*, const char*>> notes_;
  int64_t budget_;        ///< operations that the program may still do
  int64_t repeated_ = 1;  ///< how often what comes next is executed
  int depth_ = 0;         ///< regions around what comes next
  int loops_ = 0;         ///< and how many of them are loops
  bool quiet_ = false;    ///< inside of a region that may not write
};

/// Units in the last place by which an operation of two implementations may differ, and the relative size of one.
inline constexpr double kUlps = 8;
double unit(mlir::Type type);

}  // namespace fattn::generator

#endif
