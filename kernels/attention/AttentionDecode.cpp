// SPDX-License-Identifier: Apache-2.0
// Attention of a few query rows against a long cache. The query heads of a key head, with all their rows, fill one tile, so that keys and
// values are read once; programs divide the keys of a sequence, and each leaves its own result and the logarithm of its sum of
// exponentials. Reading the cache takes the time, so every block of keys finds its exact maximum.
#include "kernels/attention/AttentionDecode.h"

#include <algorithm>
#include <limits>
#include <numbers>

#include "fattn/dsl/Dsl.h"
#include "kernels/attention/DecodeCache.h"

namespace fattn::kernels {
namespace {

using namespace dsl;

constexpr std::int64_t kMostRows = 16, kLongestPage = 1 << 20;
constexpr std::int32_t kFewKeys = 16;  // of a block: what matrix instructions take at once
/// Finite, so that the difference to a hidden score, -infinity, is no NaN.
constexpr float kLeastScore = std::numeric_limits<float>::lowest() / 2;

struct DecodeArguments {
  TensorArg q, k, v, o, lse, lengths;
  std::optional<TensorArg> pages, newK, newV;
  Ptr partO, partLse;
  Scalar scale;
  std::optional<Scalar> window;
  Scalar hasLengths, writeLse;
};

DecodeArguments declare(Params& args, const Parameters& parameters) {
  const DType type = parameters.dtype("dtype");
  const TensorForm wide{.alignment = parameters.integer("alignment"), .aliasing = Aliasing::None};
  const TensorForm f32{.alignment = sizeInBytes(DType::F32), .aliasing = Aliasing::None};
  TensorForm strided = f32;
  strided.rows = false;
  TensorArg q = args.tensor("q", type, 4, wide), k = args.tensor("k", type, 4, wide), v = args.tensor("v", type, 4, wide);
  TensorArg o = args.tensor("o", type, 4, wide), lse = args.tensor("lse", DType::F32, 3, strided);
  TensorArg lengths = args.tensor("lengths", DType::I32, 1, strided);
  std::optional<TensorArg> pages;
  if (parameters.integer("page_size") > 0) pages = args.tensor("pages", DType::I32, 2, f32);
  std::optional<TensorArg> newK, newV;
  if (parameters.flag("append")) newK = args.tensor("new_k", type, 4, wide), newV = args.tensor("new_v", type, 4, wide);
  Ptr partO = args.ptr("part_o", DType::F32, 16, Aliasing::None), partLse = args.ptr("part_lse", DType::F32, 4, Aliasing::None);
  Scalar scale = args.scalar("scale", DType::F32);
  std::optional<Scalar> window;
  if (parameters.flag("window")) window = args.scalar("window", DType::I32);
  Scalar hasLengths = args.scalar("has_lengths", DType::I32);
  return {q, k, v, o, lse, lengths, pages, newK, newV, partO, partLse, scale, window, hasLengths, args.scalar("write_lse", DType::I32)};
}

/// The keys of a sequence. What is no length counts as the nearest one, so that nothing beyond the cache is read.
Scalar lengthOf(const DecodeArguments& a, std::int64_t pageSize, const Scalar& batch) {
  const Scalar most = a.pages ? cast(a.pages->size[1], DType::I32) * static_cast<std::int32_t>(pageSize) : cast(a.k.size[2], DType::I32);
  const Scalar told = load(a.lengths.base + cast(batch, DType::I64) * a.lengths.stride[0], a.hasLengths != 0, 0);
  return where(a.hasLengths != 0, max(min(told, most), 0), most);
}

/// The query rows of a program, and what each of them sees.
struct QueryRows {
  Tile q, last;               ///< [M, D], [M]: the last key
  std::optional<Tile> first;  ///< [M]: the first key; none = 0
  Scalar scale;               ///< of scores, for exponentials to base 2
};

/// Sums over keys, for each row: of values, of weights, both against the largest score.
struct Sums {
  Tile o, l, m;
};

/// Takes keys with the numbers `column` along, of which those below `end` there are.
template <typename Values>
auto withKeys(const QueryRows& rows, const Sums& sums, const Tile& keys, const Values& values, const Tile& column, const Scalar& end) {
  const Tile number = expand(column, 0);
  Tile visible = (number <= expand(rows.last, 1)) & (number < end);
  if (rows.first) visible = visible & (number >= expand(*rows.first, 1));
  const Tile scores = where(visible, dot(rows.q, trans(keys)) * rows.scale, -infinity);
  const Tile top = max(sums.m, reduce_max(scores, 1)), fade = exp2(sums.m - top), p = exp2(scores - expand(top, 1));
  return carry(dot(cast(p, rows.q.dtype()), values(), sums.o * expand(fade, 1)), sums.l * fade + reduce_sum(p, 1), top);
}

/// Keys from `begin`, a multiple of N, to `end`.
Sums overCache(const QueryRows& rows, const Scalar& begin, const Scalar& end, std::int64_t N, const DecodeCache& k, const DecodeCache& v) {
  const std::int64_t M = rows.last.dim(0);
  auto [o, l, m] = for_(begin, end, N, carry(zeros({M, v.elements}), zeros({M}), full({M}, kLeastScore, DType::F32)),
                        [&](Scalar n, Tile o, Tile l, Tile m) {
                          return withKeys(rows, {o, l, m}, k.rows(n, end, N), [&] { return v.rows(n, end, N); }, arange(0, N) + n, end);
                        });
  return {o, l, m};
}

/// Rows of this launch, keys from `first` on, which go to the cache as well. No program reads there what this one writes: programs read
/// these rows where they come from, and of the cache what lies before them.
Sums overAppended(const QueryRows& rows, const Sums& before, const Scalar& first, const Scalar& taken, const AppendedRows& newK,
                  const AppendedRows& newV, const DecodeCache& k, const DecodeCache& v) {
  auto [o, l, m] = for_(0, taken, kFewKeys, carry(before.o, before.l, before.m), [&](Scalar i, Tile o, Tile l, Tile m) {
    const Tile keys = newK.block(i, kFewKeys), values = newV.block(i, kFewKeys);
    k.write(keys, first + i, newK.count - i), v.write(values, first + i, newK.count - i);
    return withKeys(rows, {o, l, m}, keys, [&] { return values; }, arange(0, kFewKeys) + (first + i), first + newK.count);
  });
  return {o, l, m};
}

/// What the programs of a sequence share: the keys [first, end) of the cache, and `appended` ones behind them.
struct KeyRange {
  std::optional<Scalar> first;  ///< none = 0
  Scalar end;
  std::optional<Scalar> appended;
};

KeyRange rangeOf(const DecodeArguments& a, const Scalar& length, const Scalar& queries) {
  KeyRange range{{}, length, {}};
  if (a.newK) range.appended = min(cast(a.newK->size[2], DType::I32), length), range.end = length - *range.appended;
  if (a.window) range.first = min(max(length - queries + 1 - *a.window, 0), range.end);
  return range;
}

Sums sumsOf(const DecodeArguments& a, const QueryRows& rows, const KeyRange& range, std::int64_t N, DecodeCache k, DecodeCache v) {
  const Scalar split = program_id(0), splits = num_programs(0);
  // Shares begin at blocks, so that the first one may begin with keys that nobody sees.
  std::optional<Scalar> block;
  if (range.first) k.first = v.first = *range.first, block = *range.first / N * N;
  const Scalar share = cdiv(cdiv(block ? range.end - *block : range.end, splits), N) * N, skipped = split * share;
  const Scalar begin = min(block ? *block + skipped : skipped, range.end), end = min(begin + share, range.end);
  const Sums sums = overCache(rows, begin, end, N, k, v);
  if (!range.appended) return sums;
  const AppendedRows newK{*a.newK, k.elements, k.batch, k.head, *range.appended},
      newV{*a.newV, v.elements, v.batch, v.head, *range.appended};
  return overAppended(rows, sums, range.end, where(split == splits - 1, *range.appended, 0), newK, newV, k, v);
}

void decodeProgram(Params& args, const Parameters& parameters, const TileConfig& tile) {
  const std::int64_t M = parameters.integer("rows"), N = tile.block_n, D = parameters.integer("head_dim"),
                     Dv = parameters.integer("head_dim_v"), pageSize = parameters.integer("page_size");
  const DecodeArguments a = declare(args, parameters);
  const Scalar split = program_id(0), splits = num_programs(0), kvHead = program_id(1), batch = program_id(2);

  // Row r is query row r % queries of the group's head r / queries, so that a group's rows lie side by side in part_o.
  const Scalar queries = cast(a.q.size[2], DType::I32), group = cast(a.q.size[1] / a.k.size[1], DType::I32), count = group * queries;
  const Tile row = arange(0, M), inside = row < count, query = row % queries;
  const Tile head = cast(row / queries + kvHead * group, DType::I64), wideQuery = cast(query, DType::I64);
  const Scalar wideBatch = cast(batch, DType::I64);
  auto at = [&](const TensorArg& x) { return wideBatch * x.stride[0] + head * x.stride[1] + wideQuery * x.stride[2]; };
  auto element = [&](const TensorArg& x, std::int64_t width) {
    return x.base + (expand(at(x), 1) + expand(cast(arange(0, width), DType::I64), 0));
  };
  const Scalar length = lengthOf(a, pageSize, batch);
  const Tile place = query + (length - queries);  // the number of the key that stands where the row does
  const QueryRows rows{load(element(a.q, D), broadcast(expand(inside, 1), {M, D}), 0),
                       parameters.flag("causal") ? place : full({M}, length - 1, DType::I32),
                       a.window ? std::optional(place - *a.window + 1) : std::nullopt, a.scale * std::numbers::log2e_v<float>};
  const auto [o, l, m] = sumsOf(a, rows, rangeOf(a, length, queries), N, {a.k, a.pages, pageSize, D, batch, kvHead},
                                {a.v, a.pages, pageSize, Dv, batch, kvHead});
  const Tile empty = l == 0.0f, result = o * expand(rcp(where(empty, 1.0f, l)), 1);
  const Tile lse = where(empty, -infinity, (m + log2(l)) * std::numbers::ln2_v<float>);

  if_(
      splits == 1,
      [&] {
        store(element(a.o, Dv), cast(result, a.o.base.dtype()), broadcast(expand(inside, 1), {M, Dv}));
        store(a.lse.base + at(a.lse), lse, inside & (a.writeLse != 0));
      },
      [&] {
        const Scalar first = (cast(split, DType::I64) * cast(num_programs(2), DType::I64) + wideBatch) * (a.q.size[1] * a.q.size[2]) +
                             cast(kvHead, DType::I64) * cast(count, DType::I64);
        const Scalar rows = cast(count, DType::I64);
        store(make_block_ptr(a.partO + first * Dv, {rows, Dv}, {Dv, 1}, {0, 0}, {M, Dv}), result, {0});
        store(make_block_ptr(a.partLse + first, {rows}, {1}, {0}, {M}), lse, {0});
      });
}

void requireOneOf(bool holds, const std::string& name, std::int64_t value, const std::string& legal) {
  if (!holds) throw Error(ErrorCode::Unsupported, name + " is " + std::to_string(value) + "; it must be " + legal);
}

void checkDecode(const Parameters& parameters) {
  const DType type = parameters.dtype("dtype");
  if (type != DType::F32 && type != DType::F16 && type != DType::BF16)
    throw Error(ErrorCode::Unsupported, "dtype is " + std::string(name(type)) + "; it must be f32, f16 or bf16");
  for (const char* of : {"head_dim", "head_dim_v"}) {
    const std::int64_t value = parameters.integer(of);
    requireOneOf(value >= 8 && value <= 256 && value % 8 == 0, of, value, "a multiple of 8 from 8 to 256");
  }
  const std::int64_t rows = parameters.integer("rows"), page = parameters.integer("page_size");
  requireOneOf(rows >= 1 && rows <= kMostRows, "rows", rows, "1 to " + std::to_string(kMostRows));
  requireOneOf(page >= 0 && page <= kLongestPage, "page_size", page,
               "1 to " + std::to_string(kLongestPage) + ", or 0 for a cache without pages");
}

Grid decodeGrid(const Parameters&, const TileConfig&, std::span<const std::int64_t> extents) {
  return {extents[3], extents[1], extents[0]};
}

/// Of a block of keys and values.
std::int64_t blockBytes(const Parameters& parameters, const TileConfig& tile) {
  const std::int64_t elements = std::int64_t{tile.block_n} * (parameters.integer("head_dim") + parameters.integer("head_dim_v"));
  return elements * sizeInBytes(parameters.dtype("dtype"));
}

// The ring of keys and values; a tenth more for what moves between layouts.
std::int64_t ringBytes(const Parameters& parameters, const TileConfig& tile) {
  return blockBytes(parameters, tile) * std::max(tile.stages, 1) * 11 / 10;
}

/// As many keys as lie on one page, where those are not too few. Else each row has an address of its own, which take registers.
std::int32_t keysOfBlock(const Parameters& parameters, std::int32_t most) {
  const std::int64_t page = parameters.integer("page_size");
  if (page == 0) return most;
  for (std::int32_t n = most; n >= kFewKeys; n /= 2)
    if (page % n == 0) return n;
  return kFewKeys;
}

TileConfig decodeTile(const Parameters& parameters, const Machine& machine) {
  constexpr std::int32_t kUsualKeys = 64;
  if (machine.isHost()) return {.block_n = keysOfBlock(parameters, kUsualKeys)};
  TileConfig tile{.block_n = keysOfBlock(parameters, kUsualKeys), .stages = 2, .warps = 4};
  while (tile.block_n > kFewKeys && ringBytes(parameters, tile) > machine.shared_bytes) tile.block_n /= 2;
  if (ringBytes(parameters, tile) > machine.shared_bytes) tile.stages = 1;
  // Eight warps for blocks of 32 KB: with four, three programs fit on an SM of an H200, and grids that fill two a piece end raggedly.
  constexpr std::int64_t kLargeBlock = 32 << 10;
  if (machine.chip.starts_with("nvidia:") && blockBytes(parameters, tile) >= kLargeBlock) tile.warps = 8;
  return tile;
}

std::vector<TileConfig> decodeSpace(const Parameters& parameters, const Machine& machine) {
  const bool host = machine.isHost();
  std::vector<TileConfig> space = {decodeTile(parameters, machine)};
  for (const std::int32_t n : {16, 32, 64, 128})
    for (const std::int32_t stages : host ? std::vector{0} : std::vector{1, 2, 3, 4})
      for (const std::int32_t warps : host ? std::vector{0} : std::vector{2, 4, 8}) {
        const TileConfig tile{.block_n = n, .stages = stages, .warps = warps};
        if (tile != space.front()) space.push_back(tile);
      }
  return space;
}

std::optional<std::string> decodeMisfit(const Parameters& parameters, const TileConfig& tile, const Machine& machine,
                                        std::span<const std::int64_t>) {
  if (machine.isHost()) return std::nullopt;
  if (const std::int64_t bytes = ringBytes(parameters, tile); bytes > machine.shared_bytes)
    return "it needs about " + std::to_string(bytes) + " bytes of shared memory, a block has " + std::to_string(machine.shared_bytes);
  return std::nullopt;
}

std::vector<Operand> decodeOperands(const Parameters& parameters, std::span<const std::int64_t> e) {
  if (parameters.integer("page_size") != 0)
    throw Error(ErrorCode::Unsupported, "template attention_decode: caches of pages are not tuned: a table of pages is no random operand",
                "give a tile to compile with");
  if (parameters.flag("append"))
    throw Error(ErrorCode::Unsupported, "template attention_decode: launches that append are not tuned: they change their operands",
                "give a tile to compile with, or tune without append");
  const DType type = parameters.dtype("dtype");
  const std::int64_t rows = parameters.integer("rows"), D = parameters.integer("head_dim"), Dv = parameters.integer("head_dim_v");
  const std::int64_t splits = e[3], parts = splits > 1 ? splits : 0, direct = splits > 1 ? 0 : e[0];
  std::vector<Operand> operands = {Operand::input("q", type, {e[0], e[1] * rows, 1, D}),
                                   Operand::input("k", type, {e[0], e[1], e[2], D}),
                                   Operand::input("v", type, {e[0], e[1], e[2], Dv}),
                                   Operand::output("o", type, {direct, e[1] * rows, 1, Dv}),
                                   Operand::output("lse", DType::F32, {direct, e[1] * rows, 1}),
                                   Operand::input("lengths", DType::I32, {0}),
                                   Operand::output("part_o", DType::F32, {parts, e[0], e[1] * rows, 1, Dv}),
                                   Operand::output("part_lse", DType::F32, {parts, e[0], e[1] * rows, 1}),
                                   Operand::number("scale", 0.1),
                                   Operand::integer("has_lengths", 0),
                                   Operand::integer("write_lse", 1)};
  if (parameters.flag("window")) operands.push_back(Operand::integer("window", 1024));
  return operands;
}

}  // namespace

const KernelTemplate& decodeTemplate() {
  static const auto* what = new KernelTemplate{.name = "attention_decode",
                                               .parameters = {{"dtype", std::string("f16")},
                                                              {"head_dim", std::int64_t{128}},
                                                              {"head_dim_v", std::int64_t{128}},
                                                              {"rows", kMostRows},
                                                              {"causal", false},
                                                              {"page_size", std::int64_t{0}},
                                                              {"window", false},
                                                              {"append", false},
                                                              {"alignment", std::int64_t{16}}},
                                               .extents = {"batch", "heads", "keys", "splits"},
                                               .typical = {16, 8, 8192, 1},
                                               .program = decodeProgram,
                                               .grid = decodeGrid,
                                               .tile = decodeTile,
                                               .check = checkDecode,
                                               .space = decodeSpace,
                                               .misfit = decodeMisfit,
                                               .operands = decodeOperands};
  return *what;
}

}  // namespace fattn::kernels
