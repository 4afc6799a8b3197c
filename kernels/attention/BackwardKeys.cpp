// SPDX-License-Identifier: Apache-2.0
// dK and dV: a block of keys a program. Scores stand as keys x queries, so that P^T and dS^T are first operands of the next dots as the
// dots before leave them. The query heads of a group follow each other in one program: nothing of dK and dV is added up by several.
#include <algorithm>
#include <numbers>

#include "kernels/attention/BackwardParts.h"
#include "kernels/attention/BackwardTiles.h"
#include "kernels/attention/ProgramOrder.h"

namespace fattn::kernels {
namespace {

using namespace dsl;

struct KeysArguments {
  backward::WorkspaceOrder order;
  TensorArg q, k, v, dout, logs, deltas, dk, dv;
  Scalar scale;
  std::optional<TensorArg> sums;
  backward::Packing packing;
};

KeysArguments declareKeys(Params& args, const Parameters& parameters) {
  backward::Operands operands(args, parameters);
  TensorArg q = operands.wide("q"), k = operands.wide("k"), v = operands.wide("v"), dout = operands.wide("dout");
  TensorArg logs = operands.own("logs", 3), deltas = operands.own("deltas", 3), dk = operands.wide("dk"), dv = operands.wide("dv");
  Scalar scale = args.scalar("scale", DType::F32);
  std::optional<TensorArg> sums;
  if (parameters.flag("sums")) sums = operands.own("sums", 4);
  return {backward::WorkspaceOrder(parameters),     q, k, v, dout, logs, deltas, dk, dv, scale, sums,
          backward::Packing(args, parameters, true)};
}

/// A program's block of keys.
struct KeyBlock {
  backward::Entry entry;
  Tile k, v;     ///< [N, D], [N, Dv]
  Scalar first;  ///< key; a block that ends below entry.keys has no mask in any trip
  Scalar scale;  ///< of exponents to base 2
  bool causal;
};

struct KeySums {
  Tile dk, dv;  ///< [N, D], [N, Dv]
};

/// Whether P is kept as dV takes it, rounded to the type, until dP is there. A thread has no registers for P in f32 beside dP where a block
/// has more queries than this. Where warp groups exchange P they have it as dV takes it, so that there is one to exchange. dQ and dK are
/// then less exact (docs/backward.md).
bool keepsRounded(const TileConfig& tile) { return tile.block_m > 64 || backward::hasPairs(tile); }

/// Adds to the sums what the queries of one head give.
KeySums addHead(const KeysArguments& a, const KeyBlock& block, const Scalar& head, const TileConfig& tile, const KeySums& before) {
  const std::int64_t M = tile.block_m, N = block.k.dim(0), D = block.k.dim(1), Dv = block.v.dim(1);
  const DType type = a.q.base.dtype();
  const backward::Entry& entry = block.entry;
  const Scalar shift = entry.keys - entry.queries;
  // Sequences have programs behind their last key, too, as many as the longest one.
  const Scalar queries = a.packing.isPacked() ? where(block.first < entry.keys, entry.queries, 0) : entry.queries;
  const BlockPtr qs = entry.ofQueries(a.q, head).rows(0, M, D), douts = entry.ofQueries(a.dout, head).rows(0, M, Dv);
  const BlockPtr logs = entry.ofStatistics(a.logs, head).line(M), deltas = entry.ofStatistics(a.deltas, head).line(M);
  const Dims check = backward::statisticsCheck(M), ofLine = check.empty() ? Dims{} : Dims{1};
  std::optional<BlockPtr> sums;
  if (a.sums) sums = a.order.sums(entry.ofStatistics(*a.sums, head), M, D);
  const Tile keys = expand(arange(0, N) + block.first, 1), rows = expand(arange(0, M), 0);
  const Scalar begin =
      block.causal ? max(block.first - shift, 0) / static_cast<std::int32_t>(M) * static_cast<std::int32_t>(M) : queries * 0;
  auto [dk, dv] = for_(begin, queries, M, carry(before.dk, before.dv), [&](Scalar m, Tile dk, Tile dv) {
    const Tile q = load(advance(qs, {m, 0}), {0}), dout = load(advance(douts, {m, 0}), {0});
    const Tile log = a.order.loadedNumbers(load(advance(logs, {0, m}), ofLine));
    const Tile delta = a.order.loadedNumbers(load(advance(deltas, {0, m}), ofLine));
    // Beyond the last key there are rows that nobody stores, but their dS enters dQ. No query sees them with a mask, but those behind the
    // last one, whose probabilities are 0.
    const Tile visible = block.causal ? keys - (m + shift) <= rows : broadcast(keys < entry.keys, {N, M});
    const Tile p = backward::probabilities(dot(block.k, trans(q)), block.scale, log, block.causal || a.sums ? &visible : nullptr);
    const Tile rounded = cast(p, type);
    const Tile weights = keepsRounded(tile) ? cast(rounded, DType::F32) : p;
    const Tile ds = cast(weights * (dot(block.v, trans(dout)) - delta), type);
    const Tile dvNext = dot(rounded, dout, dv), dkNext = dot(ds, q, dk);
    if (a.sums) atomic_add(advance(*sums, {a.order.firstRow(m, D), 0}), a.order.stored(dot(trans(ds), block.k)), check);
    return carry(dkNext, dvNext);
  });
  return {dk, dv};
}

void keysProgram(Params& args, const Parameters& parameters, const TileConfig& tile) {
  const std::int64_t N = tile.block_n, D = parameters.integer("head_dim"), Dv = parameters.integer("head_dim_v");
  dsl::check((!parameters.flag("sums") && !backward::isPacked(parameters)) || kStatisticsRows % tile.block_m == 0,
             "BLOCK_M must divide 128 where dQ is added up, and where sequences are packed");
  const KeysArguments a = declareKeys(args, parameters);
  const DType type = parameters.dtype("dtype");
  // Causal: the first keys are seen by the most queries.
  const auto [place, blocks, kvHead, batch] = programPlace(parameters.flag("causal"), cast(a.k.size[1], DType::I32));
  const Scalar first = place * N;
  const backward::Entry entry = a.packing.entry(batch, a.q.size[2], a.k.size[2]);
  const Scalar group = cast(a.q.size[1], DType::I32) / cast(a.k.size[1], DType::I32);
  const KeyBlock block{entry,
                       load(entry.ofKeys(a.k, kvHead).rows(first, N, D), {0}),
                       load(entry.ofKeys(a.v, kvHead).rows(first, N, Dv), {0}),
                       first,
                       a.scale * std::numbers::log2e_v<float>,
                       parameters.flag("causal")};
  auto [dk, dv] = for_(0, group, 1, carry(zeros({N, D}), zeros({N, Dv})), [&](Scalar g, Tile dk, Tile dv) {
    const KeySums sums = addHead(a, block, kvHead * group + g, tile, {dk, dv});
    return carry(sums.dk, sums.dv);
  });
  store(entry.ofKeys(a.dk, kvHead).alone().rows(first, N, D), cast(dk * a.scale, type), {0});
  store(entry.ofKeys(a.dv, kvHead).alone().rows(first, N, Dv), cast(dv, type), {0});
}

Grid keysGrid(const Parameters& parameters, const TileConfig& tile, std::span<const std::int64_t> e) {
  const BlockCounts counts = {(e[3] + tile.block_n - 1) / tile.block_n, e[1], e[0]};
  return parameters.flag("causal") ? unevenGrid(counts) : evenGrid(counts);
}

std::vector<Operand> keysOperands(const Parameters& parameters, std::span<const std::int64_t> e) {
  const DType type = parameters.dtype("dtype");
  const std::int64_t D = parameters.integer("head_dim"), Dv = parameters.integer("head_dim_v"), rows = statisticsRows(e[2]);
  std::vector<Operand> operands = {
      Operand::input("q", type, {e[0], e[1], e[2], D}),       Operand::input("k", type, {e[0], e[1], e[3], D}),
      Operand::input("v", type, {e[0], e[1], e[3], Dv}),      Operand::input("dout", type, {e[0], e[1], e[2], Dv}),
      Operand::input("logs", DType::F32, {e[0], e[1], rows}), Operand::input("deltas", DType::F32, {e[0], e[1], rows}),
      Operand::output("dk", type, {e[0], e[1], e[3], D}),     Operand::output("dv", type, {e[0], e[1], e[3], Dv}),
      Operand::number("scale", backward::kTunedScale)};
  // Launches add to what is there, so that two of them leave different sums: what is compared is dk and dv.
  if (parameters.flag("sums")) operands.push_back(Operand::input("sums", DType::F32, {e[0], e[1], rows, D}));
  return operands;
}

}  // namespace

const KernelTemplate& backwardKeysTemplate() {
  static const auto* what = [] {
    auto* made = new KernelTemplate{.name = "attention_backward_keys",
                                    .parameters = backward::parameters(),
                                    .extents = {"batch", "heads", "queries", "keys"},
                                    .typical = {4, 16, 4096, 4096},
                                    .program = keysProgram,
                                    .grid = keysGrid,
                                    .tile = backward::keysTile,
                                    .check = backward::check,
                                    .space = backward::keysSpace,
                                    .misfit = backward::keysMisfit,
                                    .operands = keysOperands};
    made->parameters.set("causal", false);
    made->parameters.set("sums", false);
    return made;
  }();
  return *what;
}

const KernelTemplate& packedBackwardKeysTemplate() {
  static const auto* what = new KernelTemplate(backward::packed(backwardKeysTemplate(), "packed_backward_keys"));
  return *what;
}

}  // namespace fattn::kernels
