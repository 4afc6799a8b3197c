// SPDX-License-Identifier: Apache-2.0
#include "compiler/cpu/nests/Materialize.h"

#include "compiler/cpu/builder/Access.h"
#include "compiler/cpu/builder/Convert.h"
#include "compiler/cpu/builder/TileType.h"
#include "compiler/cpu/nests/Evaluate.h"
#include "compiler/cpu/nests/Groups.h"
#include "compiler/cpu/state/Emission.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace fattn::cpu {
namespace {

/// As many vectors as they have lanes: what was lane i of row j becomes lane j of row i.
SmallVector<Value> transposedInRegisters(HostBuilder& b, SmallVector<Value> rows) {
  int64_t n = rows.size(), half = n / 2;
  for (int64_t round = 1; round < n; round *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < half; ++i) {
      SmallVector<int64_t> lo, hi;
      for (int64_t k = 0; k < half; ++k) {
        lo.append({k, n + k});
        hi.append({half + k, n + half + k});
      }
      next.push_back(vector::ShuffleOp::create(b, rows[i], rows[i + half], lo));
      next.push_back(vector::ShuffleOp::create(b, rows[i], rows[i + half], hi));
    }
    rows = next;
  }
  return rows;
}

/// One block. `row`, `column`: where it begins along into.lane and along `from`.
void transposeBlock(HostBuilder& b, const View& into, int from, const Point& block, function_ref<Value(const Point&)> read) {
  int64_t n = b.host.lanes;
  int to = into.lane;
  Point in = block, out = block;
  in.lane = from;
  out.lane = to;
  in.width = out.width = n;
  Value row = arith::MulIOp::create(b, block.index[to], b.i64(n));
  Value column = arith::MulIOp::create(b, block.index[from], b.i64(n));
  in.index[from] = column;
  SmallVector<Value> rows;
  for (int64_t r = 0; r < n; ++r) {
    in.index[to] = arith::AddIOp::create(b, row, b.i64(r));
    if (into.shape[to] % n) in.index[to] = arith::MinSIOp::create(b, in.index[to], b.i64(into.shape[to] - 1));
    rows.push_back(read(in));
  }
  rows = transposedInRegisters(b, rows);
  out.index[to] = row;
  int64_t rest = into.shape[from] % n;
  for (int64_t c = 0; c < n; ++c) {
    out.index[from] = arith::AddIOp::create(b, column, b.i64(c));
    // The last block may be narrower than a vector: its missing rows have no place in the buffer.
    Value exists;
    if (rest && c >= rest) exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, out.index[from], b.i64(into.shape[from]));
    b.onlyIf(exists, [&] { storeAt(b, into, out, rows[c]); });
  }
}

}  // namespace

void copyTile(Emission& e, const View& from, const View& into) {
  nestOver(e, into.shape, into.lane, [&](const Point& p) { storeAt(e.b, into, p, e.b.splat(loadAt(e.b, from, p), p.elements())); });
}

void materialize(Emission& e, Value value, const View& into) {
  flush(e);
  auto converted = [&](const Point& p) { return convert(e.b, evalVector(e, value, p), into.element); };
  int from = e.lanes.lane(value);
  if (from >= 0 && into.lane >= 0 && from != into.lane && into.shape[into.lane] > 1)
    return transposeBlocks(e, into, from, [&](const Point& p) { return toMemory(e.b, converted(p), into.element); });
  nestOver(e, into.shape, into.lane, [&](const Point& p) { storeAt(e.b, into, p, converted(p)); });
}

View materialized(Emission& e, Value value, int lane) {
  View view = e.buffers.allocate(tileType(value), lane);
  materialize(e, value, view);
  return view;
}

void transposeBlocks(Emission& e, const View& into, int from, function_ref<Value(const Point&)> read) {
  int64_t n = e.b.host.lanes;
  SmallVector<int64_t> blocks = into.shape;
  blocks[from] = llvm::divideCeil(into.shape[from], n);
  blocks[into.lane] = llvm::divideCeil(into.shape[into.lane], n);
  nestOver(e, blocks, -1, [&](const Point& block) { transposeBlock(e.b, into, from, block, read); });
}

}  // namespace fattn::cpu
