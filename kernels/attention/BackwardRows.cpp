// SPDX-License-Identifier: Apache-2.0
// What comes before and behind the loops of the backward pass: the statistics of rows, and dQ from its sums.
#include <numbers>

#include "kernels/attention/BackwardParts.h"
#include "kernels/attention/BackwardTiles.h"

namespace fattn::kernels {
namespace {

using namespace dsl;

// A row that sees no key has lse = -infinity: with a log of infinity all its probabilities are 0.
void rowsOfBackward(Params& args, const Parameters& parameters, const TileConfig& tile) {
  const std::int64_t M = tile.block_m, D = parameters.integer("head_dim"), Dv = parameters.integer("head_dim_v");
  backward::Operands operands(args, parameters);
  const TensorArg o = operands.wide("o"), dout = operands.wide("dout"), lse = operands.strided("lse"), dlse = operands.strided("dlse");
  const TensorArg logs = operands.own("logs", 3), deltas = operands.own("deltas", 3);
  const Scalar hasDlse = args.scalar("has_dlse", DType::I32), row0 = program_id(0) * M, head = program_id(1);
  std::optional<TensorArg> sums;
  if (parameters.flag("sums")) sums = operands.own("sums", 4);
  const backward::Packing packing(args, parameters, false);
  const backward::Entry entry = packing.entry(program_id(2), o.size[2], o.size[2]);
  const auto rowsOf = [&](const TensorArg& tensor) { return entry.ofQueries(tensor, head).alone(); };
  const Tile products =
      cast(load(rowsOf(o).rows(row0, M, Dv), {0}), DType::F32) * cast(load(rowsOf(dout).rows(row0, M, Dv), {0}), DType::F32);
  const Tile given = load(rowsOf(lse).numbers(row0, M), {0}, -infinity);
  const Tile row = cast(arange(0, M) + row0, DType::I64);
  const Tile dlses = load(rowsOf(dlse).base() + row * dlse.stride[2], (row < cast(entry.queries, DType::I64)) & (hasDlse != 0), 0);
  const Tile empty = given == -infinity;
  const auto ownOf = [&](const TensorArg& tensor) { return entry.ofStatistics(tensor, head).alone(); };
  const Dims check = packing.isPacked() ? Dims{0} : backward::statisticsCheck(M);
  const backward::WorkspaceOrder order(parameters);
  const Tile log = where(empty, infinity, given * std::numbers::log2e_v<float>);
  store(ownOf(logs).numbers(row0, M), order.storedNumbers(log), check);
  const Tile delta = where(empty, 0, reduce_sum(products, 1) - dlses);
  store(ownOf(deltas).numbers(row0, M), order.storedNumbers(delta), check);
  if (sums) store(ownOf(*sums).rows(row0, M, D), zeros({M, D}), check);  // in any order
}

void roundProgram(Params& args, const Parameters& parameters, const TileConfig& tile) {
  const std::int64_t M = tile.block_m, D = parameters.integer("head_dim");
  backward::Operands operands(args, parameters);
  const TensorArg sums = operands.own("sums", 4), dq = operands.wide("dq");
  const Scalar scale = args.scalar("scale", DType::F32), row0 = program_id(0) * M, head = program_id(1);
  const backward::Packing packing(args, parameters, false);
  const backward::Entry entry = packing.entry(program_id(2), dq.size[2], dq.size[2]);
  const backward::WorkspaceOrder order(parameters);
  const BlockPtr window = advance(order.sums(entry.ofStatistics(sums, head), M, D), {order.firstRow(row0, D), 0});
  const Tile sum = order.loaded(load(window, packing.isPacked() ? Dims{0} : backward::statisticsCheck(M)), M, D);
  store(entry.ofQueries(dq, head).alone().rows(row0, M, D), cast(sum * scale, parameters.dtype("dtype")), {0});
}

Grid statisticsGrid(const Parameters&, const TileConfig& tile, std::span<const std::int64_t> e) {
  return {(statisticsRows(e[2]) + tile.block_m - 1) / tile.block_m, e[1], e[0]};
}

Grid roundGrid(const Parameters&, const TileConfig& tile, std::span<const std::int64_t> e) {
  return {(e[2] + tile.block_m - 1) / tile.block_m, e[1], e[0]};
}

std::vector<Operand> rowsOperandsOfBackward(const Parameters& parameters, std::span<const std::int64_t> e) {
  const DType type = parameters.dtype("dtype");
  const std::int64_t D = parameters.integer("head_dim"), Dv = parameters.integer("head_dim_v"), rows = statisticsRows(e[2]);
  std::vector<Operand> operands = {
      Operand::input("o", type, {e[0], e[1], e[2], Dv}),         Operand::input("dout", type, {e[0], e[1], e[2], Dv}),
      Operand::input("lse", DType::F32, {e[0], e[1], e[2]}),     Operand::input("dlse", DType::F32, {e[0], e[1], e[2]}),
      Operand::input("logs", DType::F32, {e[0], e[1], rows}),  // infinite beyond the last row: not compared
      Operand::output("deltas", DType::F32, {e[0], e[1], rows}), Operand::integer("has_dlse", 1)};
  if (parameters.flag("sums")) operands.push_back(Operand::output("sums", DType::F32, {e[0], e[1], rows, D}));
  return operands;
}

std::vector<Operand> roundOperands(const Parameters& parameters, std::span<const std::int64_t> e) {
  const std::int64_t D = parameters.integer("head_dim");
  return {Operand::input("sums", DType::F32, {e[0], e[1], statisticsRows(e[2]), D}),
          Operand::output("dq", parameters.dtype("dtype"), {e[0], e[1], e[2], D}), Operand::number("scale", 0.1)};
}

}  // namespace

const KernelTemplate& backwardRowsTemplate() {
  static const auto* what = [] {
    auto* made = new KernelTemplate{.name = "attention_backward_rows",
                                    .parameters = backward::parameters(),
                                    .extents = {"batch", "heads", "queries", "keys"},
                                    .typical = {4, 16, 4096, 4096},
                                    .program = rowsOfBackward,
                                    .grid = statisticsGrid,
                                    .tile = backward::rowsTile,
                                    .check = backward::check,
                                    .space = backward::rowsSpace,
                                    .operands = rowsOperandsOfBackward};
    made->parameters.set("sums", false);
    return made;
  }();
  return *what;
}

const KernelTemplate& backwardRoundTemplate() {
  static const auto* what = new KernelTemplate{.name = "attention_backward_round",
                                               .parameters = backward::parameters(),
                                               .extents = {"batch", "heads", "queries", "keys"},
                                               .typical = {4, 16, 4096, 4096},
                                               .program = roundProgram,
                                               .grid = roundGrid,
                                               .tile = backward::roundTile,
                                               .check = backward::check,
                                               .space = backward::roundSpace,
                                               .operands = roundOperands};
  return *what;
}

const KernelTemplate& packedBackwardRowsTemplate() {
  static const auto* what = new KernelTemplate(backward::packed(backwardRowsTemplate(), "packed_backward_rows"));
  return *what;
}

const KernelTemplate& packedBackwardRoundTemplate() {
  static const auto* what = new KernelTemplate(backward::packed(backwardRoundTemplate(), "packed_backward_round"));
  return *what;
}

}  // namespace fattn::kernels
