// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/DecodeCache.h"

namespace fattn::kernels {

using namespace dsl;

Ptr DecodeCache::headOf(const Scalar& block) const {
  return tensor.base + (cast(block, DType::I64) * tensor.stride[0] + cast(head, DType::I64) * tensor.stride[1]);
}

Ptr DecodeCache::table() const { return pages->base + cast(batch, DType::I64) * pages->stride[0]; }

Tile DecodeCache::window(const Ptr& base, const std::optional<Scalar>& lower, const Scalar& upper, const Scalar& start,
                         std::int64_t count) const {
  if (!lower)
    return load(make_block_ptr(base, {cast(upper, DType::I64), elements}, {tensor.stride[2], 1}, {start, 0}, {count, elements}), {0});
  const Ptr there = base + cast(*lower, DType::I64) * tensor.stride[2];
  return load(
      make_block_ptr(there, {cast(upper - *lower, DType::I64), elements}, {tensor.stride[2], 1}, {start - *lower, 0}, {count, elements}),
      {0});
}

Tile DecodeCache::addresses(const Tile& keys, const Tile& inside) const {
  const Tile wide = cast(keys, DType::I64), ofHead = cast(head, DType::I64) * tensor.stride[1] + zeros(keys.shape(), DType::I64);
  if (!pages)
    return tensor.base + (expand(cast(batch, DType::I64) * tensor.stride[0] + wide * tensor.stride[2] + ofHead, 1) +
                          expand(cast(arange(0, elements), DType::I64), 0));
  const Tile page = cast(load(table() + keys / pageSize, inside, 0), DType::I64), row = cast(keys % pageSize, DType::I64);
  return tensor.base +
         (expand(page * tensor.stride[0] + row * tensor.stride[2] + ofHead, 1) + expand(cast(arange(0, elements), DType::I64), 0));
}

std::int64_t windowRows(std::int64_t pageSize, std::int64_t N) {
  constexpr std::int64_t kFewRows = 16;
  return pageSize >= kFewRows && N % pageSize == 0 ? pageSize : N;
}

Tile DecodeCache::rows(const Scalar& key, const Scalar& end, std::int64_t count) const {
  if (!pages) return window(headOf(batch), first, end, key, count);
  if (pageSize % count == 0) {  // all of them are on one page
    // A block of several pages may begin before the first row that is read, and end behind the last one.
    const Scalar wanted = first ? (key < end) & (key + count > *first) : key < end;
    const Scalar page = load(table() + key / pageSize, wanted, 0), start = key % pageSize;
    const std::optional<Scalar> lower = first ? std::optional(max(*first - key, 0) + start) : std::nullopt;
    return window(headOf(page), lower, end - key + start, start, count);
  }
  const Tile keys = arange(0, count) + key, inside = first ? (keys < end) & (keys >= *first) : keys < end;
  return load(addresses(keys, inside), broadcast(expand(inside, 1), {count, elements}), 0);
}

void DecodeCache::write(const Tile& block, const Scalar& from, const Scalar& count) const {
  const std::int64_t rows = block.dim(0);
  if (!pages) {
    store(make_block_ptr(headOf(batch) + cast(from, DType::I64) * tensor.stride[2], {cast(count, DType::I64), elements},
                         {tensor.stride[2], 1}, {0, 0}, {rows, elements}),
          block, {0});
    return;
  }
  const Tile row = arange(0, rows), inside = row < count;
  store(addresses(row + from, inside), block, broadcast(expand(inside, 1), {rows, elements}));
}

Tile AppendedRows::block(const Scalar& start, std::int64_t rows) const {
  const Scalar there = cast(tensor.size[2], DType::I32) - count;
  const Ptr base = tensor.base + (cast(batch, DType::I64) * tensor.stride[0] + cast(head, DType::I64) * tensor.stride[1] +
                                  cast(there, DType::I64) * tensor.stride[2]);
  return load(make_block_ptr(base, {cast(count, DType::I64), elements}, {tensor.stride[2], 1}, {start, 0}, {rows, elements}), {0});
}

}  // namespace fattn::kernels
