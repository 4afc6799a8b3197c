// SPDX-License-Identifier: Apache-2.0
// A shared object with a template of its own, which is known once it is loaded.
#include "fattn/dsl/Dsl.h"
#include "fattn/fattn.h"

using namespace fattn::dsl;
using fattn::DType;

namespace {

fattn::KernelTemplate doubled() {
  fattn::KernelTemplate what{
      .name = "doubled", .parameters = {{"dtype", "f32"}, {"times", std::int64_t{2}}}, .extents = {"length"}, .typical = {100000}};
  what.program = [](Params& args, const fattn::Parameters& parameters, const fattn::TileConfig& tile) {
    const DType type = parameters.dtype("dtype");
    TensorArg x = args.tensor("x", type, 1), out = args.tensor("out", type, 1);
    Scalar at = program_id(0) * tile.block_n;
    store(out.block({at}, {tile.block_n}), load(x.block({at}, {tile.block_n}), {0}) * parameters.integer("times"), {0});
  };
  what.grid = [](const auto&, const fattn::TileConfig& tile, auto extents) {
    return fattn::Grid{(extents[0] + tile.block_n - 1) / tile.block_n};
  };
  what.tile = [](const auto&, const auto&) { return fattn::TileConfig{.block_n = 64}; };
  what.space = [](const auto&, const auto&) { return std::vector<fattn::TileConfig>{{.block_n = 64}, {.block_n = 1024}}; };
  what.operands = [](const fattn::Parameters& parameters, auto extents) {
    const DType type = parameters.dtype("dtype");
    return std::vector{fattn::Operand::input("x", type, {extents[0]}), fattn::Operand::output("out", type, {extents[0]})};
  };
  return what;
}

const bool known = (fattn::registerTemplate(doubled()), true);

}  // namespace
