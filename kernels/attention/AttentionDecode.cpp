// SPDX-License-Identifier: Apache-2.0
// Attention of a few query rows against a long cache. The query heads of a key head, with all their rows, fill one tile, so that keys and
// values are read once; programs divide the keys of a sequence, and each leaves its own result and the logarithm of its sum of
// exponentials. Reading the cache takes the time, so every block of keys finds its exact maximum.
#include "kernels/attention/AttentionDecode.h"

#include <algorithm>
#include <limits>
#include <numbers>

#include "fattn/dsl/Dsl.h"

namespace fattn::kernels {
namespace {

using namespace dsl;

constexpr std::int64_t kMostRows = 16, kLongestPage = 1 << 20;
constexpr std::int32_t kFewKeys = 16;  // of a block: what matrix instructions take at once
/// Finite, so that the difference to a hidden score, -infinity, is no NaN.
constexpr float kLeastScore = std::numeric_limits<float>::lowest() / 2;

/// Keys, or values, of one head of one sequence.
struct Cache {
  TensorArg tensor;
  std::optional<TensorArg> pages;
  std::int64_t pageSize, elements;
  Scalar batch, head;

  Ptr headOf(const Scalar& first) const { return tensor.base + (first * tensor.stride[0] + cast(head, DType::I64) * tensor.stride[1]); }

