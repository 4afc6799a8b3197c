// SPDX-License-Identifier: Apache-2.0
// Decode whose programs take equal shares of all keys of the batch, whatever the lengths, and which merges in the same launch.
//
// The blocks of keys of all pairs of a sequence and a key head, in this order, are one row of blocks. Program p of P takes the blocks
// [p U / P, (p + 1) U / P) of the U that there are (where these are fewer than programs, the first U programs take one each): pairs of its
// own, and at both ends perhaps a part of a pair that it shares with its neighbours. Such a part goes to the workspace, and who shares a
// pair counts its blocks there: the program whose count completes the pair merges the parts, in the order of the keys whoever comes last,
// and puts the count back to zero.
#include <algorithm>
#include <limits>
#include <numbers>

#include "fattn/dsl/Dsl.h"
#include "kernels/attention/AttentionDecode.h"
#include "kernels/attention/DecodeRows.h"

namespace fattn::kernels {
namespace {

using namespace dsl;

constexpr std::int64_t kSequencesAtOnce = 128, kElementsAtOnce = 4096, kMostPartsAtOnce = 16;
constexpr float kLeastLog = std::numeric_limits<float>::lowest() / 2;  // finite, so that -infinity less it is no NaN

/// Blocks of the sequences from `first` on, of one head; 0 behind the last.
Tile blocksFrom(const DecodeArguments& a, const Scalar& first, std::int64_t N) {
  const Tile sequence = arange(0, kSequencesAtOnce) + first, known = sequence < cast(a.q.size[0], DType::I32);
  return where(known, blocksOf(keysOf(a, sequence, known), N), 0);
}

Scalar sumOf(const Tile& x) { return unsplat(reduce_sum(x, 0)); }

Scalar wide(const Scalar& x) { return cast(x, DType::I64); }

/// All blocks, and what a program's share of them begins with: a sequence, and the blocks before it. Counted for one head.
struct Place {
  Scalar blocks, sequence, before;
};

Place placeOf(const DecodeArguments& a, std::int64_t N) {
  const Scalar batch = cast(a.q.size[0], DType::I32), heads = a.k.size[1], program = wide(program_id(0));
  // One sequence needs no search.
  auto [blocks, sequence, before] = if_(
      batch == 1, [&] { return carry(blocksOf(keysOf(a, Scalar(batch - 1)), N), Scalar(batch - 1), Scalar(batch - 1)); },
      [&] {
        auto [all] = for_(0, batch, kSequencesAtOnce, carry(zeros({kSequencesAtOnce}, DType::I32)),
                          [&](Scalar i, Tile all) { return carry(all + blocksFrom(a, i, N)); });
        const Scalar blocks = sumOf(all), total = wide(blocks) * heads;
        const Scalar begin = cast(total * program / min(total, wide(num_programs(0))) / heads, DType::I32);
        const Scalar none = batch - batch;
        auto [sequence, before, seen] =
            for_(0, batch, kSequencesAtOnce, carry(none, none, none), [&](Scalar i, Scalar sequence, Scalar before, Scalar seen) {
              const Tile blocks = blocksFrom(a, i, N), passed = (blocks > 0) & (cumsum(blocks, 0) + seen <= begin);
              return carry(sequence + sumOf(where(passed, 1, zeros({kSequencesAtOnce}, DType::I32))),
                           before + sumOf(where(passed, blocks, 0)), seen + sumOf(blocks));
            });
        return carry(blocks, Scalar(min(sequence, batch - 1)), before);  // programs without a share find none
      });
  return {blocks, sequence, before};
}

/// Parts of pairs in the workspace. A program has at most two: of a pair that goes on behind its share, and of one that ends in it.
class Parts {
 public:
  explicit Parts(const DecodeArguments& a) : a_(a), programs_(wide(num_programs(0))) {}

  void store(const DecodeResult& result, const Scalar& goesOn) const {
    const Scalar place = where(goesOn, wide(program_id(0)), programs_ + wide(program_id(0)));
    dsl::store(make_block_ptr(a_.partO + place * (a_.rows * a_.headDimV), {a_.rows, a_.headDimV}, {a_.headDimV, 1}, {0, 0},
                              {a_.rows, a_.headDimV}),
               result.o);
    dsl::store(make_block_ptr(a_.partLse + place * a_.rows, {a_.rows}, {1}, {0}, {a_.rows}), result.lse);
  }

