// SPDX-License-Identifier: Apache-2.0
// Source of the engine's rules: CUDA Driver API, "Tensor Map Object Management" (cuTensorMapEncodeTiled): up to 5 dimensions, strides that
// are multiples of 16 bytes, boxes of up to 256 elements along each dimension.
#include "compiler/gpu/passes/copies/TensorMaps.h"

#include "compiler/gpu/passes/Buffers.h"
#include "compiler/transforms/Aliasing.h"
#include "compiler/transforms/Divisibility.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace fattn::tilegpu {
namespace {

constexpr size_t kMostDims = 5;
constexpr int64_t kMostBox = 256, kUnit = 16;
constexpr int64_t kUnbounded = int64_t{1} << 31;  // elements along a dimension whose bounds the program does not check

/// The number of the function's argument that a value is.
std::optional<int64_t> argumentOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || !isa<FunctionOpInterface>(argument.getOwner()->getParentOp())) return std::nullopt;
  return argument.getArgNumber();
}

Value withoutExtension(Value value) {
  while (auto extension = value.getDefiningOp<arith::ExtSIOp>()) value = extension.getIn();
  return value;
}

/// A constant and the arguments that it is multiplied by.
using Product = SmallVector<int64_t, 3>;

std::optional<Product> productOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) return Product{constant.getSExtValue()};
  value = withoutExtension(value);
  if (auto assume = value.getDefiningOp<tile::AssumeDivisibleOp>()) return productOf(assume.getInput());
  if (std::optional<int64_t> argument = argumentOf(value)) return Product{1, *argument};
  auto product = value.getDefiningOp<arith::MulIOp>();
  if (!product || !product.getType().isInteger(64)) return std::nullopt;  // a narrower one wraps
  std::optional<Product> left = productOf(product.getLhs()), right = productOf(product.getRhs());
  if (!left || !right) return std::nullopt;
  (*left)[0] *= (*right)[0];
  left->append(right->begin() + 1, right->end());
  return left;
}

/// Where a block pointer was made; null where that is not one place.
tile::MakeBlockPtrOp rootOf(Value pointer) {
  tile::MakeBlockPtrOp root;
  llvm::SmallSetVector<Value, 8> seen;
  seen.insert(pointer);
  for (size_t i = 0; i < seen.size(); ++i) {
    Value value = seen[i];
    if (auto make = value.getDefiningOp<tile::MakeBlockPtrOp>()) {
      if (root && root != make) return {};
      root = make;
    } else if (auto advance = value.getDefiningOp<tile::AdvanceOp>()) {
      seen.insert(advance.getPtr());
    } else if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop) return {};
      seen.insert(loop.getTiedLoopInit(argument)->get());
      seen.insert(loop.getTiedLoopYieldedValue(argument)->get());
    } else if (auto loop = value.getDefiningOp<scf::ForOp>()) {
      seen.insert(loop.getTiedLoopRegionIterArg(cast<OpResult>(value)));
    } else {
      return {};
    }
  }
  return root;
}

/// Whether the window begins at 0 along a dimension, wherever it has been advanced to.
bool staysAtZero(Value pointer, int d) {
  llvm::SmallSetVector<Value, 8> seen;
  seen.insert(pointer);
  for (size_t i = 0; i < seen.size(); ++i) {
    Value value = seen[i];
    if (auto make = value.getDefiningOp<tile::MakeBlockPtrOp>()) {
      if (!matchPattern(make.getOffsets()[d], m_Zero())) return false;
    } else if (auto advance = value.getDefiningOp<tile::AdvanceOp>()) {
      if (!matchPattern(advance.getDeltas()[d], m_Zero())) return false;
      seen.insert(advance.getPtr());
    } else if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = cast<scf::ForOp>(argument.getOwner()->getParentOp());
      seen.insert(loop.getTiedLoopInit(argument)->get());
      seen.insert(loop.getTiedLoopYieldedValue(argument)->get());
    } else {
      seen.insert(value.getDefiningOp<scf::ForOp>().getTiedLoopRegionIterArg(cast<OpResult>(value)));
    }
  }
  return true;
}

class Finder {
 public:
  Finder(tile::LoadOp load, int64_t width, int64_t swizzle)
      : access(load), pointer(load.getPtr()), checked(load.getBoundaryCheck()), type(load.getType()), width(width), swizzle(swizzle) {}
  template <typename Write>
  Finder(Write write, int64_t width, int64_t rows, bool adds)
      : access(write),
        pointer(write.getPtr()),
        checked(write.getBoundaryCheck()),
        type(write.getValue().getType()),
        width(width),
        swizzle(width),
        rows(rows),
        adds(adds) {}

  std::optional<BulkWindow> run() {
    bytes = elementBits(type.getElementType()) / 8;
    if (type.getRank() != 2 || bytes == 0 || type.getDimSize(0) < 1 || access->getParentOfType<tile::SelectLazyOp>()) return std::nullopt;
    auto load = dyn_cast<tile::LoadOp>(access);
    if (load ? !padsWithZero(load) || mayReadOwnStores() : mayMeetOthers()) return std::nullopt;
    if (!transforms::isContiguous(pointer) || transforms::alignmentOf(pointer) < kUnit) return std::nullopt;
    root = rootOf(pointer);
    if (!root || !base(root.getBase()) || !windowDims()) return std::nullopt;
    return result();
  }

