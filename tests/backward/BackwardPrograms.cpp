// SPDX-License-Identifier: Apache-2.0
#include "tests/backward/BackwardPrograms.h"

#include "kernels/attention/AttentionBackward.h"

namespace fattn::backward {

Parameters parametersOf(const BackwardShape& shape) {
  return {{"dtype", std::string(name(shape.dtype))}, {"head_dim", shape.dim}, {"head_dim_v", shape.dimV}};
}

void backwardBy(const test::RunProgram& run, BackwardData& data, bool fast, const BackwardTiles& tiles) {
  const BackwardViews views = data.here();
  const auto& [q, k, v, o, dout, lse, dlse, dq, dk, dv] = views;
  const BackwardShape& shape = data.shape();
  const std::int64_t B = shape.batch, H = shape.headsQ, R = kernels::statisticsRows(shape.queries);
  auto* memory = reinterpret_cast<float*>(data.workspace(data.memory().data()));
  const TensorView logs(memory, DType::F32, {B, H, R}), deltas(memory + B * H * R, DType::F32, {B, H, R}),
      sums(memory + 2 * B * H * R, DType::F32, {B, H, R, shape.dim});
  const Argument scale("scale", shape.scale());
  const auto launch = [&](const KernelTemplate& from, const TileConfig& tile, std::vector<Argument> arguments, std::int64_t heads,
                          bool hasCausal, bool hasSums) {
    Parameters parameters = parametersOf(shape);
    parameters.set("order", tiles.order);
    if (hasCausal) parameters.set("causal", shape.causal);
    if (hasSums) parameters.set("sums", fast);
    if (hasSums && fast) arguments.emplace_back("sums", sums);
    const std::array<std::int64_t, 4> extents = {B, heads, shape.queries, shape.keys};
    const Grid grid = from.grid(parameters, tile, extents);
    run(test::traced(from, parameters, tile), arguments,
        {static_cast<std::int32_t>(grid.x), static_cast<std::int32_t>(grid.y), static_cast<std::int32_t>(grid.z)});
  };
  launch(kernels::backwardRowsTemplate(), tiles.rows,
         {{"o", o}, {"dout", dout}, {"lse", lse}, {"dlse", dlse}, {"logs", logs}, {"deltas", deltas}, {"has_dlse", shape.hasDlse ? 1 : 0}},
         H, false, true);
  launch(kernels::backwardKeysTemplate(), tiles.keys,
         {{"q", q}, {"k", k}, {"v", v}, {"dout", dout}, {"logs", logs}, {"deltas", deltas}, {"dk", dk}, {"dv", dv}, scale}, shape.headsKv,
         true, true);
  if (fast)
    launch(kernels::backwardRoundTemplate(), tiles.rows, {{"sums", sums}, {"dq", dq}, scale}, H, false, false);
  else
    launch(kernels::backwardQueriesTemplate(), tiles.queries,
           {{"q", q}, {"k", k}, {"v", v}, {"dout", dout}, {"logs", logs}, {"deltas", deltas}, {"dq", dq}, scale}, H, true, false);
}

}  // namespace fattn::backward
