// SPDX-License-Identifier: Apache-2.0
// Kernels of rows: a program takes a few rows, in passes over blocks of their columns. What one pass has read is in a cache for the next.
// On a GPU rows that fit into one block stay in registers: they are read once.
#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>

#include "fattn/dsl/Dsl.h"
#include "kernels/library/Library.h"

namespace fattn::kernels {
namespace {

using namespace dsl;

constexpr float kLowest = std::numeric_limits<float>::lowest();  // finite, so that -infinity less it is no NaN
constexpr double kLog2E = 1.4426950408889634;

// Elements of its rows that a lane holds where they stay in registers.
constexpr std::int64_t kLaneElements = 32;

// Rows stream through a multiprocessor: while some programs wait for memory or for their warps, others have to load. With 32 warps at once
// the layer norm of an H200 is as fast as a copy, with 16 it takes up to 1.7 times as long. A multiprocessor of NVIDIA's has 65536
// registers, 64 a thread of 32 warps: a row as f32, a vector of `weights` bytes an element as it was loaded, and addresses.
void hideLatency(const TileConfig& tile, std::int64_t weights) {
  constexpr std::int64_t kWarps = 32, kRegisters = 64, kAddresses = 16;
  const std::int64_t elements = std::int64_t{tile.block_m} * tile.block_n / (32 * tile.warps);
  if (elements + elements * weights / 4 + kAddresses <= kRegisters)
    prefer_resident(static_cast<int>(std::max<std::int64_t>(kWarps / tile.warps, 1)));
}

// The rows of a program, and their blocks of columns.
struct Rows {
  DType type;
  std::int64_t m, n;
  TensorArg x, out;
  Scalar row, columns;
  bool inRegisters;  // rows of one block: where warps share a program

  Rows(Params& args, const Parameters& parameters, const TileConfig& tile)
      : type(parameters.dtype("dtype")),
        m(tile.block_m),
        n(tile.block_n),
        x(args.tensor("x", type, 2, {.alignment = parameters.integer("alignment")})),
        out(args.tensor("out", type, 2, {.alignment = parameters.integer("alignment")})),
        row(program_id(0) * m),
        columns(cast(x.size[1], DType::I32)),
        inRegisters(tile.warps > 0) {
    if (!inRegisters) return;
    hideLatency(tile, parameters.all().contains("weight") && parameters.flag("weight") ? sizeInBytes(type) : 0);
  }

  // The block of `width` columns from column i on.
  Tile block(const Scalar& i, std::int64_t width, float outside) const {
    return cast(load(x.block({row, i}, {m, width}), {0, 1}, outside), DType::F32);
  }
  void put(const Scalar& i, std::int64_t width, const Tile& y) const { store(out.block({row, i}, {m, width}), cast(y, type), {0, 1}); }
  Tile inside(const Scalar& i, std::int64_t width) const { return expand(arange(0, width) + i < columns, 0); }
};

// The passes of a program, over one block after the other; or, where a block has all columns, over that one, which is loaded once.
// On a GPU the blocks of the former are a quarter of the tile: kernels hold both forms, and the one without rows in registers should not be
// the one that needs more of them.
class Passes {
 public:
  Passes(const Rows& rows, float outside, bool isOne)
      : rows_(rows), outside_(outside), width_(isOne || !rows.inRegisters ? rows.n : std::max(rows.n / kParts, kNarrowestPart)) {
    if (isOne) only_ = rows.block(0, width_, outside);
  }
  bool isOne() const { return only_.has_value(); }
  std::int64_t width() const { return width_; }
  Tile block(const Scalar& i) const { return only_ ? *only_ : rows_.block(i, width_, outside_); }
  /// x() with `outside` behind the last column. Where it is known that a block has none of those, nothing is compared.
  template <class X>
  Tile whereInside(const Scalar& i, X x, float outside) const {
    const auto masked = [&] { return where(rows_.inside(i, width_), x(), outside); };
    return only_ ? std::get<0>(if_(rows_.columns == width_, x, masked)) : masked();
  }
  /// A function of a block's first column that is called by several passes: of one block it is computed once.
  template <class Compute>
  std::function<Tile(const Scalar&)> eachOnce(Compute compute) const {
    if (!only_) return compute;
    return [result = compute(Scalar(0))](const Scalar&) { return result; };
  }
  void put(const Scalar& i, const Tile& y) const { rows_.put(i, width_, y); }
  /// carry(next...) = body(i, carried...) for each block, which begins at column i.
  template <class... Ts, class Body>
  std::tuple<Ts...> over(const carry<Ts...>& init, Body body) const {
    if (!only_) return for_(0, rows_.columns, width_, init, body);
    return std::apply([&](const Ts&... carried) { return body(Scalar(0), carried...); }, init.values).values;
  }
  template <class Body>
  void each(Body body) const {
    if (only_) return body(Scalar(0));
    for_(0, rows_.columns, width_, body);
  }

 private:
  static constexpr std::int64_t kParts = 4, kNarrowestPart = 64;

