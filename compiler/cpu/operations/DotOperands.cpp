// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/operations/DotOperands.h"

#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/nests/Evaluate.h"
#include "compiler/cpu/nests/Groups.h"
#include "compiler/cpu/nests/Materialize.h"
#include "compiler/cpu/nests/Nest.h"
#include "compiler/cpu/state/Emission.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// Looks through transpositions of matrices: the operand and its contracted dimension below them.
std::pair<Value, int> stripTrans(std::pair<Value, int> wanted) {
  auto [operand, kDim] = wanted;
  while (auto trans = operand.getDefiningOp<tile::TransOp>()) {
    kDim = trans.getPermutation()[kDim];
    operand = trans.getInput();
  }
  return {operand, kDim};
}

View transposed(View view) {
  std::swap(view.shape[0], view.shape[1]);
  std::swap(view.strides[0], view.strides[1]);
  for (int* dim : {&view.lane, &view.readsOn})
    if (*dim >= 0) *dim = 1 - *dim;
  return view;
}

bool hasUnitStride(const View& view, int dim) { return getConstantIntValue(view.strides[dim]) == 1; }

PackedOperand packedKey(Value operand, OperandForm form) { return {operand.getAsOpaquePointer(), form}; }

/// Two bf16 that lie side by side along the contraction count as one element.
View asPairs(HostBuilder& b, View view, int kDim) {
  view.strides[kDim] = b.getI64IntegerAttr(2);
  return view;
}

/// Whether reads of memory are left as they are or changed in registers: converted, or rows interleaved.
enum class Reads { AsTheyLie, Changed };

Reads readsAllowed(int64_t reads) {
  constexpr int64_t kFewReads = 2;  // from more on, a copy that is changed once is cheaper, and lines would be asked for too often
  return reads <= kFewReads ? Reads::Changed : Reads::AsTheyLie;
}

/// Whether vectors of `width` elements run along a dimension and fill it.
bool hasVectors(const View& view, int dim, int64_t width) {
  return hasUnitStride(view, dim) && (view.padded || view.shape[dim] % width == 0);
}

/// The operand's own view if a dot can read it as it is, or with changes, else a view without base.
View usableView(Emission& e, Value operand, OperandForm form, Reads reads) {
  View* found = e.tiles.find(operand);
  if (!found) return {};
  View view = borrowed(*found);
  int lane = form.role == Role::Along ? form.kDim : 1 - form.kDim;
  if (form.kind == DotKind::Bf16Pairs) {
    if (form.role == Role::Vectors) return reads == Reads::Changed && hasVectors(view, lane, e.b.host.lanes) ? view : View{};
    return hasUnitStride(view, form.kDim) ? asPairs(e.b, view, form.kDim) : View{};
  }
  bool isConverted = reads == Reads::Changed && form.role != Role::Broadcast && isa<FloatType>(view.element);
  if (view.element != computeType(e.b.getContext(), form.kind) && !isConverted) return {};
  return form.role == Role::Broadcast || hasVectors(view, lane, e.b.host.lanes) ? view : View{};
}

/// Whether a dot that reads each element of its operand `reads` times does best to read it where it lies.
bool staysInPlace(const View& view, int64_t reads) {
  constexpr int64_t kManyReads = 6;  // from so many on, a copy costs a small part of the dot
  if (!view.base) return false;
  if (reads < kManyReads) return true;
  // In scratch all distances are constant.
  return llvm::all_of(view.strides, [](Stride stride) { return getConstantIntValue(stride).has_value(); });
}

/// Rows 2k and 2k+1 are read as vectors, whose lanes alternate in the result.
void interleaveRows(Emission& e, Value operand, int kDim, const View& pairs) {
  HostBuilder& b = e.b;
  int64_t n = b.host.lanes;
  SmallVector<int64_t> mask;
  for (int64_t i = 0; i < n; ++i) mask.append({i, n + i});
  nest(e, Space{.shape = pairs.shape, .lane = pairs.lane, .width = n}, [&](const Point& p) {
    Point even = p, odd = p;
    even.index[kDim] = arith::MulIOp::create(b, p.index[kDim], b.i64(2));
    odd.index[kDim] = arith::AddIOp::create(b, even.index[kDim], b.i64(1));
    Value both = vector::ShuffleOp::create(b, evalVector(e, operand, even), evalVector(e, operand, odd), mask);
    storeAt(b, pairs, p, LLVM::BitcastOp::create(b, VectorType::get({n}, b.getI32Type()), both));
  });
}