  /// Of the programs [first, last], of which the pair ends in the last one's share.
  DecodeResult merged(const Scalar& first, const Scalar& last) const {
    const std::int64_t M = a_.rows, Dv = a_.headDimV;
    std::int64_t P = kMostPartsAtOnce;
    while (P > 1 && P * M * Dv > kElementsAtOnce) P /= 2;
    const Scalar end = programs_ + last;
    const Tile lastLog = load(make_block_ptr(a_.partLse + end * M, {M}, {1}, {0}, {M})) * std::numbers::log2e_v<float>;
    const Tile lastO = load(make_block_ptr(a_.partO + end * (M * Dv), {M, Dv}, {Dv, 1}, {0, 0}, {M, Dv}));
    const BlockPtr logs = make_block_ptr(a_.partLse + first * M, {last - first, M}, {M, 1}, {0, 0}, {P, M});
    const BlockPtr results = make_block_ptr(a_.partO + first * (M * Dv), {last - first, M, Dv}, {M * Dv, Dv, 1}, {0, 0, 0}, {P, M, Dv});
    auto [sum, weight, top] = for_(
        0, cast(last - first, DType::I32), P, carry(zeros({M, Dv}), zeros({M}), full({M}, kLeastLog, DType::F32)),
        [&](Scalar i, Tile sum, Tile weight, Tile top) {
          const Tile log = load(advance(logs, {i, 0}), {0}, -infinity) * std::numbers::log2e_v<float>;
          const Tile result = load(advance(results, {i, 0, 0}), {0});
          const Tile next = max(top, reduce_max(log, 0)), fade = exp2(top - next), weights = exp2(log - expand(next, 0));
          return carry(sum * expand(fade, 1) + reduce_sum(result * expand(weights, 2), 0), weight * fade + reduce_sum(weights, 0), next);
        });
    const Tile m = max(top, lastLog), fade = exp2(top - m), lastWeight = exp2(lastLog - m);
    const Tile l = weight * fade + lastWeight, o = sum * expand(fade, 1) + lastO * expand(lastWeight, 1);
    const Tile empty = l == 0.0f;
    return {o * expand(rcp(where(empty, 1.0f, l)), 1), where(empty, -infinity, (m + log2(l)) * std::numbers::ln2_v<float>)};
  }

 private:
  const DecodeArguments& a_;
  Scalar programs_;
};

void balancedProgram(Params& args, const Parameters& parameters, const TileConfig& tile) {
  overlap_launches();
  const std::int64_t N = tile.block_n;
  const DecodeArguments a = declareDecode(args, parameters);
  const Ptr counters = args.ptr("counters", DType::I32, 4, Aliasing::None);
  // Three blocks of four warps; many rows, and pages that are read one by one, take the registers of the third.
  constexpr std::int64_t kManyRows = 8;
  prefer_resident(tile.warps > 4 || a.rows > kManyRows || windowRows(a.pageSize, N) < N ? 2 : 3);
  const Place place = placeOf(a, N);
  const Parts parts(a);

  const Scalar program = wide(program_id(0)), heads = cast(a.k.size[1], DType::I32), all = wide(place.blocks) * wide(heads);
  const Scalar programs = min(wide(num_programs(0)), all), from = all * program / programs, to = min(all * (program + 1) / programs, all);
  const Scalar skipped = cast(from - wide(place.before) * wide(heads), DType::I32), perHead = blocksOf(keysOf(a, place.sequence), N);
  const Scalar head = skipped / perHead, start = wide(place.before) * wide(heads) + wide(head * perHead);
  // The pair, its first block among all, and the block of it where the share goes on.
  while_(
      carry(place.sequence * heads + head, start, skipped - head * perHead, lengthOf(a, place.sequence)),
      [&](Scalar, Scalar first, Scalar block, Scalar) { return first + wide(block) < to; },
      [&](Scalar pair, Scalar first, Scalar block, Scalar length) {
        // Read now, it is there when the next pair begins.
        const Scalar nextLength = lengthOf(a, min((pair + 1) / heads, cast(a.q.size[0], DType::I32) - 1));
        const DecodeRows rows(a, pair / heads, pair % heads, length);
        const KeyRange<Scalar>& keys = rows.keys();
        const Scalar blocks = blocksOf(keys, N), taken = min(blocks - block, cast(min(to - first - wide(block), 1 << 30), DType::I32));
        const Scalar stop = block + taken, offset = keys.first ? Scalar(*keys.first / N) : Scalar(block * 0);
        const Scalar begin = min((offset + block) * N, keys.end), end = min((offset + stop) * N, keys.end);
        const DecodeResult result = rows.over(begin, end, N, stop == blocks);
        if_(
            taken == blocks, [&] { rows.store(result); },
            [&] {
              parts.store(result, stop < blocks);
              const Ptr counter = counters + wide(pair);
              const Scalar before = atomic_add(counter, taken, MemoryOrder::AcquireRelease);
              if_(before + taken == blocks, [&] {
                // Block x is program ((x + 1) P - 1) / U's.
                const Scalar firstProgram = ((first + 1) * programs - 1) / all, last = ((first + wide(blocks)) * programs - 1) / all;
                rows.store(parts.merged(firstProgram, last));
                store(counter, 0);
              });
            });
        return carry(pair + 1, first + wide(blocks), block * 0, nextLength);
      });
}

Grid balancedGrid(const Parameters&, const TileConfig&, std::span<const std::int64_t> extents) { return {extents[3], 1, 1}; }

/// A block more on its way: while one program of a multiprocessor begins or ends a pair, the other one reads for it, too.
TileConfig balancedTile(const Parameters& parameters, const Machine& machine) {
  const TileConfig tile = decodeTemplate().tile(parameters, machine);
  return machine.isHost() || parameters.integer("page_size") > 0 ? tile : withDeeperRing(parameters, tile, machine);
}

}  // namespace

const KernelTemplate& balancedDecodeTemplate() {
  static const auto* what = [] {
    auto* made = new KernelTemplate(decodeTemplate());
    made->name = "attention_decode_balanced";
    made->extents = {"batch", "heads", "keys", "programs"};
    made->typical = {16, 8, 8192, 256};
    made->program = balancedProgram;
    made->grid = balancedGrid;
    made->tile = balancedTile;
    made->space = {};
    made->operands = {};
    return made;
  }();
  return *what;
}

}  // namespace fattn::kernels
