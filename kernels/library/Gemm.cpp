// SPDX-License-Identifier: Apache-2.0
// A matrix product with what is usually done to its result. One program computes one block of out, over blocks of the depth.
#include <algorithm>
#include <bit>

#include "fattn/dsl/Dsl.h"
#include "kernels/library/Library.h"

namespace fattn::kernels {
namespace {

using namespace dsl;

Tile activated(const std::string& activation, const Tile& x) {
  if (activation == "gelu") return x * 0.5 * (tanh((x + x * x * x * 0.044715) * 0.7978845608028654) + 1);
  if (activation == "silu") return x * rcp(exp2(x * -1.4426950408889634) + 1);
  return x;
}

// Blocks of a matrix whose columns may lie side by side: its view is of the transposed one then.
struct Matrix {
  TensorArg tensor;
  bool columns;
  Tile block(const Scalar& row, const Scalar& column, std::int64_t m, std::int64_t n) const {
    return columns ? trans(load(tensor.block({column, row}, {n, m}), {0, 1})) : load(tensor.block({row, column}, {m, n}), {0, 1});
  }
  Scalar extent(int dimension) const { return tensor.size[static_cast<std::size_t>(columns ? 1 - dimension : dimension)]; }
};

// Row and column of a program's block. Programs that run at the same time lie in a few rows and a few columns, so that they read the same
// blocks of a and b, which are in a cache then: rows in groups, and within a group column by column.
std::pair<Scalar, Scalar> blockOf(const Scalar& program, const Scalar& rows, const Scalar& columns) {
  constexpr std::int64_t kGroup = 8;
  const Scalar inGroup = columns * kGroup, first = program / inGroup * kGroup, place = program % inGroup;
  const Scalar height = min(rows - first, kGroup);
  return {first + place % height, place / height};
}

void gemmProgram(Params& args, const Parameters& parameters, const TileConfig& tile) {
  const DType type = parameters.dtype("dtype"), result = parameters.dtype("out");
  const DType sums = type == DType::I8 ? DType::I32 : DType::F32, ends = result == DType::I32 ? DType::I32 : DType::F32;
  const std::int64_t m = tile.block_m, n = tile.block_n, k = tile.block_k, alignment = parameters.integer("alignment");
  const TensorForm input{.alignment = alignment, .aliasing = Aliasing::None}, shared{.alignment = alignment};
  const Matrix a{args.tensor("a", type, 2, input), parameters.flag("a_columns")},
      b{args.tensor("b", type, 2, input), parameters.flag("b_columns")};
  const TensorArg out = args.tensor("out", result, 2, shared);
  const auto [blockRow, blockColumn] =
      blockOf(program_id(0), cdiv(cast(out.size[0], DType::I32), m), cdiv(cast(out.size[1], DType::I32), n));
  const Scalar row = blockRow * m, column = blockColumn * n;

  auto [acc] = for_(0, cast(a.extent(1), DType::I32), k, carry(zeros({m, n}, sums)),
                    [&](Scalar i, Tile acc) { return carry(dot(a.block(row, i, m, k), b.block(i, column, k, n), acc)); });
  Tile y = sums == ends ? acc : cast(acc, ends);
  if (parameters.flag("bias")) {
    const TensorArg bias = args.tensor("bias", result, 1, input);
    y = y + expand(cast(load(bias.block({column}, {n}), {0}), ends), 0);
  }
  y = activated(parameters.text("activation"), y);
  if (parameters.flag("residual"))
    y = y + cast(load(args.tensor("residual", result, 2, shared).block({row, column}, {m, n}), {0, 1}), ends);
  store(out.block({row, column}, {m, n}), result == ends ? y : cast(y, result), {0, 1});
}

void checkGemm(const Parameters& parameters) {
  const DType type = parameters.dtype("dtype"), out = parameters.dtype("out");
  const bool isInteger = type == DType::I8;
  if (!isInteger && type != DType::F32 && type != DType::F16 && type != DType::BF16)
    throw Error(ErrorCode::Unsupported, "gemm: dtype is " + std::string(name(type)) + "; it must be f32, f16, bf16 or i8");
  if (out != DType::F32 && out != (isInteger ? DType::I32 : type))
    throw Error(ErrorCode::Unsupported, "gemm: out is " + std::string(name(out)) + "; of " + std::string(name(type)) + " it must be " +
                                            (isInteger            ? "i32 or f32"
                                             : type == DType::F32 ? "f32"
                                                                  : std::string(name(type)) + " or f32"));
  const std::string& activation = parameters.text("activation");
  if (std::ranges::find(kActivations, activation) == std::end(kActivations))
    throw Error(ErrorCode::Unsupported, "gemm: activation is \"" + activation + "\"; it must be none, gelu or silu");
  if (out == DType::I32 && activation != "none")
    throw Error(ErrorCode::Unsupported, "gemm: there is no " + activation + " of i32", "let out be f32");
}

Grid gemmGrid(const Parameters&, const TileConfig& tile, std::span<const std::int64_t> extents) {
  return {(extents[0] + tile.block_m - 1) / tile.block_m * ((extents[1] + tile.block_n - 1) / tile.block_n), 1, 1};
}

// The ring of both operands' blocks; a tenth more for what moves between layouts.
std::int64_t sharedBytes(const Parameters& parameters, const TileConfig& tile) {
  const std::int64_t elements = std::int64_t{tile.block_k} * (tile.block_m + tile.block_n) * std::max(tile.stages, 1);
  return elements * sizeInBytes(parameters.dtype("dtype")) * 11 / 10;
}

TileConfig gemmTile(const Parameters& parameters, const Machine& machine) {
  if (machine.isHost()) return {.block_m = 256, .block_n = 256, .block_k = 128};
  const std::int64_t bytes = sizeInBytes(parameters.dtype("dtype"));
  // The fastest of those that were measured on an H200 (docs/performance.md). Two blocks of four warps cover each other's waits where no
  // matrix unit reads shared memory by itself.
  TileConfig tile{.block_m = 128, .block_n = 128, .block_k = 64, .stages = 3, .warps = 8};
  if (bytes == 2 && machine.warp_groups)
    tile.block_n = 256;
  else if (bytes == 2 && machine.async_copies)
    tile.stages = 2, tile.warps = 4;
  if (bytes == 4) tile = {.block_m = 64, .block_n = 64, .block_k = 16, .stages = 2, .warps = 4};
  while (tile.stages > 1 && sharedBytes(parameters, tile) > machine.shared_bytes) --tile.stages;
  return tile;
}

// Products with few blocks have more of them, which are smaller.
TileConfig gemmTileFor(const Parameters& parameters, const Machine& machine, std::span<const std::int64_t> extents) {
  TileConfig tile = gemmTile(parameters, machine);
  if (!machine.isHost() && extents[0] > 0 && extents[1] > 0 && isSmallProduct(extents[0], extents[1]))
    tile.block_n = std::min(tile.block_n, 128);
  return tile;
}

// What the search chooses from; 0 where the host has no such thing.
struct GemmChoices {
  std::vector<std::int32_t> m, n, k, stages, warps;
};

GemmChoices gemmChoices(const Parameters& parameters, const Machine& machine) {
  const std::vector<std::int32_t> columns = {32, 64, 128, 256};
  if (machine.isHost()) return {.m = {16, 32, 64, 128, 192, 256}, .n = columns, .k = {32, 64, 128, 256}, .stages = {0}, .warps = {0}};
  GemmChoices choices{.m = {16, 64, 128, 256}, .n = columns, .k = {32, 64, 128}, .stages = {2, 3, 4}, .warps = {4, 8}};
  if (sizeInBytes(parameters.dtype("dtype")) == 4) choices.k = {8, 16, 32};
  return choices;
}

// The default comes first.
std::vector<TileConfig> gemmSpace(const Parameters& parameters, const Machine& machine) {
  const GemmChoices choices = gemmChoices(parameters, machine);
  std::vector<TileConfig> space;
  for (const std::int32_t m : choices.m)
    for (const std::int32_t n : choices.n)
      for (const std::int32_t k : choices.k)
        for (const std::int32_t stages : choices.stages)
          for (const std::int32_t warps : choices.warps)
            space.push_back({.block_m = m, .block_n = n, .block_k = k, .stages = stages, .warps = warps});
  const TileConfig standard = gemmTile(parameters, machine);
  std::erase(space, standard);
  space.insert(space.begin(), standard);
  return space;
}

std::optional<std::string> gemmMisfit(const Parameters& parameters, const TileConfig& tile, const Machine& machine,
                                      std::span<const std::int64_t> extents) {
  constexpr std::int64_t kSmallest = 16, kMostElements = 128;  // of the result, a thread: half of its registers
  const std::int32_t blocks[] = {tile.block_m, tile.block_n, tile.block_k};
  const char* names[] = {"BLOCK_M", "BLOCK_N", "BLOCK_K"};
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (const auto bucket = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(extents[i])));
        blocks[i] > std::max(bucket, 2 * kSmallest))
      return std::string(names[i]) + "=" + std::to_string(blocks[i]) + " is more than the " + std::to_string(bucket) + " of this bucket";
  if (tile.block_m <= kSmallest && extents[0] > 8 * kSmallest)
    return "BLOCK_M=" + std::to_string(tile.block_m) + " would read b " + std::to_string(extents[0] / tile.block_m) + " times";
  if (machine.isHost()) return std::nullopt;
  if (const std::int64_t bytes = sharedBytes(parameters, tile); bytes > machine.shared_bytes)
    return "it needs about " + std::to_string(bytes) + " bytes of shared memory, a block has " + std::to_string(machine.shared_bytes);
  if (std::int64_t{tile.block_m} * tile.block_n > kMostElements * 32 * tile.warps) return "the block has too few threads for its result";
  return std::nullopt;
}

