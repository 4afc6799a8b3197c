// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/operations/SumBlocks.h"

#include "compiler/cpu/builder/Access.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

Value plus(HostBuilder& b, Value x, Value y) {
  if (isa<FloatType>(getElementTypeOrSelf(x.getType()))) return arith::AddFOp::create(b, x, y);
  return arith::AddIOp::create(b, x, y);
}

/// Which lanes of two vectors of n a round of sums puts side by side; the other half of them goes to the same places. The first rounds stay
/// inside of 128 bits, where moving lanes costs least.
SmallVector<int64_t> lanesOfRound(int64_t n, int64_t done, int64_t half) {
  constexpr int64_t kQuad = 4;
  SmallVector<int64_t> mask;
  if (done < kQuad) {
    for (int64_t quad = 0; quad < n; quad += kQuad)
      for (int64_t i = quad + half * kQuad / 2, end = i + kQuad / 2; i < end; i += done)
        for (int64_t of : {int64_t{0}, n})
          for (int64_t j = 0; j < done; ++j) mask.push_back(of + i + j);
    return mask;
  }
  for (int64_t of : {int64_t{0}, n})
    for (int64_t quad = half * kQuad; quad < n; quad += 2 * kQuad)
      for (int64_t j = 0; j < kQuad; ++j) mask.push_back(of + quad + j);
  return mask;
}

/// As many vectors as they have lanes: lane i is the sum of vector i.
Value sumsOfLanes(HostBuilder& b, ArrayRef<Value> ofLanes) {
  SmallVector<Value> vectors(ofLanes);
  int64_t n = vectors.size();
  for (int64_t done = 1; done < n; done *= 2) {
    SmallVector<Value> next;
    for (size_t i = 0; i < vectors.size(); i += 2) {
      Value x = vectors[i], y = vectors[i + 1];
      next.push_back(plus(b, vector::ShuffleOp::create(b, x, y, lanesOfRound(n, done, 0)),
                          vector::ShuffleOp::create(b, x, y, lanesOfRound(n, done, 1))));
    }
    vectors = next;
  }
  return vectors[0];
}

/// The sums of rows x columns results from `row` and `column` on.
struct SumsOfBlock {
  HostBuilder& b;
  const Panel& panel;
  int64_t rows, columns;
  Value row, column;

  void emit() const;

 private:
  Value moved(Value start, int64_t n) const { return b.toValue(b.add(start, b.getI64IntegerAttr(n))); }
  int64_t vectorsOfTrip() const;
  void askForPages() const;
  SmallVector<Value> trip(Value k, SmallVector<Value> accs, int64_t vectors) const;
  void store(Value sums, int64_t pitch) const;
};

/// So many vectors follow each other along the contraction that a line of memory is asked for once.
int64_t SumsOfBlock::vectorsOfTrip() const {
  int64_t vectors = 1;
  for (const Factor& factor : panel.factors)
    if (factor.view.readsOn >= 0) vectors = std::max(vectors, b.host.lineBytes / bytesOfVector(b, panel.kind, factor));
  return panel.depth / b.host.lanes % vectors == 0 ? vectors : 1;
}

void SumsOfBlock::askForPages() const {
  for (int64_t r = 0; r < rows; ++r) askAhead(b, panel.factors[0], b.i64(0), moved(row, r), b.host.pageAheadBytes);
  for (int64_t c = 0; c < columns; ++c) askAhead(b, panel.factors[1], b.i64(0), moved(column, c), b.host.pageAheadBytes);
}

SmallVector<Value> SumsOfBlock::trip(Value k, SmallVector<Value> accs, int64_t vectors) const {
  const auto& [left, right] = panel.factors;
  askInOrder(b, panel, right, column, columns, k, vectors * b.host.lanes);
  askInOrder(b, panel, left, row, rows, k, vectors * b.host.lanes);
  for (int64_t i = 0; i < vectors; ++i) {
    Value at = moved(k, i * b.host.lanes);
    SmallVector<Value> of;
    for (int64_t c = 0; c < columns; ++c) of.push_back(loadTogether(b, panel.kind, right, at, moved(column, c)));
    for (int64_t r = 0; r < rows; ++r) {
      Value x = loadTogether(b, panel.kind, left, at, moved(row, r));
      for (int64_t c = 0; c < columns; ++c) accs[r * columns + c] = multiplyAdd(b, panel.kind, x, of[c], accs[r * columns + c]);
    }
  }
  return accs;
}

/// Each row's sums lie side by side, `pitch` lanes from row to row.
void SumsOfBlock::store(Value sums, int64_t pitch) const {
  for (int64_t r = 0; r < rows; ++r) {
    Value of = columns == b.host.lanes ? sums : vector::ExtractStridedSliceOp::create(b, sums, {r * pitch}, {columns}, {1}).getResult();
    Value at = addressOf(b, panel.acc, {moved(row, r), column});
    int64_t align = bytesOf(panel.acc.element);
    if (!panel.zero) of = plus(b, of, LLVM::LoadOp::create(b, of.getType(), at, align));
    LLVM::StoreOp::create(b, of, at, align);
  }
}

void SumsOfBlock::emit() const {
  int64_t lanes = b.host.lanes, pitch = lanes / static_cast<int64_t>(llvm::PowerOf2Ceil(rows)), vectors = vectorsOfTrip();
  auto type = VectorType::get({lanes}, panel.acc.element);
  Value zero = arith::ConstantOp::create(b, type, b.getZeroAttr(type));
  SmallVector<Value> init(rows * columns, zero);
  askForPages();
  SmallVector<Value> accs = b.loop(b.i64(0), b.i64(panel.depth), vectors * lanes, init,
                                   [&](Value k, ValueRange now) { return trip(k, llvm::to_vector(now), vectors); });
  SmallVector<Value> places(lanes, zero);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) places[r * pitch + c] = accs[r * columns + c];
  store(sumsOfLanes(b, places), pitch);
}

}  // namespace

void multiplyAlongK(HostBuilder& b, const Panel& panel) {
  int64_t rows = panel.acc.shape[0], columns = panel.acc.shape[1];
  SumBlock block = chooseSumBlock(b.host, rows);
  forBlocks(b, columns, block.columns, 1, [&](Value column, int64_t c) {
    forBlocks(b, rows, block.rows, 1, [&](Value row, int64_t r) { SumsOfBlock{b, panel, r, c, row, column}.emit(); });
  });
}

}  // namespace fattn::cpu
