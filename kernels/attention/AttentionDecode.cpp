// SPDX-License-Identifier: Apache-2.0
// Attention of a few query rows against a long cache. The query heads of a key head, with all their rows, fill one tile, so that keys and
// values are read once; programs divide the keys of a sequence, and each leaves its own result and the logarithm of its sum of
// exponentials. Reading the cache takes the time, so every block of keys finds its exact maximum.
#include "kernels/attention/AttentionDecode.h"

#include <algorithm>

#include "fattn/dsl/Dsl.h"
#include "kernels/attention/DecodeRows.h"

namespace fattn::kernels {
namespace {

using namespace dsl;

constexpr std::int64_t kMostRows = 16, kLongestPage = 1 << 20;
constexpr std::int64_t kMostOrdered = 128, kOrderedByWarp = 16;  ///< sequences; with more, threads would run out of registers
constexpr std::int64_t kMostCounted = 1 << 23;                   ///< blocks, so that what is compared are 32-bit numbers

/// The sequence of the programs with number `place`. Where lengths may differ the one with the most keys comes first: programs begin in the
/// order of their numbers, and those that begin last should be short, so that all end at about one time.
Scalar sequenceOf(const DecodeArguments& a, std::int64_t N, std::int64_t warps, const Scalar& place) {
  const std::int64_t most = std::min(kMostOrdered, kOrderedByWarp * warps);
  if (most == 0) return place;  // the host's threads take programs as they come
  const Scalar sequences = cast(a.q.size[0], DType::I32);
  auto [sequence] = if_((a.hasLengths != 0) & (sequences > 1) & (sequences <= most),
                        [&] {
                          const Tile number = arange(0, most), known = number < sequences;
                          const Tile blocks = where(known, min(blocksOf(keysOf(a, number, known), N), kMostCounted), 0);
                          // A number of its own for each sequence, larger where there are more blocks.
                          const Tile order = blocks * most + (most - 1 - number);
                          const Tile inFront = reduce_sum(cast(expand(order, 0) > expand(order, 1), DType::I32), 1);
                          return carry(unsplat(reduce_sum(where(inFront == place, number, 0), 0)));
                        },
                        [&] { return carry(place); });
  return sequence;
}

void decodeProgram(Params& args, const Parameters& parameters, const TileConfig& tile) {
  const std::int64_t N = tile.block_n;
  overlap_launches();
  const DecodeArguments a = declareDecode(args, parameters);
  const std::int64_t M = a.rows, Dv = a.headDimV;
  const Scalar split = program_id(0), splits = num_programs(0), kvHead = program_id(1), batch = sequenceOf(a, N, tile.warps, program_id(2));
  const DecodeRows rows(a, batch, kvHead, lengthOf(a, batch));
  const KeyRange<Scalar>& keys = rows.keys();

  const std::optional<Scalar> block = keys.first ? std::optional<Scalar>(*keys.first / N * N) : std::nullopt;
  const Scalar share = cdiv(cdiv(block ? keys.end - *block : keys.end, splits), N) * N, skipped = split * share;
  const Scalar begin = min(block ? *block + skipped : skipped, keys.end), end = min(begin + share, keys.end);
  const DecodeResult result = rows.over(begin, end, N, split == splits - 1);
  if_(
      splits == 1, [&] { rows.store(result); },
      [&] {
        const Scalar count = cast(rows.count(), DType::I64);
        const Scalar first = (cast(split, DType::I64) * a.q.size[0] + cast(batch, DType::I64)) * (a.q.size[1] * a.q.size[2]) +
                             cast(kvHead, DType::I64) * count;
        store(make_block_ptr(a.partO + first * Dv, {count, Dv}, {Dv, 1}, {0, 0}, {M, Dv}), result.o, {0});
        store(make_block_ptr(a.partLse + first, {count}, {1}, {0}, {M}), result.lse, {0});
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
  constexpr std::int32_t kUsualKeys = 64, kHostKeys = 128, kNarrowBlock = 32;
  if (machine.isHost()) return {.block_n = keysOfBlock(parameters, kHostKeys)};
  const std::int64_t page = parameters.integer("page_size");
  const bool isNvidia = machine.chip.starts_with("nvidia:");
  TileConfig tile{.block_n = keysOfBlock(parameters, kUsualKeys), .stages = 2, .warps = 4};
  // Of narrow heads twice as many, for the bytes that are then on their way.
  constexpr std::int64_t kLargeBlock = 32 << 10;
  if (isNvidia && page == 0 && 2 * blockBytes(parameters, tile) <= kLargeBlock) tile.block_n *= 2;
  // Dots with the few keys of a page have no work for many warps: two take them, and more programs share a multiprocessor.
  if (isNvidia && page >= kFewKeys && kNarrowBlock % page == 0) tile.block_n = kNarrowBlock, tile.warps = 2;
  while (tile.block_n > kFewKeys && ringBytes(parameters, tile) > machine.shared_bytes) tile.block_n /= 2;
  if (ringBytes(parameters, tile) > machine.shared_bytes) tile.stages = 1;
  if (!isNvidia || blockBytes(parameters, tile) < kLargeBlock) return tile;
  if (TileConfig deeper = withDeeperRing(parameters, tile, machine); deeper != tile) return deeper;
  // So that no three programs share a multiprocessor: grids that fill it with two of them would end raggedly.
  tile.warps = 8;
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

TileConfig withDeeperRing(const Parameters& parameters, const TileConfig& tile, const Machine& machine) {
  TileConfig deeper = tile;
  ++deeper.stages;
  return 2 * ringBytes(parameters, deeper) <= machine.shared_bytes ? deeper : tile;
}

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
                                                              {"settled", false},
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
