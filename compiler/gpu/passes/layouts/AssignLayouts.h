// SPDX-License-Identifier: Apache-2.0
// Inside of -tilegpu-assign-layouts: the numbered layouts and their prices, and the assignment of a layout to every tile of a function.
#ifndef FATTN_COMPILER_GPU_PASSES_LAYOUTS_ASSIGNLAYOUTS_H
#define FATTN_COMPILER_GPU_PASSES_LAYOUTS_ASSIGNLAYOUTS_H

#include <map>
#include <optional>

#include "compiler/gpu/dialect/TileGpu.h"
#include "llvm/ADT/MapVector.h"

namespace fattn::tilegpu {

/// The number of a layout in a LayoutPool.
using LayoutId = int;
inline constexpr LayoutId kNoLayout = -1;
/// Cycles of what cannot be: more than any other choice costs.
inline constexpr double kImpossible = 1e6;

/// How the layout of one value follows from that of another.
struct Rule {
  enum Kind : std::uint8_t { Same, Slice, Expand, Collapse, Transpose, Reshape, Join, Split, Scalar };
  Kind kind = Same;
  llvm::SmallVector<int64_t, 4> numbers = {};  ///< a dimension, dimensions, a permutation or a shape
  bool operator<(const Rule& other) const { return std::tie(kind, numbers) < std::tie(other.kind, other.numbers); }
};

/// Layouts by number: equal ones have one number, and what has been derived or priced once is remembered. Prices are cycles of an SM.
class LayoutPool {
 public:
  LayoutPool(const gpu::Target& target, int64_t warps) : target_(target), warps_(warps) {}

  LayoutId number(layout::LinearLayout layout);
  const layout::LinearLayout& operator[](LayoutId id) const { return layouts_[static_cast<size_t>(id)]; }
  const gpu::Target& target() const { return target_; }
  int64_t warps() const { return warps_; }

  /// kNoLayout where the rule does not apply (a reshape across an odd factor, a split across lanes).
  LayoutId derive(LayoutId id, const Rule& rule);
  /// Of a tile of rank 0: every thread holds the element.
  LayoutId scalar();
  /// Vectors of `bytes` along dimension `contiguous`, or what is best for a tile that no memory dictates anything about.
  LayoutId blocked(llvm::ArrayRef<int64_t> shape, int contiguous, int bits, int bytes);
  /// Each warp's elements shared out among its lanes in vectors of up to `bytes` along dimension `contiguous`, where there is one.
  LayoutId inVectors(LayoutId id, int contiguous, int bits, int bytes);

  double conversionCost(LayoutId from, LayoutId to, int bits);
  /// Whether moving from one to the other leads through shared memory.
  bool convertsInShared(LayoutId from, LayoutId to, int bits);
  double reductionCost(LayoutId id, int axis, int bits);
  /// Of a load, or of a store; `contiguous` -1: no dimension is.
  double memoryCost(LayoutId id, int contiguous, int bits, int bytes, bool stores);
  /// Of reading it from shared memory in this layout, copies included. `contiguous`: the dimension whose order the buffer keeps; -1: none.
  double sharedReadCost(LayoutId id, int bits, int contiguous) const;

 private:
  const gpu::Target& target_;
  int64_t warps_;
  std::vector<layout::LinearLayout> layouts_;
  std::multimap<size_t, LayoutId> byHash_;
  std::map<std::pair<LayoutId, Rule>, LayoutId> derived_;
  std::map<std::tuple<layout::Coords, int, int, int>, LayoutId> blocked_;
  std::map<std::tuple<LayoutId, int, int>, LayoutId> inVectors_;
  struct Move {
    double cycles = 0;
    bool inShared = false;
  };
  const Move& move(LayoutId from, LayoutId to, int bits);

  std::map<std::tuple<LayoutId, LayoutId, int>, Move> moves_;
  std::map<std::tuple<LayoutId, int, int>, double> reductions_;
  std::map<std::tuple<LayoutId, int, int, int, bool>, double> accesses_;
};

/// One way to spread a dot over the warps: layouts of its operands and its result.
struct DotOption {
  LayoutId a = kNoLayout, b = kNoLayout, c = kNoLayout;
  double cycles = 0;  ///< of the matrix units, repeated work included
  const gpu::MatrixInstruction* row = nullptr;
  int depth = 0;                          ///< of one instruction
  bool sharedA = false, sharedB = false;  ///< which operands the matrix unit reads from shared memory
};
/// All of them. Fails with a message at the operation where the machine has no instruction for it.
mlir::FailureOr<std::vector<DotOption>> dotOptions(tile::DotOp dot, LayoutPool& pool);

/// The layouts in which an operation takes its operands and gives its results; kNoLayout for what is no tile.
struct Placement {
  llvm::SmallVector<LayoutId> operands, results;
};

/// Costs so little for each element that computing it again beats moving it; true for a value made of such operations only.
bool isCheapOperation(mlir::Operation* op);
bool isCheapValue(mlir::Value v, llvm::DenseMap<mlir::Value, bool>& known);
/// What a cheap operation's operands (or those of any that only rearranges) need to be so that it comes out in `result`.
Placement placeCheap(mlir::Operation* op, LayoutId result, LayoutPool& pool);
/// Whether placeCheap() is the only way to place an operation: each element of its result is one of the operand's, found by the index.
bool isPlacedByResult(mlir::Operation* op);
/// Once more, with these operands and in this layout.
mlir::Value cloneInLayout(mlir::OpBuilder& b, mlir::Operation* op, mlir::ValueRange operands, const layout::LinearLayout& layout);

/// To the shape of this tile.
Rule reshapeRule(mlir::Value to);

/// Whether every tile has a layout that follows from those of the operation's other tiles; fails with a message where not.
mlir::LogicalResult verifyLayouts(mlir::Operation* function, LayoutPool& pool);

/// Elementwise in the sense of layouts: all tiles among operands and results have one layout.
bool isElementwise(mlir::Operation* op);

class Assignment {
 public:
  Assignment(mlir::FunctionOpInterface function, LayoutPool& pool) : function_(function), pool_(pool) {}

