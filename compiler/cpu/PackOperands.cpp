// SPDX-License-Identifier: Apache-2.0
// Operands of dots: used where they lie if their strides and element type allow it, else converted, transposed or interleaved into scratch.
// One that lies in an array and whose elements are read many times is copied, too: rows of a large array fall into the same few sets of the
// cache, and each on a page of its own. In scratch they lie side by side, at a distance that spreads them over the sets.
//
//   F32:        vectors [k][lane] of f32, stride 1 along the lane; broadcast elements at any strides
//   Bf16Pairs:  vectors [k/2][lane] of (x[2k], x[2k+1]) in 32 bits; broadcast pairs, in place where k has stride 1
#include "compiler/cpu/Emitter.h"
#include "compiler/cpu/Reduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Looks through transpositions of matrices: the operand and its contracted dimension below them.
std::pair<Value, int> stripTrans(Value operand, int kDim) {
  while (auto trans = operand.getDefiningOp<tile::TransOp>()) {
    kDim = trans.getPermutation()[kDim];
    operand = trans.getInput();
  }
  return {operand, kDim};
}

/// From so many reads of each element on, a copy costs a small part of the dot.
constexpr int64_t kManyReads = 6;

View transposed(View view) {
  std::swap(view.shape[0], view.shape[1]);
  std::swap(view.strides[0], view.strides[1]);
  if (view.lane >= 0) view.lane = 1 - view.lane;
  return view;
}

}  // namespace

/// The operand's own view if a dot can read it as it is, else a view without base.
View Emitter::usableView(Value operand, int kDim, DotKind kind, Role role) {
  auto it = views.find(operand);
  if (it == views.end()) return {};
  View view = it->second;
  view.slot = -1;  // borrowed
  auto unit = [&](int d) { return getConstantIntValue(view.strides[d]) == 1; };
  if (kind == DotKind::Bf16Pairs) {
    if (role == Role::Vectors || !unit(kDim)) return {};
    view.strides[kDim] = b.getI64IntegerAttr(2);
    return view;
  }
  if (view.element != computeType(kind)) return {};
  if (role == Role::Broadcast) return view;
  int lane = 1 - kDim;
  bool whole = view.padded || view.shape[lane] % target.lanes == 0;
  return unit(lane) && whole ? view : View{};
}

/// Whether a dot that reads each element of its operand `reads` times does best to read it where it lies.
bool Emitter::staysInPlace(const View& view, int64_t reads) {
  if (!view.base) return false;
  if (reads < kManyReads) return true;
  // In scratch all distances are constant.
  return llvm::all_of(view.strides, [](Stride stride) { return getConstantIntValue(stride).has_value(); });
}

/// How often a dot's register blocks read each element of an operand.
int64_t Emitter::readsOf(tile::DotOp op, Role role) const {
  auto type = cast<RankedTensorType>(op.getType());
  int lane = lanes.dotLane(op);
  int64_t rows = type.getDimSize(1 - lane), laneVectors = llvm::divideCeil(type.getDimSize(lane), target.lanes);
  Tiling t = chooseTiling(rows, laneVectors);
  return role == Role::Vectors ? llvm::divideCeil(rows, t.rows) : llvm::divideCeil(laneVectors, t.vectors);
}