std::vector<Operand> gemmOperands(const Parameters& parameters, std::span<const std::int64_t> e) {
  const DType type = parameters.dtype("dtype"), out = parameters.dtype("out");
  auto matrix = [](bool columns, std::int64_t rows, std::int64_t width) {
    return columns ? std::vector{width, rows} : std::vector{rows, width};
  };
  std::vector<Operand> operands = {Operand::input("a", type, matrix(parameters.flag("a_columns"), e[0], e[2])),
                                   Operand::input("b", type, matrix(parameters.flag("b_columns"), e[2], e[1])),
                                   Operand::output("out", out, {e[0], e[1]})};
  if (parameters.flag("bias")) operands.push_back(Operand::input("bias", out, {e[1]}));
  if (parameters.flag("residual")) operands.push_back(Operand::input("residual", out, {e[0], e[1]}));
  return operands;
}

}  // namespace

bool isSmallProduct(std::int64_t m, std::int64_t n) {
  constexpr std::int64_t kRows = 128, kColumns = 256, kFew = 128;
  return (m + kRows - 1) / kRows * ((n + kColumns - 1) / kColumns) < kFew;
}

const KernelTemplate& gemmTemplate() {
  using namespace std::string_literals;
  static const auto* what = new KernelTemplate{.name = "gemm",
                                               .parameters = {{"dtype", "f32"s},
                                                              {"out", "f32"s},
                                                              {"a_columns", false},
                                                              {"b_columns", false},
                                                              {"bias", false},
                                                              {"residual", false},
                                                              {"activation", "none"s},
                                                              {"alignment", std::int64_t{16}}},
                                               .extents = {"m", "n", "k"},
                                               .typical = {2048, 2048, 2048},
                                               .program = gemmProgram,
                                               .grid = gemmGrid,
                                               .tile = gemmTile,
                                               .tileFor = gemmTileFor,
                                               .check = checkGemm,
                                               .space = gemmSpace,
                                               .misfit = gemmMisfit,
                                               .operands = gemmOperands};
  return *what;
}

}  // namespace fattn::kernels
