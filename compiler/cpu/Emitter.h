// SPDX-License-Identifier: Apache-2.0
// Turns one `tile` function into loops over vectors and scratch memory: the heart of the CPU back end.
//
// Tiles are values; here they become one of three things:
//   - a view of global memory: a load that nobody overwrites is read where it is used, at its strides;
//   - a scratch buffer: results of dots, reductions and loops, and elementwise values that several places need;
//   - nothing: any other elementwise value is recomputed, vector by vector, inside the loop nest that consumes it.
// Consecutive elementwise values and reductions over one index space share one loop nest ("group"). Before and after, in short:
//
//   %s = tile.dot %q, %k, %zero            for i, j: registers += q[k][i..] * splat(k[j][k]); store into scratch
//   %p = math.exp2 (%s * %c - %m)     =>   for i (vectors): sum = 0
//   %l = tile.reduce add %p axis 1           for j: v = exp2(s[j][i..] * c - m[i..]); store p[j][i..]; sum += v
//                                            store l[i..] = sum
//
// Assumptions: A1 block pointers are made in the function, or carried through scf.for and only advanced (strides known).
// A2 one program is run by one thread; `scratch` is private to it. Tests: tests/lit/cpu, tests/unit/cpu.
#ifndef FATTN_COMPILER_CPU_EMITTER_H
#define FATTN_COMPILER_CPU_EMITTER_H

#include <functional>
#include <map>

#include "compiler/cpu/HostTarget.h"
#include "compiler/cpu/LaneAssignment.h"
#include "compiler/cpu/Scratch.h"
#include "compiler/cpu/TileType.h"
#include "compiler/cpu/View.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace fattn::cpu {

class Emitter {
 public:
  Emitter(mlir::func::FuncOp source, const HostTarget& target, mlir::OpBuilder builder);

  /// Emits the body of the source function at the builder's insertion point. `args`, `grid` and `scratch` are the entry's pointers.
  mlir::LogicalResult emit(mlir::Value args, mlir::Value grid, mlir::Value scratch);
  int64_t scratchBytes() const { return scratch.bytes(); }

 private:
  // A root is what a group's loop nest computes besides the values that vanish into it: a buffer or the results of a reduction.
  struct Root {
    mlir::Operation* op = nullptr;
    mlir::Value value;  ///< the elementwise value to store; null for a reduction
  };
  struct Group {
    llvm::SmallVector<Root> roots;
    llvm::SmallVector<int64_t> shape;
    int lane = -1;
    int reduced = -1;
    bool empty() const { return roots.empty(); }
  };
  using Body = std::function<llvm::SmallVector<mlir::Value>(const Point&, mlir::ValueRange)>;
  using Init = std::function<llvm::SmallVector<mlir::Value>(const Point&)>;
  using Finish = std::function<void(const Point&, mlir::ValueRange)>;

  // EmitBlock.cpp: program order.
  mlir::LogicalResult emitBlock(mlir::Block& block);
  mlir::LogicalResult emitOp(mlir::Operation* op);
  mlir::LogicalResult emitTileOp(mlir::Operation* op);
  void emitScalarOp(mlir::Operation* op);
  void flush();
  void addRoot(Root root);
  bool joins(const Root& root) const;
  void emitGroup(Group group);
  void materializeEscaping(Group& group);
  View placeRoot(mlir::Value value);
  bool dependsOnGroup(mlir::Value value, bool identity) const;
  void collectLeaves(mlir::Value value, bool identity, llvm::function_ref<void(mlir::Value, bool)> visit) const;
  bool isTransparent(mlir::Operation* op) const;
  bool isCheap(mlir::Value value) const;
  bool isCheap(mlir::Value value, llvm::SmallPtrSetImpl<mlir::Operation*>& seen) const;
  int64_t sizeOf(mlir::Value value) const;
  void shareBefore(mlir::Operation* user, mlir::Value value);
  bool inPlaceCandidate(mlir::Value leaf, mlir::Value root);
  bool isDone(mlir::Operation* op) const;
  bool needsMemory(mlir::Value value) const;
  /// Whether an operation that reads the value, itself or through values without memory, matches.
  bool anyUse(mlir::Value value, llvm::function_ref<bool(mlir::Operation*)> matches) const;
  bool deadAfter(mlir::Value value, llvm::function_ref<bool(mlir::Operation*)> counts) const;
  bool isDead(mlir::Value value);
  void releaseDead(mlir::Block& block);
  bool overwrittenBeforeUse(mlir::Operation* load);
  mlir::Operation* nextWriter(mlir::Operation* op);