 private:
  struct Term {
    Product stride;  ///< elements
    Value index;     ///< i32
  };

  static bool padsWithZero(tile::LoadOp load) {
    std::optional<Attribute> padding = load.getPadding();
    if (!padding || load.getBoundaryCheck().empty()) return true;
    if (auto number = dyn_cast<FloatAttr>(*padding)) return number.getValue().isPosZero();
    auto integer = dyn_cast<IntegerAttr>(*padding);
    return integer && integer.getValue().isZero();
  }

  /// What threads write to global memory the engine sees behind a fence only.
  bool mayReadOwnStores() {
    return anyMeets([&](const transforms::MemoryAccess& other) { return other.writes && mayComeBefore(other.op, access); });
  }

  /// The engine has no order with what threads do behind the store, nor with another store of the same place.
  bool mayMeetOthers() {
    if (!adds && access->getParentOfType<LoopLikeOpInterface>()) return true;
    return anyMeets([&](const transforms::MemoryAccess& other) {
      if (other.op == access || (adds && isUnorderedAdd(other.op))) return false;
      return other.writes || mayComeBefore(access, other.op);
    });
  }

  /// Whether an access of the function that `matters` may touch the same memory.
  bool anyMeets(llvm::function_ref<bool(const transforms::MemoryAccess&)> matters) {
    transforms::Aliasing aliasing;
    transforms::MemoryAccess own = *transforms::accessOf(access);
    WalkResult found = access->getParentOfType<FunctionOpInterface>()->walk([&](Operation* op) {
      auto other = transforms::accessOf(op);
      bool meets = other && matters(*other) && aliasing.overlap(*other, own) != transforms::Overlap::Never;
      return meets ? WalkResult::interrupt() : WalkResult::advance();
    });
    return found.wasInterrupted();
  }

  /// Whether `first` may run before `second`: it stands before it, or a loop contains both.
  static bool mayComeBefore(Operation* first, Operation* second) {
    for (Operation* parent = second->getParentOp(); parent; parent = parent->getParentOp())
      if (isa<LoopLikeOpInterface>(parent) && parent->isAncestor(first)) return true;
    for (Operation* mine = second; mine; mine = mine->getParentOp())
      if (Operation* other = mine->getBlock() ? mine->getBlock()->findAncestorOpInBlock(*first) : nullptr)
        return other != mine && other->isBeforeInBlock(mine);
    return true;
  }

  bool base(Value array) {
    while (auto add = array.getDefiningOp<tile::AddPtrOp>()) {
      if (!isa<tile::PtrType>(add.getPtr().getType()) || !offset(add.getOffset())) return false;
      array = add.getPtr();
    }
    std::optional<int64_t> number = argumentOf(array);
    if (!number) return false;
    argument = *number;
    return terms.size() + 2 <= kMostDims;
  }

  /// Adds the terms of a sum of products.
  bool offset(Value value) {
    if (matchPattern(value, m_Zero())) return true;
    if (auto sum = value.getDefiningOp<arith::AddIOp>(); sum && value.getType().isInteger(64))
      return offset(sum.getLhs()) && offset(sum.getRhs());
    auto product = value.getDefiningOp<arith::MulIOp>();
    if (!product || !value.getType().isInteger(64)) return false;
    for (auto [stride, index] : {std::pair(product.getLhs(), product.getRhs()), std::pair(product.getRhs(), product.getLhs())}) {
      std::optional<Product> factor = productOf(stride);
      Value number = withoutExtension(index);
      if (!factor || transforms::divisibilityOf(stride) * bytes % kUnit != 0) continue;
      if (!number.getType().isInteger(32) || !isNonNegative(number, 0)) continue;
      terms.push_back({*factor, number});
      return true;
    }
    return false;
  }