  /// `count` rows from `key` on; those from `end` on are zero, and not read. `key` is a multiple of `count`.
  Tile rows(const Scalar& key, const Scalar& end, std::int64_t count) const {
    if (!pages)
      return load(make_block_ptr(headOf(cast(batch, DType::I64)), {cast(end, DType::I64), elements}, {tensor.stride[2], 1}, {key, 0},
                                 {count, elements}),
                  {0});
    const Ptr table = pages->base + cast(batch, DType::I64) * pages->stride[0];
    if (pageSize % count == 0) {  // all of them are on one page
      const Scalar page = load(table + key / pageSize), first = key % pageSize;
      return load(make_block_ptr(headOf(cast(page, DType::I64)), {cast(end - key + first, DType::I64), elements}, {tensor.stride[2], 1},
                                 {first, 0}, {count, elements}),
                  {0});
    }
    const Tile keys = arange(0, count) + key, inside = keys < end;
    const Tile page = cast(load(table + keys / pageSize, inside, 0), DType::I64), row = cast(keys % pageSize, DType::I64);
    const Tile offsets = page * tensor.stride[0] + row * tensor.stride[2] + cast(head, DType::I64) * tensor.stride[1];
    return load(tensor.base + (expand(offsets, 1) + expand(cast(arange(0, elements), DType::I64), 0)),
                broadcast(expand(inside, 1), {count, elements}), 0);
  }
};

struct DecodeArguments {
  TensorArg q, k, v, o, lse, lengths;
  std::optional<TensorArg> pages;
  Ptr partO, partLse;
  Scalar scale, hasLengths, writeLse;
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
  Ptr partO = args.ptr("part_o", DType::F32, 16, Aliasing::None), partLse = args.ptr("part_lse", DType::F32, 4, Aliasing::None);
  Scalar scale = args.scalar("scale", DType::F32), hasLengths = args.scalar("has_lengths", DType::I32);
  return {q, k, v, o, lse, lengths, pages, partO, partLse, scale, hasLengths, args.scalar("write_lse", DType::I32)};
}

/// The keys of a sequence. What is no length counts as the nearest one, so that nothing beyond the cache is read.
Scalar lengthOf(const DecodeArguments& a, std::int64_t pageSize, const Scalar& batch) {
  const Scalar most = a.pages ? cast(a.pages->size[1], DType::I32) * static_cast<std::int32_t>(pageSize) : cast(a.k.size[2], DType::I32);
  const Scalar told = load(a.lengths.base + cast(batch, DType::I64) * a.lengths.stride[0], a.hasLengths != 0, 0);
  return where(a.hasLengths != 0, max(min(told, most), 0), most);
}

struct Softmax {
  Tile o, lse;  ///< [M, Dv], [M]: -infinity where no key is seen
};

/// Over the keys from `begin` to `end`, of which a row sees those up to its `last`.
Softmax softmaxOver(const Scalar& begin, const Scalar& end, std::int64_t N, const Tile& q, const Tile& last, const Cache& k, const Cache& v,
                    const Scalar& scale) {
  const std::int64_t M = q.dim(0), Dv = v.elements;
  auto [o, l, m] =
      for_(begin, end, N, carry(zeros({M, Dv}), zeros({M}), full({M}, kLeastScore, DType::F32)), [&](Scalar n, Tile o, Tile l, Tile m) {
        Tile scores = dot(q, trans(k.rows(n, end, N))) * scale;
        Tile column = expand(arange(0, N) + n, 0), visible = (column <= expand(last, 1)) & (column < end);
        scores = where(visible, scores, -infinity);
        Tile top = max(m, reduce_max(scores, 1)), fade = exp2(m - top), p = exp2(scores - expand(top, 1));
        return carry(dot(cast(p, q.dtype()), v.rows(n, end, N), o * expand(fade, 1)), l * fade + reduce_sum(p, 1), top);
      });
  Tile empty = l == 0.0f;
  return {o * expand(rcp(where(empty, 1.0f, l)), 1), where(empty, -infinity, (m + log2(l)) * std::numbers::ln2_v<float>)};
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
  const Tile q = load(element(a.q, D), broadcast(expand(inside, 1), {M, D}), 0);

  const Scalar length = lengthOf(a, pageSize, batch), share = cdiv(cdiv(length, splits), N) * N;
  const Scalar begin = min(split * share, length), end = min(begin + share, length);
  const Tile last = parameters.flag("causal") ? query + (length - queries) : full({M}, length - 1, DType::I32);
  const Cache k{a.k, a.pages, pageSize, D, batch, kvHead}, v{a.v, a.pages, pageSize, Dv, batch, kvHead};
  const Softmax result = softmaxOver(begin, end, N, q, last, k, v, a.scale * std::numbers::log2e_v<float>);

  if_(
      splits == 1,
      [&] {
        store(element(a.o, Dv), cast(result.o, a.o.base.dtype()), broadcast(expand(inside, 1), {M, Dv}));
        store(a.lse.base + at(a.lse), result.lse, inside & (a.writeLse != 0));
      },
      [&] {
        const Scalar first = (cast(split, DType::I64) * cast(num_programs(2), DType::I64) + wideBatch) * (a.q.size[1] * a.q.size[2]) +
                             cast(kvHead, DType::I64) * cast(count, DType::I64);
        const Scalar rows = cast(count, DType::I64);
        store(make_block_ptr(a.partO + first * Dv, {rows, Dv}, {Dv, 1}, {0, 0}, {M, Dv}), result.o, {0});
        store(make_block_ptr(a.partLse + first, {rows}, {1}, {0}, {M}), result.lse, {0});
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

// The ring of keys and values; a tenth more for what moves between layouts.
std::int64_t ringBytes(const Parameters& parameters, const TileConfig& tile) {
  const std::int64_t elements = std::int64_t{tile.block_n} * (parameters.integer("head_dim") + parameters.integer("head_dim_v"));
  return elements * std::max(tile.stages, 1) * sizeInBytes(parameters.dtype("dtype")) * 11 / 10;
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
  const DType type = parameters.dtype("dtype");
  const std::int64_t rows = parameters.integer("rows"), D = parameters.integer("head_dim"), Dv = parameters.integer("head_dim_v");
  const std::int64_t splits = e[3], parts = splits > 1 ? splits : 0, direct = splits > 1 ? 0 : e[0];
  return {Operand::input("q", type, {e[0], e[1] * rows, 1, D}),
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
