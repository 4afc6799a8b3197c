// SPDX-License-Identifier: Apache-2.0
// dQ: a block of queries a program, in a loop over the keys as the forward's.
#include <numbers>

#include "kernels/attention/BackwardParts.h"
#include "kernels/attention/BackwardTiles.h"
#include "kernels/attention/ProgramOrder.h"

namespace fattn::kernels {
namespace {

using namespace dsl;

void queriesProgram(Params& args, const Parameters& parameters, const TileConfig& tile) {
  const std::int64_t M = tile.block_m, N = tile.block_n, D = parameters.integer("head_dim"), Dv = parameters.integer("head_dim_v");
  const DType type = parameters.dtype("dtype");
  const bool causal = parameters.flag("causal");
  backward::Operands operands(args, parameters);
  const TensorArg q = operands.wide("q"), k = operands.wide("k"), v = operands.wide("v"), dout = operands.wide("dout");
  const TensorArg logs = operands.own("logs", 3), deltas = operands.own("deltas", 3), dq = operands.wide("dq");
  const Scalar given = args.scalar("scale", DType::F32), scale = given * std::numbers::log2e_v<float>;
  const backward::Packing packing(args, parameters, true);

  const auto [place, blocks, head, batch] = programPlace(causal, cast(q.size[1], DType::I32));
  const Scalar row0 = (causal ? blocks - 1 - place : place) * M;  // causal: the last rows see the most keys
  const Scalar kvHead = head / cast(q.size[1] / k.size[1], DType::I32);
  const backward::Entry entry = packing.entry(batch, q.size[2], k.size[2]);
  const Scalar shift = entry.keys - entry.queries;
  // Sequences have programs behind their last query, too, as many as the longest one.
  const Scalar keyCount = packing.isPacked() ? where(row0 < entry.queries, entry.keys, 0) : entry.keys;
  const Tile qs = load(entry.ofQueries(q, head).rows(row0, M, D), {0});
  const Tile douts = load(entry.ofQueries(dout, head).rows(row0, M, Dv), {0});
  const Dims check = packing.isPacked() ? Dims{0} : backward::statisticsCheck(M);
  const backward::WorkspaceOrder order(parameters);
  const Tile log = expand(order.loadedNumbers(load(entry.ofStatistics(logs, head).numbers(row0, M), check)), 1);
  const Tile delta = expand(order.loadedNumbers(load(entry.ofStatistics(deltas, head).numbers(row0, M), check)), 1);
  const BlockPtr ks = entry.ofKeys(k, kvHead).rows(0, N, D), vs = entry.ofKeys(v, kvHead).rows(0, N, Dv);
  const Tile rows = expand(arange(0, M) + (row0 + shift), 1), columns = expand(arange(0, N), 0);

  auto [sum] = for_(0, causal ? min(keyCount, row0 + M + shift) : keyCount, N, carry(zeros({M, D})), [&](Scalar n, Tile sum) {
    const Tile keys = load(advance(ks, {n, 0}), {0}), column = columns + n;
    const Tile visible = causal ? (column <= rows) & (column < keyCount) : broadcast(column < keyCount, {M, N});
    const Tile p = backward::probabilities(dot(qs, trans(keys)), scale, log, &visible);
    const Tile ds = p * (dot(douts, trans(load(advance(vs, {n, 0}), {0}))) - delta);
    return carry(dot(cast(ds, type), keys, sum));
  });
  store(entry.ofQueries(dq, head).alone().rows(row0, M, D), cast(sum * given, type), {0});
}

Grid queriesGrid(const Parameters& parameters, const TileConfig& tile, std::span<const std::int64_t> e) {
  const BlockCounts counts = {(e[2] + tile.block_m - 1) / tile.block_m, e[1], e[0]};
  return parameters.flag("causal") ? unevenGrid(counts) : evenGrid(counts);
}

std::vector<Operand> queriesOperands(const Parameters& parameters, std::span<const std::int64_t> e) {
  const DType type = parameters.dtype("dtype");
  const std::int64_t D = parameters.integer("head_dim"), Dv = parameters.integer("head_dim_v"), rows = statisticsRows(e[2]);
  return {Operand::input("q", type, {e[0], e[1], e[2], D}),       Operand::input("k", type, {e[0], e[1], e[3], D}),
          Operand::input("v", type, {e[0], e[1], e[3], Dv}),      Operand::input("dout", type, {e[0], e[1], e[2], Dv}),
          Operand::input("logs", DType::F32, {e[0], e[1], rows}), Operand::input("deltas", DType::F32, {e[0], e[1], rows}),
          Operand::output("dq", type, {e[0], e[1], e[2], D}),     Operand::number("scale", backward::kTunedScale)};
}

}  // namespace

const KernelTemplate& backwardQueriesTemplate() {
  static const auto* what = [] {
    auto* made = new KernelTemplate{.name = "attention_backward_queries",
                                    .parameters = backward::parameters(),
                                    .extents = {"batch", "heads", "queries", "keys"},
                                    .typical = {4, 16, 4096, 4096},
                                    .program = queriesProgram,
                                    .grid = queriesGrid,
                                    .tile = backward::queriesTile,
                                    .check = backward::check,
                                    .space = backward::queriesSpace,
                                    .misfit = backward::queriesMisfit,
                                    .operands = queriesOperands};
    made->parameters.set("causal", false);
    return made;
  }();
  return *what;
}

const KernelTemplate& packedBackwardQueriesTemplate() {
  static const auto* what = new KernelTemplate(backward::packed(backwardQueriesTemplate(), "packed_backward_queries"));
  return *what;
}

}  // namespace fattn::kernels
