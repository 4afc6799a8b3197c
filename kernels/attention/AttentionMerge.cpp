// SPDX-License-Identifier: Apache-2.0
// Results of attention over some of the keys, made into the result over all of them. A program takes one row, a block of its parts at a
// time, always in the same order.
#include <algorithm>
#include <limits>
#include <numbers>

#include "fattn/dsl/Dsl.h"
#include "kernels/attention/AttentionDecode.h"

namespace fattn::kernels {
namespace {

using namespace dsl;

void mergeProgram(Params& args, const Parameters& parameters, const TileConfig& tile) {
  overlap_launches(parameters.flag("relay") ? LaunchRelease::AtOnce : LaunchRelease::AfterWait);
  const std::int64_t P = tile.block_n, D = parameters.integer("head_dim");
  constexpr float kLeast = std::numeric_limits<float>::lowest() / 2;  // finite, so that -infinity less it is no NaN
  constexpr float kLog2E = std::numbers::log2e_v<float>;
  const TensorForm wide{.alignment = parameters.integer("alignment"), .aliasing = Aliasing::None};
  const TensorForm strided{.alignment = sizeInBytes(DType::F32), .rows = false, .aliasing = Aliasing::None};
  const TensorArg partO = args.tensor("part_o", parameters.dtype("dtype"), 5, wide),
                  partLse = args.tensor("part_lse", DType::F32, 4, strided);
  const TensorArg o = args.tensor("o", parameters.dtype("out"), 4, wide), lse = args.tensor("lse", DType::F32, 3, strided);
  const Scalar writeLse = args.scalar("write_lse", DType::I32), parts = cast(partO.size[0], DType::I32);
  const Scalar row = cast(program_id(0), DType::I64), head = cast(program_id(1), DType::I64), batch = cast(program_id(2), DType::I64);
  auto at = [&](const TensorArg& x, std::size_t first) {
    return x.base + (batch * x.stride[first] + head * x.stride[first + 1] + row * x.stride[first + 2]);
  };

  const BlockPtr results = make_block_ptr(at(partO, 1), {partO.size[0], D}, {partO.stride[0], 1}, {0, 0}, {P, D});
  const BlockPtr logs = make_block_ptr(at(partLse, 1), {partLse.size[0]}, {partLse.stride[0]}, {0}, {P});
  auto [sum, weights, top] =
      for_(0, parts, P, carry(zeros({D}), zeros({1}), full({1}, kLeast, DType::F32)), [&](Scalar i, Tile sum, Tile weights, Tile top) {
        Tile log = load(advance(logs, {i}), {0}, -infinity) * kLog2E;
        Tile result = cast(load(advance(results, {i, 0}), {0}), DType::F32);
        Tile next = max(top, reduce_max(expand(log, 0), 1)), fade = exp2(top - next), weight = exp2(log - next);
        // What stands in a part that has seen no key is nobody's.
        Tile live = where(expand(log, 1) == -infinity, 0, result * expand(weight, 1));
        return carry(sum * fade + reduce_sum(live, 0), weights * fade + reduce_sum(expand(weight, 0), 1), next);
      });
  Tile empty = weights == 0.0f, column = arange(0, D);
  store(at(o, 0) + column, cast(sum * rcp(where(empty, 1.0f, weights)), parameters.dtype("out")));
  Tile log = where(empty, -infinity, (top + log2(weights)) * std::numbers::ln2_v<float>);
  store(at(lse, 0) + arange(0, 1), log, broadcast(full({1}, 1, DType::I32) == writeLse, {1}));
}

void checkMerge(const Parameters& parameters) {
  for (const char* of : {"dtype", "out"}) {
    const DType type = parameters.dtype(of);
    if (type != DType::F32 && type != DType::F16 && type != DType::BF16)
      throw Error(ErrorCode::Unsupported, std::string(of) + " is " + std::string(name(type)) + "; it must be f32, f16 or bf16");
  }
  const std::int64_t width = parameters.integer("head_dim");
  if (width < 8 || width > 256 || width % 8 != 0)
    throw Error(ErrorCode::Unsupported, "head_dim is " + std::to_string(width) + "; it must be a multiple of 8 from 8 to 256");
}

Grid mergeGrid(const Parameters&, const TileConfig&, std::span<const std::int64_t> extents) { return {extents[2], extents[1], extents[0]}; }

TileConfig mergeTile(const Parameters&, const Machine& machine) {
  // The parts that one sequence on its own has on an H200 (Decode.cpp), so that one trip reads them all.
  return machine.isHost() ? TileConfig{.block_n = 4} : TileConfig{.block_n = 32, .stages = 1, .warps = 4};
}

std::vector<TileConfig> mergeSpace(const Parameters& parameters, const Machine& machine) {
  const bool host = machine.isHost();
  std::vector<TileConfig> space = {mergeTile(parameters, machine)};
  for (const std::int32_t n : {1, 4, 8, 16, 32})
    for (const std::int32_t warps : host ? std::vector{0} : std::vector{1, 2, 4}) {
      const TileConfig tile{.block_n = n, .stages = host ? 0 : 1, .warps = warps};
      if (tile != space.front()) space.push_back(tile);
    }
  return space;
}

std::vector<Operand> mergeOperands(const Parameters& parameters, std::span<const std::int64_t> e) {
  const std::int64_t D = parameters.integer("head_dim");
  return {Operand::input("part_o", parameters.dtype("dtype"), {e[3], e[0], e[1], e[2], D}),
          Operand::input("part_lse", DType::F32, {e[3], e[0], e[1], e[2]}),
          Operand::output("o", parameters.dtype("out"), {e[0], e[1], e[2], D}), Operand::output("lse", DType::F32, {e[0], e[1], e[2]}),
          Operand::integer("write_lse", 1)};
}

}  // namespace

const KernelTemplate& mergeTemplate() {
  static const auto* what = new KernelTemplate{.name = "attention_merge",
                                               .parameters = {{"dtype", std::string("f32")},
                                                              {"out", std::string("f16")},
                                                              {"head_dim", std::int64_t{128}},
                                                              {"relay", false},
                                                              {"alignment", std::int64_t{16}}},
                                               .extents = {"batch", "heads", "length", "parts"},
                                               .typical = {16, 32, 1, 16},
                                               .program = mergeProgram,
                                               .grid = mergeGrid,
                                               .tile = mergeTile,
                                               .check = checkMerge,
                                               .space = mergeSpace,
                                               .operands = mergeOperands};
  return *what;
}

}  // namespace fattn::kernels