/// Interleaves rows 2k and 2k+1 of a bf16 operand into 32-bit pairs; the result has dimension kDim halved and its lanes along the other.
View Emitter::packPairs(Value operand, int kDim) {
  flush();
  auto type = cast<RankedTensorType>(operand.getType());
  int lane = 1 - kDim;
  SmallVector<int64_t> shape = llvm::to_vector(type.getShape());
  shape[kDim] /= 2;
  View pairs = allocate(shape, b.getI32Type(), lane, Rows::Spread);
  int64_t n = target.lanes;
  auto pairType = VectorType::get({n}, b.getI32Type());
  if (lanes.lane(operand) != kDim) {
    nest(shape, lane, n, -1, {},
         [&](const Point& p, ValueRange) {
           Point even = p, odd = p;
           even.index[kDim] = arith::MulIOp::create(b, loc, p.index[kDim], i64(2));
           odd.index[kDim] = arith::AddIOp::create(b, loc, even.index[kDim], i64(1));
           SmallVector<int64_t> mask;
           for (int64_t i = 0; i < n; ++i) mask.append({i, n + i});
           Value both = vector::ShuffleOp::create(b, loc, evalVector(operand, even), evalVector(operand, odd), mask);
           storeAt(pairs, p, LLVM::BitcastOp::create(b, loc, pairType, both));
           return SmallVector<Value>{};
         },
         {});
    return pairs;
  }
  // Contiguous along k: the pairs already lie together, 32 bits are transposed at a time.
  View from;
  auto it = views.find(operand);
  if (it != views.end() && getConstantIntValue(it->second.strides[kDim]) == 1) {
    from = it->second;
    from.slot = -1;
  } else {
    from = allocate(type.getShape(), type.getElementType(), kDim);
    materialize(operand, from);
  }
  transposeBlocks(pairs, kDim, [&](const Point& p) -> Value {
    SmallVector<Value> at = p.index;
    at[kDim] = arith::MulIOp::create(b, loc, at[kDim], i64(2));
    Value address = this->address(from, at);
    if (from.padded || shape[kDim] % n == 0) return LLVM::LoadOp::create(b, loc, pairType, address, 2);
    Value mask =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, laneIndices(b, loc, p.index[kDim], n), splat(i64(shape[kDim]), n));
    Value zero = arith::ConstantOp::create(b, loc, pairType, b.getZeroAttr(pairType));
    return LLVM::MaskedLoadOp::create(b, loc, pairType, address, mask, zero, 2);
  });
  release(from);
  return pairs;
}

View Emitter::dotOperand(Value wanted, int wantedK, DotKind kind, Role role, int64_t reads) {
  auto [operand, kDim] = stripTrans(wanted, wantedK);
  auto orient = [&, k = kDim](View view) { return k == wantedK ? view : transposed(view); };
  int form = static_cast<int>(kind) * 4 + static_cast<int>(role) * 2 + kDim;
  if (auto it = packed.find({operand.getAsOpaquePointer(), form}); it != packed.end()) {
    View view = it->second;
    view.slot = -1;
    return orient(view);
  }
  View inPlace = usableView(operand, kDim, kind, role);
  if (staysInPlace(inPlace, reads)) return orient(inPlace);
  auto type = cast<RankedTensorType>(operand.getType());
  if (inPlace.base && kind == DotKind::Bf16Pairs) {  // pairs lie side by side already
    View view = allocate(type.getShape(), type.getElementType(), kDim, Rows::Spread);
    materialize(operand, view);
    view.strides[kDim] = inPlace.strides[kDim];
    return orient(view);
  }
  if (kind == DotKind::Bf16Pairs) return orient(packPairs(operand, kDim));
  int natural = lanes.lane(operand) >= 0 ? lanes.lane(operand) : 1 - kDim;
  View view = allocate(type.getShape(), computeType(kind), role == Role::Vectors ? 1 - kDim : natural, Rows::Spread);
  materialize(operand, view);
  return orient(view);
}

/// Before a loop: operands of the dots inside that do not change in it are packed once.
SmallVector<std::pair<void*, int>> Emitter::prepackFor(Operation* region) {
  SmallVector<std::pair<void*, int>> made;
  region->walk([&](tile::DotOp dot) {
    DotKind kind = dotKind(dot);
    int lane = lanes.dotLane(dot);
    for (Role role : {Role::Vectors, Role::Broadcast}) {
      bool isB = (role == Role::Vectors) == (lane == 1);
      auto [operand, kDim] = stripTrans(isB ? dot.getB() : dot.getA(), isB ? 0 : 1);
      if (region->isProperAncestor(operand.getParentBlock()->getParentOp()) || operand.getParentBlock()->getParentOp() == region) continue;
      int form = static_cast<int>(kind) * 4 + static_cast<int>(role) * 2 + kDim;
      std::pair<void*, int> key{operand.getAsOpaquePointer(), form};
      int64_t reads = readsOf(dot, role);
      if (packed.contains(key) || staysInPlace(usableView(operand, kDim, kind, role), reads)) continue;
      View view = dotOperand(operand, kDim, kind, role, reads);
      packed[key] = view;
      made.push_back(key);
    }
  });
  return made;
}

}  // namespace fattn::cpu