/// Contiguous along k: the pairs already lie together, 32 bits are transposed at a time.
void transposePairs(Emission& e, Value operand, int kDim, const View& pairs) {
  HostBuilder& b = e.b;
  int64_t n = b.host.lanes;
  auto type = VectorType::get({n}, b.getI32Type());
  View* found = e.tiles.find(operand);
  View from = found && hasUnitStride(*found, kDim) ? borrowed(*found) : materialized(e, operand, kDim);
  transposeBlocks(e, pairs, kDim, [&](const Point& p) -> Value {
    constexpr int64_t kAlign = 2;
    SmallVector<Value> index = p.index;
    index[kDim] = arith::MulIOp::create(b, index[kDim], b.i64(2));
    Value at = addressOf(b, from, index);
    if (from.padded || pairs.shape[kDim] % n == 0) return LLVM::LoadOp::create(b, type, at, kAlign);
    Value mask = lanesBelow(b, p, pairs.shape[kDim]);
    Value zero = arith::ConstantOp::create(b, type, b.getZeroAttr(type));
    return LLVM::MaskedLoadOp::create(b, type, at, mask, zero, kAlign);
  });
  e.buffers.release(from);
}

/// Interleaves rows 2k and 2k+1 of a bf16 operand into 32-bit pairs; the result has dimension kDim halved and its lanes along the other.
View packPairs(Emission& e, Value operand, int kDim) {
  flush(e);
  SmallVector<int64_t> shape = llvm::to_vector(tileType(operand).getShape());
  shape[kDim] /= 2;
  View pairs = e.buffers.allocate(shape, e.b.getI32Type(), 1 - kDim, Rows::Spread);
  if (e.lanes.lane(operand) == kDim)
    transposePairs(e, operand, kDim, pairs);
  else
    interleaveRows(e, operand, kDim, pairs);
  return pairs;
}

/// A copy in scratch memory, in the form that the dot reads. `pairsTogether`: of an operand whose pairs lie side by side already.
View packedCopy(Emission& e, Value operand, OperandForm form, bool pairsTogether) {
  auto [kind, role, kDim] = form;
  if (kind == DotKind::Bf16Pairs && !pairsTogether) return packPairs(e, operand, kDim);
  Type element = pairsTogether ? tileType(operand).getElementType() : computeType(e.b.getContext(), kind);
  int natural = e.lanes.lane(operand) >= 0 ? e.lanes.lane(operand) : 1 - kDim;
  int lane = pairsTogether || role == Role::Along ? kDim : role == Role::Vectors ? 1 - kDim : natural;
  View view = e.buffers.allocate(tileType(operand).getShape(), element, lane, Rows::Spread);
  materialize(e, operand, view);
  return pairsTogether ? asPairs(e.b, view, kDim) : view;
}

View operandInForm(Emission& e, Value operand, OperandForm form, int64_t reads, Reads allowed) {
  if (auto it = e.packed.find(packedKey(operand, form)); it != e.packed.end()) return borrowed(it->second);
  View inPlace = usableView(e, operand, form, allowed);
  if (staysInPlace(inPlace, reads)) return inPlace;
  bool pairsTogether = form.role == Role::Along || (form.role == Role::Broadcast && inPlace.base);
  return packedCopy(e, operand, form, form.kind == DotKind::Bf16Pairs && pairsTogether);
}

}  // namespace

View dotOperand(Emission& e, tile::DotOp op, int number) {
  const HostTarget& host = e.b.host;
  auto wanted = operandOf(op, number);
  auto [operand, kDim] = stripTrans(wanted);
  int64_t reads = readsOf(host, op, number, e.lanes);
  View view = operandInForm(e, operand, {dotKind(host, op), roleOf(op, number, e.lanes), kDim}, reads, readsAllowed(reads));
  if (readsAllowed(reads) == Reads::AsTheyLie) view.readsOn = -1;
  return kDim == wanted.second ? view : transposed(view);
}

SmallVector<PackedOperand> prepackFor(Emission& e, Operation* loop) {
  const HostTarget& host = e.b.host;
  SmallVector<PackedOperand> made;
  loop->walk([&](tile::DotOp dot) {
    int vectors = e.lanes.dotLane(dot);
    for (int number : {vectors, 1 - vectors}) {
      auto [operand, kDim] = stripTrans(operandOf(dot, number));
      if (loop->isAncestor(operand.getParentBlock()->getParentOp())) continue;
      OperandForm form{dotKind(host, dot), roleOf(dot, number, e.lanes), kDim};
      PackedOperand key = packedKey(operand, form);
      int64_t reads = readsOf(host, dot, number, e.lanes);
      if (e.packed.contains(key) || staysInPlace(usableView(e, operand, form, Reads::AsTheyLie), reads)) continue;
      e.packed[key] = operandInForm(e, operand, form, reads, Reads::AsTheyLie);
      made.push_back(key);
    }
  });
  return made;
}

void releasePacked(Emission& e, ArrayRef<PackedOperand> packed) {
  for (const PackedOperand& key : packed) {
    e.buffers.release(e.packed[key]);
    e.packed.erase(key);
  }
}

}  // namespace fattn::cpu