  mlir::LogicalResult solve();
  /// Where a value lives; kNoLayout for cheap ones, which are made wherever they are needed.
  LayoutId home(mlir::Value v) const { return homes_.lookup_or(v, kNoLayout); }
  bool isCheap(mlir::Value v) { return isCheapValue(v, cheap_); }
  /// Of an operation that is not cheap.
  Placement place(mlir::Operation* op);
  /// What was chosen for a dot.
  const DotOption& optionOf(tile::DotOp dot) const {
    size_t i = dotNumbers_.lookup(dot);
    return options_[i][chosen_[i]];
  }

 private:
  struct Edge {
    mlir::Value to;
    Rule rule;
  };
  struct Anchor {
    mlir::Value value;
    LayoutId layout = kNoLayout;
    double weight = 0;
  };

  // The graph: which value's layout gives which other's. (AssignLayoutsGraph.cpp)
  void addNode(mlir::Value v);
  void connect(mlir::Value from, mlir::Value to, const Rule& there, const std::optional<Rule>& back);
  void connectSame(mlir::Value a, mlir::Value b) { connect(a, b, {}, Rule{}); }
  void connectOperation(mlir::Operation* op);
  void connectControl(mlir::Operation* op);
  void connectShape(mlir::Operation* op);

  // Layouts that memory wants, and the choice of the dots'. (AssignLayoutsSolve.cpp)
  /// What is known of a load's or store's pointer, and the layout that suits it.
  struct Access {
    int contiguous = -1, bytes = 0;
    LayoutId layout = kNoLayout;
  };
  const Access& accessOf(mlir::Operation* op);
  void collectAnchors();
  void assignHomes();
  void spread(mlir::Value from, LayoutId layout);
  double cost(double limit);
  double costOfMove(mlir::Operation* op, LayoutId from, LayoutId to, int bits);
  double costOf(mlir::Operation* op);
  int contiguousDimIn(mlir::Value operand);
  double costOfDot(tile::DotOp dot);
  double costOfMemory(mlir::Operation* op, LayoutId layout);
  bool isForSingleWarps(mlir::Operation* op);
  double chooseDots();
  void chooseAnchors(double best);

  // What an operation takes and gives. (AssignLayoutsPlace.cpp)
  LayoutId placeOf(mlir::Value v);
  void placeElementwise(mlir::Operation* op, Placement& placement);
  bool placeShape(mlir::Operation* op, Placement& placement);
  bool placeControl(mlir::Operation* op, Placement& placement);
  void placeMemory(mlir::Operation* op, Placement& placement);
  LayoutId conditionLayout(tile::SelectLazyOp op);

  mlir::FunctionOpInterface function_;
  LayoutPool& pool_;
  std::vector<mlir::Operation*> operations_;   // that work on tiles, none of them cheap
  std::vector<mlir::Operation*> byFrequency_;  // those that run most often first
  llvm::MapVector<mlir::Value, llvm::SmallVector<Edge>> edges_;
  llvm::DenseMap<mlir::Value, bool> cheap_;
  llvm::DenseMap<mlir::Operation*, Access> accesses_;
  llvm::DenseMap<mlir::Operation*, bool> singleWarps_;
  llvm::DenseMap<mlir::Value, LayoutId> homes_;
  std::vector<Anchor> anchors_;    // of memory, in the order in which they decide
  std::vector<tile::DotOp> dots_;  // the most work first
  llvm::DenseMap<mlir::Operation*, size_t> dotNumbers_;
  std::vector<std::vector<DotOption>> options_;
  std::vector<size_t> chosen_;
};

/// How often an operation runs, roughly: powers of 16 for loops around it, little for an exact side.
double frequencyOf(mlir::Operation* op);
/// Bits of an element as layouts count them; of a value that is a tile.
int bitsOf(mlir::Value tile);
llvm::ArrayRef<int64_t> shapeOf(mlir::Value tile);
inline bool isTileValue(mlir::Value v) { return llvm::isa<mlir::RankedTensorType>(v.getType()); }
/// The load whose tile this is, looking through tile.trans; null if there is none.
tile::LoadOp loadBehind(mlir::Value v);

}  // namespace fattn::tilegpu

#endif