  // EmitNest.cpp: loops.
  void nest(llvm::ArrayRef<int64_t> shape, int lane, int64_t width, int inner, const Init& init, const Body& body, const Finish& finish);
  void nestOver(llvm::ArrayRef<int64_t> shape, int lane, const std::function<void(const Point&)>& body);
  mlir::Value loop(mlir::Value lo, mlir::Value hi, int64_t step, mlir::ValueRange init, llvm::SmallVectorImpl<mlir::Value>* results,
                   const std::function<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)>& body);
  int64_t widthFor(llvm::ArrayRef<int64_t> shape, int lane) const;
  void emitReductionNest(Group& group, llvm::ArrayRef<tile::ReduceOp> reductions);
  /// Where a reduction keeps its accumulator because there is no element: in the first trip (`notFirst`, which has it already), and in
  /// lanes at and beyond `size` (dynamic: none are). Null: nowhere.
  mlir::Value accumulatorStays(mlir::Value index, int64_t width, bool notFirst, int64_t size);
  void emitCrossLane(tile::ReduceOp op, const Point& p, mlir::ValueRange accumulated);
  llvm::SmallVector<mlir::Value> combine(tile::ReduceOp op, mlir::ValueRange a, mlir::ValueRange b, int64_t width);
  mlir::Value identity(tile::ReduceOp op, int64_t width);

  // EmitPointwise.cpp: values at a point.
  mlir::Value eval(mlir::Value value, const Point& p);
  mlir::Value evalUncached(mlir::Value value, const Point& p);
  mlir::Value evalShapeOp(mlir::Operation* op, mlir::Value value, const Point& p);
  mlir::Value evalVector(mlir::Value value, const Point& p);
  mlir::Value pointwise(mlir::Operation* op, mlir::ValueRange operands, int64_t width);
  mlir::Value reshapedAt(tile::ReshapeOp op, const Point& p);

  // EmitConvert.cpp: element types.
  mlir::Value convert(mlir::Value v, mlir::Type to, bool isSigned = true);
  mlir::Value floatToF32(mlir::Value v);
  mlir::Value floatFromF32(mlir::Value v, mlir::Type to);
  mlir::Value smallToF32(mlir::Value v);
  mlir::Value smallFromF32(mlir::Value v, mlir::Type to);

  // EmitMemory.cpp, EmitBlockPointers.cpp: views, loads, stores.
  /// Dense, or with rows at distances that do not bring many of them into one set of the cache.
  enum class Rows { Dense, Spread };
  View allocate(llvm::ArrayRef<int64_t> shape, mlir::Type element, int lane, Rows rows = Rows::Dense);
  void release(View& view);
  mlir::Value address(const View& view, llvm::ArrayRef<mlir::Value> index);
  mlir::Value loadAt(const View& view, const Point& p);
  void storeAt(const View& view, const Point& p, mlir::Value v);
  void materialize(mlir::Value value, View& into);
  void transposeBlocks(const View& into, int from, const std::function<mlir::Value(const Point&)>& read);
  void copy(const View& from, const View& into);
  mlir::LogicalResult emitLoad(tile::LoadOp op);
  View loadBoundary(tile::LoadOp op, const BlockPtr& ptr, const View& global);
  mlir::LogicalResult emitWrite(tile::StoreOp op);
  mlir::LogicalResult emitWrite(tile::AccumulateOp op);
  mlir::Value inside(const BlockPtr& ptr, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> shape);
  mlir::Value laneMask(const BlockPtr& ptr, int64_t dim, mlir::Value index, int64_t width);
  View viewOf(const BlockPtr& ptr, llvm::ArrayRef<int64_t> shape);
  mlir::LogicalResult emitGather(tile::GatherOp op);
  mlir::LogicalResult emitScatter(tile::ScatterOp op);
  mlir::LogicalResult emitAtomicAdd(tile::AtomicAddOp op);
  mlir::LogicalResult emitPrint(tile::DevicePrintOp op);
  mlir::Value laneExists(const Point& p, int64_t size);
  mlir::Value pointerAt(mlir::Value ptr, const Point& p);
  void define(mlir::Value result, View view);
  void forEachElement(llvm::ArrayRef<int64_t> shape, mlir::Value mask, const std::function<void(const Point&)>& body);
  mlir::LogicalResult emitCumsum(tile::CumsumOp op);

  // EmitDot.cpp, PackOperands.cpp: matrix products.
  enum class DotKind { F32, Bf16Pairs, I32 };
  enum class Role { Vectors, Broadcast };
  struct Tiling {
    int64_t rows, vectors;  ///< one register block: rows x vectors accumulators
  };
  struct Panel {
    DotKind kind;
    View vectors, broadcast, acc;
    int kVector, kBroadcast;  ///< the contracted dimension of either operand
    int64_t depth;            ///< trips of the contraction loop
    bool zero;                ///< start from zero instead of loading the accumulators
  };
  DotKind dotKind(tile::DotOp op) const;
  mlir::LogicalResult emitDot(tile::DotOp op);
  View accumulator(tile::DotOp op, int lane, bool& isZero);
  Tiling chooseTiling(int64_t rows, int64_t laneVectors) const;
  void registerBlock(const Panel& panel, Tiling tiling, mlir::Value lane, mlir::Value row);
  mlir::Value multiplyAdd(DotKind kind, mlir::Value broadcast, mlir::Value vector, mlir::Value acc);
  View dotOperand(mlir::Value operand, int kDim, DotKind kind, Role role, int64_t reads);
  static bool staysInPlace(const View& view, int64_t reads);
  int64_t readsOf(tile::DotOp op, Role role) const;
  View usableView(mlir::Value operand, int kDim, DotKind kind, Role role);
  View packPairs(mlir::Value operand, int kDim);
  llvm::SmallVector<std::pair<void*, int>> prepackFor(mlir::Operation* region);
  mlir::Type computeType(DotKind kind);

  // EmitControl.cpp: loops and branches of the program.
  mlir::LogicalResult emitFor(mlir::scf::ForOp op);
  mlir::LogicalResult emitIf(mlir::scf::IfOp op);
  mlir::LogicalResult emitWhile(mlir::scf::WhileOp op);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> emitSide(mlir::Block& from, mlir::ValueRange yielded, llvm::ArrayRef<View> into);
  llvm::SmallVector<int> pin(llvm::ArrayRef<View> carried);
  void bind(mlir::ValueRange originals, mlir::ValueRange parts, llvm::ArrayRef<View> tiles, llvm::ArrayRef<const BlockPtr*> likes = {});
  llvm::SmallVector<View> allocateResults(mlir::ValueRange results, llvm::SmallVectorImpl<mlir::Type>& types);
  mlir::LogicalResult emitSelectLazy(tile::SelectLazyOp op);
  View ownedCopy(mlir::Value value, mlir::Operation* user, int lane);
  void writeCarried(mlir::ValueRange values, llvm::ArrayRef<View> into);
  View usualPlace(tile::SelectLazyOp op, mlir::Value usual, mlir::Value result);
  void mergeExact(tile::SelectLazyOp op, llvm::ArrayRef<View> results);
  void flatten(mlir::Value value, llvm::SmallVectorImpl<mlir::Value>& out);
  void flattenTypes(mlir::Value value, llvm::SmallVectorImpl<mlir::Type>& out);
  void unflatten(mlir::Value value, mlir::ValueRange& parts, const BlockPtr* like);
  const BlockPtr* carriedLike(mlir::Value init, mlir::Value arg, mlir::Value yielded);
  mlir::Value anyOf(mlir::Value condition);

  // Small builders.
  mlir::Value i64(int64_t v);
  mlir::Value toValue(Stride s);
  Stride addOf(Stride a, Stride b);
  Stride mulOf(Stride a, Stride b);
  mlir::Value splat(mlir::Value scalar, int64_t width);
  mlir::Value scalar(mlir::Value v) const { return scalars.lookupOrNull(v); }
  mlir::Type memoryType(mlir::Type element) const;
  mlir::Value toMemory(mlir::Value v, mlir::Type element);
  mlir::Value fromMemory(mlir::Value v, mlir::Type element);
  int64_t bytesOf(mlir::Type element) const;
  mlir::Value call(llvm::StringRef intrinsic, mlir::Type result, mlir::ValueRange operands);

  mlir::func::FuncOp source;
  const HostTarget& target;
  mlir::OpBuilder b;
  mlir::Location loc;
  LaneAssignment lanes;
  Scratch scratch;
  mlir::Value scratchBase;
  mlir::Value gridBase;

  mlir::IRMapping scalars;
  llvm::DenseMap<mlir::Value, View> views;
  llvm::DenseMap<mlir::Value, BlockPtr> blockPtrs;
  std::map<std::pair<void*, int>, View> packed;  ///< (operand, form) -> operands of dots packed before a loop
  llvm::DenseSet<mlir::Operation*> done;
  llvm::DenseMap<mlir::Value, mlir::Operation*> pendingUser;  ///< a user that was not done when it was last looked for
  llvm::DenseMap<mlir::Block*, std::vector<mlir::Operation*>> writers;
  llvm::DenseMap<mlir::Value, int64_t> sizes;  ///< operations in the expressions of elementwise values
  Group group;
  llvm::DenseSet<mlir::Value> computing;  ///< the roots of the nest being emitted: computed, not read back
  int printCount = 0;
  llvm::DenseSet<int> pinned;                                        ///< slots of loop-carried tiles: they live as long as the loop
  llvm::SmallVector<mlir::Value> owners;                             ///< tiles whose view owns a slot
  std::map<std::pair<void*, std::vector<void*>>, mlir::Value> memo;  ///< values already computed in the innermost nest body
};

}  // namespace fattn::cpu

#endif