  /// Whether an integer is not negative if the arguments that `nonNegative` gets are not. Sums, products and parts of wider numbers that
  /// wrap around lead outside of every array.
  bool isNonNegative(Value value, int depth) {
    if (depth > 16) return false;
    auto both = [&](Operation* op) { return isNonNegative(op->getOperand(0), depth + 1) && isNonNegative(op->getOperand(1), depth + 1); };
    APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant))) return constant.isNonNegative();
    if (std::optional<int64_t> number = argumentOf(value)) return nonNegative.insert(*number), true;
    Operation* op = value.getDefiningOp();
    if (!op) {
      auto loop = dyn_cast<scf::ForOp>(cast<BlockArgument>(value).getOwner()->getParentOp());
      return loop && value == loop.getInductionVar() && isNonNegative(loop.getLowerBound(), depth + 1);
    }
    if (isa<tile::ProgramIdOp, tile::NumProgramsOp>(op)) return true;
    if (isa<arith::ExtSIOp, arith::TruncIOp>(op)) return isNonNegative(op->getOperand(0), depth + 1);
    if (isa<arith::DivSIOp, arith::RemSIOp, arith::MinSIOp, arith::AddIOp, arith::MulIOp>(op)) return both(op);
    if (auto select = dyn_cast<arith::SelectOp>(op))
      return isNonNegative(select.getTrueValue(), depth + 1) && isNonNegative(select.getFalseValue(), depth + 1);
    return false;
  }

  bool windowDims() {
    ArrayRef<int64_t> extents = extentsOf(access);
    std::optional<Product> row = productOf(root.getStrides()[0]);
    if (!row || !matchPattern(root.getStrides()[1], m_One()) || transforms::divisibilityOf(root.getStrides()[0]) * bytes % kUnit != 0)
      return false;
    rowStride = *row;
    for (int d : {1, 0}) {
      bool cut = !extents.empty() && extents[d] < type.getDimSize(d);
      std::optional<Product> size = llvm::is_contained(checked, d) ? productOf(root.getShape()[d]) : Product{kUnbounded};
      if (!size) return false;
      if (cut) {
        // The part beyond the extent is the padding's only if the array seems to end there.
        if (size->size() > 1 || !staysAtZero(pointer, d)) return false;
        (*size)[0] = std::min((*size)[0], extents[d]);
      }
      sizes.push_back(*size);
    }
    int64_t columns = width / bytes;
    return columns <= kMostBox && type.getDimSize(1) % columns == 0;
  }

  std::optional<BulkWindow> result() {
    Builder b(access->getContext());
    auto inBytes = [&](Product product) {
      product[0] *= bytes;
      return b.getDenseI64ArrayAttr(product);
    };
    SmallVector<Attribute> sizeList, strideList = {inBytes(rowStride)};
    for (const Product& size : sizes) sizeList.push_back(b.getDenseI64ArrayAttr(size));
    BulkWindow window;
    for (const Term& term : terms) {
      sizeList.push_back(b.getDenseI64ArrayAttr({kUnbounded}));
      strideList.push_back(inBytes(term.stride));
      window.coordinates.push_back(term.index);
    }
    SmallVector<NamedAttribute> entries = {
        b.getNamedAttr("box", b.getDenseI64ArrayAttr({width / bytes, rows ? rows : mostRowsOfBox(type.getDimSize(0))})),
        b.getNamedAttr("element", TypeAttr::get(type.getElementType())),
        b.getNamedAttr("pointer", b.getI64IntegerAttr(argument)),
        b.getNamedAttr("sizes", b.getArrayAttr(sizeList)),
        b.getNamedAttr("strides", b.getArrayAttr(strideList)),
        b.getNamedAttr("swizzle", b.getI64IntegerAttr(swizzle))};
    if (adds) entries.push_back(b.getNamedAttr("adds", b.getUnitAttr()));
    window.map = b.getDictionaryAttr(entries);
    window.nonNegative.assign(nonNegative.begin(), nonNegative.end());
    return window;
  }

  Operation* access;
  Value pointer;
  ArrayRef<int64_t> checked;
  RankedTensorType type;
  int64_t width, swizzle, rows = 0, bytes = 0, argument = 0;
  bool adds = false;
  tile::MakeBlockPtrOp root;
  SmallVector<Term> terms;
  SmallVector<Product> sizes;  ///< of the window's dimensions, the contiguous one first
  Product rowStride;
  llvm::SmallSetVector<int64_t, 4> nonNegative;
};

}  // namespace

std::optional<BulkWindow> bulkWindow(tile::LoadOp load, int64_t width, int64_t swizzle) { return Finder(load, width, swizzle).run(); }
std::optional<BulkWindow> bulkWindow(Operation* write, int64_t width, int64_t rows) {
  if (rows > kMostBox) return std::nullopt;
  if (auto add = dyn_cast<tile::AccumulateOp>(write)) return Finder(add, width, rows, /*adds=*/true).run();
  return Finder(cast<tile::StoreOp>(write), width, rows, /*adds=*/false).run();
}

int64_t mostRowsOfBox(int64_t rows) { return std::min(kMostBox, rows & -rows); }

int64_t addTensorMap(Operation* function, const BulkWindow& window) {
  SmallVector<Attribute> maps;
  if (auto known = function->getAttrOfType<ArrayAttr>(kTensorMapsAttr)) llvm::append_range(maps, known);
  llvm::SmallSetVector<int64_t, 4> arguments;
  if (auto known = function->getAttrOfType<DenseI64ArrayAttr>(kNonNegativeAttr)) arguments.insert_range(known.asArrayRef());
  arguments.insert_range(window.nonNegative);
  Builder b(function->getContext());
  if (!arguments.empty()) function->setAttr(kNonNegativeAttr, b.getDenseI64ArrayAttr(arguments.getArrayRef()));
  auto it = llvm::find(maps, window.map);
  int64_t number = it - maps.begin();
  if (it == maps.end()) maps.push_back(window.map);
  function->setAttr(kTensorMapsAttr, b.getArrayAttr(maps));
  return number;
}

}  // namespace fattn::tilegpu
