// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/BackwardParts.h"

#include <algorithm>
#include <bit>

#include "kernels/attention/PackedSequences.h"

namespace fattn::kernels::backward {

using namespace dsl;

Operands::Operands(Params& args, const Parameters& parameters)
    : args_(args), type_(parameters.dtype("dtype")), alignment_(parameters.integer("alignment")) {}

TensorArg Operands::wide(const char* name) { return args_.tensor(name, type_, 4, {.alignment = alignment_, .aliasing = Aliasing::None}); }

TensorArg Operands::strided(const char* name) {
  return args_.tensor(name, DType::F32, 3, {.alignment = sizeInBytes(DType::F32), .rows = false, .aliasing = Aliasing::None});
}

TensorArg Operands::own(const char* name, int rank) {
  return args_.tensor(name, DType::F32, rank, {.alignment = kWorkspaceAlignment, .aliasing = Aliasing::None});
}

Head Head::alone() const {
  Head head = *this;
  if (head.among) head.among->readsOn = false;
  return head;
}

Ptr Head::base() const {
  const Ptr start = tensor.base + (cast(batch, DType::I64) * tensor.stride[0] + cast(head, DType::I64) * tensor.stride[1]);
  return among && !among->readsOn ? start + cast(among->first, DType::I64) * tensor.stride[2] : start;
}

Scalar Head::firstRead(const Scalar& row) const { return among && among->readsOn ? among->first + row : row; }

Scalar Head::length() const { return among && !among->readsOn ? cast(among->count, DType::I64) : tensor.size[2]; }

BlockPtr Head::rows(const Scalar& row, std::int64_t count, std::int64_t width) const {
  return make_block_ptr(base(), {length(), width}, {tensor.stride[2], 1}, {firstRead(row), 0}, {count, width});
}

BlockPtr Head::numbers(const Scalar& row, std::int64_t count) const {
  return make_block_ptr(base(), {length()}, {tensor.stride[2]}, {firstRead(row)}, {count});
}

BlockPtr Head::line(std::int64_t count) const {
  const BlockPtr all = make_block_ptr(base(), {1, length()}, {tensor.stride[1], 1}, {0, 0}, {1, count});
  return among && among->readsOn ? advance(all, {0, among->first}) : all;
}

bool isPacked(const Parameters& parameters) { return parameters.all().contains("boxes"); }

Packing::Packing(Params& args, const Parameters& parameters, bool hasKeys) {
  if (!backward::isPacked(parameters)) return;
  boxes_ = parameters.flag("boxes");
  const TensorForm plain{.alignment = sizeInBytes(DType::I32), .rows = false, .aliasing = Aliasing::None};
  cuQ_ = args.tensor("cu_q", DType::I32, 1, plain);
  if (hasKeys) cuK_ = args.tensor("cu_k", DType::I32, 1, plain);
  mostQ_ = args.scalar("most_q", DType::I32);
  if (hasKeys) mostK_ = args.scalar("most_k", DType::I32);
}

// Sequence b has the statistics rows from (first + 128 b) / 128 * 128 on, and as many as it has rows, rounded up: it ends where the next
// one begins, or before, as that begins at most (length + 128) / 128 times 128 rows later.
Entry Packing::entry(const Scalar& batch, const Scalar& queries, const Scalar& keys) const {
  if (!isPacked()) return {batch, cast(queries, DType::I32), cast(keys, DType::I32)};
  constexpr auto kBlock = static_cast<std::int32_t>(kStatisticsRows);
  const Sequence ofQueries = packedSequence(*cuQ_, queries, batch);
  const Scalar count = min(ofQueries.length, *mostQ_);
  Entry entry{batch * 0, count, count};
  entry.amongQueries = Among{ofQueries.first, count, boxes_};
  entry.amongStatistics = Among{(ofQueries.first + batch * kBlock) / kBlock * kBlock, (count + (kBlock - 1)) / kBlock * kBlock, true};
  if (!cuK_) return entry;
  const Sequence ofKeys = packedSequence(*cuK_, keys, batch);
  entry.keys = min(ofKeys.length, *mostK_);
  entry.amongKeys = Among{ofKeys.first, entry.keys, boxes_};
  return entry;
}

// A fragment has 16 rows and 8 columns. Lane 4 g + t holds rows g and g + 8 of columns 2 t and 2 t + 1 (PTX ISA, "Matrix fragments for
// mma.m16n8k16", accumulators; those of wgmma are the same side by side). So with row = 16 b + 8 h + g and column = 8 c + 2 t + e the order
// of vectors is b, c, g, t, h, e, and that of lanes b, c, h, e, g, t. Windows have lines of 32 numbers: of 8 lanes, or of a register.
namespace {
constexpr std::int64_t kFragmentColumns = 8, kHalf = 8, kQuad = 4, kPair = 2, kLine = 32;

std::int64_t countOf(const Tile& tile) {
  std::int64_t count = 1;
  for (const std::int64_t size : tile.shape()) count *= size;
  return count;
}
}  // namespace

bool hasWholeFragments(std::int64_t width) { return width >= kFragmentRows && std::has_single_bit(static_cast<std::uint64_t>(width)); }

WorkspaceOrder::WorkspaceOrder(const Parameters& parameters) {
  const std::string& order = parameters.text("order");
  if (order != "rows" && order != "vectors" && order != "lanes")
    throw Error(ErrorCode::Unsupported, "order is " + order + "; it must be rows, vectors or lanes");
  kind_ = order == "rows" ? Kind::Rows : order == "vectors" ? Kind::Vectors : Kind::Lanes;
}

BlockPtr WorkspaceOrder::sums(const Head& head, std::int64_t count, std::int64_t width) const {
  // Rows lie side by side, so that the addresses of a block are constants beside one that moves.
  const Scalar& rows = head.tensor.size[2];
  const BlockPtr all = hasFragments(width)
                           ? make_block_ptr(head.base(), {firstRow(rows, width), kLine}, {kLine, 1}, {0, 0}, {count * width / kLine, kLine})
                           : make_block_ptr(head.base(), {rows, width}, {width, 1}, {0, 0}, {count, width});
  return head.among ? advance(all, {firstRow(head.among->first, width), 0}) : all;
}

Scalar WorkspaceOrder::firstRow(const Scalar& row, std::int64_t width) const {
  if (!hasFragments(width)) return row;
  return row / static_cast<std::int32_t>(kFragmentRows) * static_cast<std::int32_t>(kFragmentRows * width / kLine);
}

Tile WorkspaceOrder::stored(const Tile& sums) const {
  if (!hasFragments(sums.dim(1))) return sums;
  const std::int64_t count = sums.dim(0), width = sums.dim(1);
  const Tile digits = reshape(sums, {count / kFragmentRows, kPair, kHalf, width / kFragmentColumns, kQuad, kPair});
  const Tile ordered = kind_ == Kind::Vectors ? trans(digits, {0, 3, 2, 4, 1, 5}) : trans(digits, {0, 3, 1, 5, 2, 4});
  return reshape(ordered, {count * width / kLine, kLine});
}

Tile WorkspaceOrder::loaded(const Tile& window, std::int64_t count, std::int64_t width) const {
  if (!hasFragments(width)) return window;
  const std::int64_t blocks = count / kFragmentRows, columns = width / kFragmentColumns;
  const Tile digits = kind_ == Kind::Vectors ? trans(reshape(window, {blocks, columns, kHalf, kQuad, kPair, kPair}), {0, 4, 2, 1, 3, 5})
                                             : trans(reshape(window, {blocks, columns, kPair, kPair, kHalf, kQuad}), {0, 2, 4, 1, 5, 3});
  return reshape(digits, {count, width});
}

Tile WorkspaceOrder::storedNumbers(const Tile& numbers) const {
  if (!hasFragments()) return numbers;
  const std::int64_t blocks = countOf(numbers) / kFragmentRows;
  return reshape(trans(reshape(numbers, {blocks, kPair, kQuad, kPair}), {0, 2, 1, 3}), numbers.shape());
}

Tile WorkspaceOrder::loadedNumbers(const Tile& numbers) const {
  if (!hasFragments()) return numbers;
  const std::int64_t blocks = countOf(numbers) / kFragmentRows;
  return reshape(trans(reshape(numbers, {blocks, kQuad, kPair, kPair}), {0, 2, 1, 3}), numbers.shape());
}

Dims statisticsCheck(std::int64_t count) { return kStatisticsRows % count == 0 ? Dims{} : Dims{0}; }

Tile probabilities(const Tile& scores, const Scalar& scale, const Tile& logs, const Tile* visible) {
  const Tile exponents = fma(scores, scale, -logs);
  return exp2(visible != nullptr ? where(*visible, exponents, -infinity) : exponents);
}

void check(const Parameters& parameters) {
  const DType type = parameters.dtype("dtype");
  if (type != DType::F32 && type != DType::F16 && type != DType::BF16)
    throw Error(ErrorCode::Unsupported, "dtype is " + std::string(name(type)) + "; it must be f32, f16 or bf16");
  for (const char* of : {"head_dim", "head_dim_v"}) {
    const std::int64_t width = parameters.integer(of);
    if (width < 8 || width > 256 || width % 8 != 0)
      throw Error(ErrorCode::Unsupported, std::string(of) + " is " + std::to_string(width) + "; it must be a multiple of 8 from 8 to 256");
  }
}

Parameters parameters() {
  return {{"dtype", std::string("f16")},
          {"head_dim", std::int64_t{128}},
          {"head_dim_v", std::int64_t{128}},
          {"alignment", std::int64_t{16}},
          {"order", std::string("rows")}};
}

KernelTemplate packed(const KernelTemplate& dense, const char* name) {
  KernelTemplate made = dense;
  made.name = name;
  made.parameters.set("boxes", false);
  made.space = {}, made.operands = {};
  return made;
}

std::int64_t ringBytes(const Parameters& parameters, std::int64_t kept, std::int64_t step, std::int32_t stages) {
  const std::int64_t width = parameters.integer("head_dim") + parameters.integer("head_dim_v");
  return ((kept + step * std::max(stages, 1)) * width + 2 * kept * step) * sizeInBytes(parameters.dtype("dtype"));
}

}  // namespace fattn::kernels::backward