  const Rows& rows_;
  float outside_;
  std::int64_t width_;
  std::optional<Tile> only_;
};

// Records what is done to the rows. `outside` is what lies behind their last columns.
template <class Body>
void inPasses(const Rows& rows, float outside, Body body) {
  if (!rows.inRegisters) return body(Passes(rows, outside, false));
  if_(rows.columns <= rows.n, [&] { body(Passes(rows, outside, true)); }, [&] { body(Passes(rows, outside, false)); });
}

void softmaxProgram(Params& args, const Parameters& parameters, const TileConfig& tile) {
  const Rows rows(args, parameters, tile);
  auto exponentials = [&](const Tile& x, const Tile& top) { return exp2((x - expand(top, 1)) * kLog2E); };
  inPasses(rows, -infinity, [&](const Passes& passes) {
    auto [largest, sum] = passes.over(carry(full({rows.m}, kLowest, DType::F32), zeros({rows.m})), [&](Scalar i, Tile largest, Tile sum) {
      Tile x = passes.block(i);
      Tile next = max(largest, reduce_max(x, 1));
      Tile scaled = sum * exp2((largest - next) * kLog2E);
      return carry(next, scaled + reduce_sum(exponentials(x, next), 1));
    });
    Tile scale = expand(rcp(sum), 1);
    passes.each([&](Scalar i) { passes.put(i, exponentials(passes.block(i), largest) * scale); });
  });
}

// The weights and biases of a norm's columns.
struct Affine {
  std::optional<TensorArg> weight, bias;

  /// Applied to a block from column i on. Each is loaded where it is used: a thread has no registers for both beside its part of a row.
  Tile apply(Tile y, const Scalar& i, std::int64_t width) const {
    const auto row = [&](const TensorArg& vector) { return expand(cast(load(vector.block({i}, {width}), {0}), DType::F32), 0); };
    if (weight) y = y * row(*weight);
    if (bias) y = y + row(*bias);
    return y;
  }
};

Affine affine(Params& args, const Parameters& parameters, bool hasBias) {
  const TensorForm form{.alignment = parameters.integer("alignment"), .aliasing = Aliasing::None};
  Affine affine;
  if (parameters.flag("weight")) affine.weight = args.tensor("weight", parameters.dtype("dtype"), 1, form);
  if (hasBias) affine.bias = args.tensor("bias", parameters.dtype("dtype"), 1, form);
  return affine;
}

void layerNormProgram(Params& args, const Parameters& parameters, const TileConfig& tile) {
  const Rows rows(args, parameters, tile);
  const Affine affineOf = affine(args, parameters, parameters.flag("bias"));
  const Scalar eps = args.scalar("eps", DType::F32), count = cast(rows.columns, DType::F32);
  inPasses(rows, 0, [&](const Passes& passes) {
    auto [sum] = passes.over(carry(zeros({rows.m})), [&](Scalar i, Tile sum) { return carry(sum + reduce_sum(passes.block(i), 1)); });
    const Tile mean = sum / count;
    // The same for both passes, so that a row in registers is there once.
    const auto centered = passes.eachOnce([&](const Scalar& i) {
      const auto difference = [&] { return passes.block(i) - expand(mean, 1); };
      return passes.whereInside(i, difference, 0);
    });
    // In a pass of its own: the difference of two large sums would lose what a small variance is made of.
    auto [squares] = passes.over(carry(zeros({rows.m})), [&](Scalar i, Tile squares) {
      Tile x = centered(i);
      return carry(squares + reduce_sum(x * x, 1));
    });
    const Tile scale = expand(rsqrt(squares / count + eps), 1);
    passes.each([&](Scalar i) { passes.put(i, affineOf.apply(centered(i) * scale, i, passes.width())); });
  });
}

void rmsNormProgram(Params& args, const Parameters& parameters, const TileConfig& tile) {
  const Rows rows(args, parameters, tile);
  const Affine affineOf = affine(args, parameters, false);
  const Scalar eps = args.scalar("eps", DType::F32);
  inPasses(rows, 0, [&](const Passes& passes) {
    auto [squares] = passes.over(carry(zeros({rows.m})), [&](Scalar i, Tile squares) {
      Tile x = passes.block(i);
      return carry(squares + reduce_sum(x * x, 1));
    });
    const Tile scale = expand(rsqrt(squares / cast(rows.columns, DType::F32) + eps), 1);
    passes.each([&](Scalar i) { passes.put(i, affineOf.apply(passes.block(i) * scale, i, passes.width())); });
  });
}

void checkRows(const Parameters& parameters) {
  const DType type = parameters.dtype("dtype");
  if (type != DType::F32 && type != DType::F16 && type != DType::BF16)
    throw Error(ErrorCode::Unsupported, "dtype is " + std::string(name(type)) + "; it must be f32, f16 or bf16");
}

Grid rowsGrid(const Parameters&, const TileConfig& tile, std::span<const std::int64_t> extents) {
  return {(extents[0] + tile.block_m - 1) / tile.block_m, 1, 1};
}

TileConfig rowsTile(const Parameters&, const Machine& machine) {
  return machine.isHost() ? TileConfig{.block_m = 4, .block_n = 512} : TileConfig{.block_m = 1, .block_n = 1024, .stages = 1, .warps = 4};
}

constexpr std::int64_t kNarrowest = 64, kWidest = 16384;  // blocks of whole rows

// Rows that fit into the registers of a block are one block: each thread has 32 elements, and the block at least 4 warps. On an H200 that
// is as fast as a copy, or the fastest there is; half as many elements are up to a third slower.
TileConfig rowsTileFor(const Parameters& parameters, const Machine& machine, std::span<const std::int64_t> extents) {
  const std::int64_t columns = extents[1];
  if (machine.isHost() || columns == 0) return rowsTile(parameters, machine);
  constexpr std::int64_t kElements = 32 * kLaneElements, kWarps = 4, kMostWarps = 16;
  const std::int64_t width = columns > kWidest ? kElements * kWarps : rowsWidth(columns);
  const std::int64_t rows = std::max<std::int64_t>(1, kElements * kWarps / width);
  const std::int64_t warps = std::clamp(rows * width / kElements, kWarps, kMostWarps);
  return {.block_m = static_cast<std::int32_t>(rows),
          .block_n = static_cast<std::int32_t>(width),
          .stages = 1,
          .warps = static_cast<std::int32_t>(warps)};
}

std::vector<TileConfig> rowsSpace(const Parameters& parameters, const Machine& machine) {
  const bool host = machine.isHost();
  std::vector<TileConfig> space = {rowsTile(parameters, machine)};
  for (const std::int32_t m : host ? std::vector{1, 2, 4, 8, 16} : std::vector{1, 2, 4, 8, 16})
    for (const std::int32_t n : host ? std::vector{64, 128, 256, 512, 1024} : std::vector{64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384})
      for (const std::int32_t warps : host ? std::vector{0} : std::vector{1, 2, 4, 8, 16}) {
        const TileConfig tile{.block_m = m, .block_n = n, .stages = host ? 0 : 1, .warps = warps};
        if (tile != space.front()) space.push_back(tile);
      }
  return space;
}

std::optional<std::string> rowsMisfit(const Parameters&, const TileConfig& tile, const Machine& machine,
                                      std::span<const std::int64_t> extents) {
  constexpr std::int64_t kSmallest = 64, kMostElements = 64;  // a thread
  const auto bucket = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(extents[1])));
  if (tile.block_n > std::max(bucket, kSmallest))
    return "BLOCK_N=" + std::to_string(tile.block_n) + " is more than the " + std::to_string(bucket) + " columns of this bucket";
  if (!machine.isHost() && std::int64_t{tile.block_m} * tile.block_n > kMostElements * 32 * tile.warps)
    return "the block has too few threads for its elements";
  return std::nullopt;
}

std::vector<Operand> rowsOperands(const Parameters& parameters, std::span<const std::int64_t> e) {
  const DType type = parameters.dtype("dtype");
  std::vector<Operand> operands = {Operand::input("x", type, {e[0], e[1]}), Operand::output("out", type, {e[0], e[1]})};
  const auto has = [&](const char* name) { return parameters.all().contains(name) && parameters.flag(name); };
  for (const char* vector : {"weight", "bias"})
    if (has(vector)) operands.push_back(Operand::input(vector, type, {e[1]}));
  if (parameters.all().contains("weight")) operands.push_back(Operand::number("eps", 1e-5));
  return operands;
}

KernelTemplate* rowsTemplate(const char* name, void (*program)(Params&, const Parameters&, const TileConfig&)) {
  return new KernelTemplate{.name = name,
                            .parameters = {{"dtype", std::string("f32")}, {"alignment", std::int64_t{16}}},
                            .extents = {"rows", "columns"},
                            .typical = {4096, 1024},
                            .program = program,
                            .grid = rowsGrid,
                            .tile = rowsTile,
                            .tileFor = rowsTileFor,
                            .check = checkRows,
                            .space = rowsSpace,
                            .misfit = rowsMisfit,
                            .operands = rowsOperands};
}

}  // namespace

std::int64_t rowsWidth(std::int64_t columns) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp(columns, kNarrowest, 2 * kWidest))));
}

const KernelTemplate& rowSoftmaxTemplate() {
  static const KernelTemplate* what = rowsTemplate("row_softmax", softmaxProgram);
  return *what;
}

const KernelTemplate& layerNormTemplate() {
  static const KernelTemplate* what = [] {
    KernelTemplate* made = rowsTemplate("layer_norm", layerNormProgram);
    made->parameters.set("weight", true);
    made->parameters.set("bias", true);
    return made;
  }();
  return *what;
}

const KernelTemplate& rmsNormTemplate() {
  static const KernelTemplate* what = [] {
    KernelTemplate* made = rowsTemplate("rms_norm", rmsNormProgram);
    made->parameters.set("weight", true);
    return made;
  }();
  return *what;
}

}  // namespace fattn::kernels
