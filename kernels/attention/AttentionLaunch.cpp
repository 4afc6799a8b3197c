// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/AttentionLaunch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "kernels/core/Overlap.h"
#include "kernels/core/SlotTable.h"

namespace fattn::kernels {
namespace {

constexpr std::array<const char*, 4> kDimensions = {"batch", "heads", "length", "head_dim"};

[[noreturn]] void fail(const char* tensor, const std::string& constraint, std::string hint = "") {
  throw Error(ErrorCode::InvalidArgument, std::string(tensor) + ": " + constraint, std::move(hint));
}

std::string dimension(int d) { return std::string(kDimensions[d]) + " (dimension " + std::to_string(d) + ")"; }

// Everything that concerns one tensor alone. Returns the bytes it spans.
std::int64_t checkView(const char* tensor, const TensorView& view, DType dtype, int rank) {
  if (view.rank != rank)
    fail(tensor, "rank is " + std::to_string(view.rank) + "; it must be " + std::to_string(rank) +
                     (rank == 4 ? ": batch, heads, length, head_dim" : ": batch, heads, length"));
  if (view.dtype != dtype)
    fail(tensor, "dtype is " + std::string(name(view.dtype)) + "; it must be " + std::string(name(dtype)),
         rank == 4 ? "compile a kernel for the dtype of the tensors" : "");
  bool negative = false;
  for (int d = 0; d < rank; ++d) {
    if (view.shape[d] < 0 || view.shape[d] > INT32_MAX)
      fail(tensor, dimension(d) + " is " + std::to_string(view.shape[d]) + "; legal extents are 0 to 2147483647");
    negative |= view.shape[d] > 1 && view.strides[d] < 0;
  }
  std::int64_t bytes = view.checkedBytes();
  if (bytes < 0) fail(tensor, view.toString() + " spans more bytes than 63 bits count");
  if (bytes == 0) return 0;  // its strides are nobody's: those of NumPy's empty arrays are 0
  for (int d = 0; negative && d < rank; ++d)
    if (view.shape[d] > 1 && view.strides[d] < 0)
      fail(tensor, "the stride of " + dimension(d) + " is " + std::to_string(view.strides[d]) + "; strides must not be negative");
  if (view.data == nullptr) fail(tensor, "the data pointer is null, but the shape holds " + std::to_string(view.elements()) + " elements");
  if (reinterpret_cast<std::uintptr_t>(view.data) % static_cast<std::uintptr_t>(sizeInBytes(dtype)) != 0)
    fail(tensor,
         "the data pointer is not a multiple of " + std::to_string(sizeInBytes(dtype)) + " bytes, the size of " + std::string(name(dtype)));
  return bytes;
}

void checkExtent(const char* tensor, const TensorView& view, int d, std::int64_t expected, const std::string& because) {
  if (view.shape[d] != expected)
    fail(tensor, dimension(d) + " is " + std::to_string(view.shape[d]) + "; it must be " + std::to_string(expected) + because);
}

void checkHeadDim(const char* tensor, const TensorView& view, std::int64_t bytes, std::int64_t expected) {
  if (view.shape[3] != expected)
    fail(tensor, dimension(3) + " is " + std::to_string(view.shape[3]) + "; this kernel was compiled for " + std::to_string(expected));
  if (bytes != 0 && view.shape[3] > 1 && view.strides[3] != 1)
    fail(tensor, "the stride of " + dimension(3) + " is " + std::to_string(view.strides[3]) + "; it must be 1",
         "the other strides are free; copy the tensor so that the elements of a row lie side by side");
}

// Programs write rows in no particular order, so rows must not share memory. Sorted by stride, every dimension has to step over
// all that the ones before it cover.
void checkDistinct(const char* tensor, const TensorView& view) {
  std::array<std::pair<std::int64_t, std::int64_t>, TensorView::kMaxRank> steps;  // stride, extent
  std::size_t count = 0;
  for (int d = 0; d < view.rank; ++d) {
    if (view.shape[d] == 0) return;
    if (view.shape[d] <= 1) continue;
    std::size_t at = count++;
    for (; at > 0 && steps[at - 1].first > view.strides[d]; --at) steps[at] = steps[at - 1];
    steps[at] = {view.strides[d], view.shape[d]};
  }
  std::int64_t covered = 1;
  for (std::size_t i = 0; i < count; ++i) {
    auto [stride, extent] = steps[i];
    if (stride < covered)
      fail(tensor, view.toString() + " holds elements that overlap in memory; the elements of an output must be distinct");
    covered += stride * (extent - 1);  // no overflow: below checkedBytes()
  }
}

struct Operand {
  const char* name;
  const TensorView& view;
  std::int64_t bytes;
};

void failIfShared(const Operand& written, const Operand& read) {
  if (shareMemory(written.view, written.bytes, read.view, read.bytes))
    fail(written.name, std::string("it shares memory with ") + read.name + ", and launches read and write in no particular order",
         "give it memory of its own; o may also be exactly q: the same pointer and strides");
}

// Programs read and write at the same time.
inline void checkApart(const Operand& written, const Operand& read) {
  if (!areApart(written.view, written.bytes, read.view, read.bytes)) [[unlikely]]
    failIfShared(written, read);
}

}  // namespace

void checkOperands(const AttentionConfig& config, const AttentionArgs& args) {
  const auto& [q, k, v, o, lse, scale] = args;
  const std::int64_t qBytes = checkView("q", q, config.dtype, 4), kBytes = checkView("k", k, config.dtype, 4),
                     vBytes = checkView("v", v, config.dtype, 4), oBytes = checkView("o", o, config.dtype, 4);
  checkHeadDim("q", q, qBytes, config.head_dim);
  checkHeadDim("k", k, kBytes, config.head_dim);
  checkHeadDim("v", v, vBytes, config.head_dim_v);
  checkHeadDim("o", o, oBytes, config.head_dim_v);
  checkExtent("k", k, 0, q.shape[0], " as in q");
  checkExtent("v", v, 0, q.shape[0], " as in q");
  checkExtent("v", v, 1, k.shape[1], " as in k");
  checkExtent("v", v, 2, k.shape[2], " as in k");
  for (int d = 0; d < 3; ++d) checkExtent("o", o, d, q.shape[d], " as in q");
  if (k.shape[1] == 0 ? q.shape[1] != 0 : q.shape[1] % k.shape[1] != 0)
    fail("q", dimension(1) + " is " + std::to_string(q.shape[1]) + "; it must be a multiple of the " + std::to_string(k.shape[1]) +
                  " heads of k and v");
  checkDistinct("o", o);
  checkApart({"o", o, oBytes}, {"k", k, kBytes});
  checkApart({"o", o, oBytes}, {"v", v, vBytes});
  // Where o is exactly q, each program writes the rows that only it has read.
  if (o.data != q.data || !haveSameRows(o, q)) checkApart({"o", o, oBytes}, {"q", q, qBytes});
  if (!lse) return;
  const std::int64_t lseBytes = checkView("lse", *lse, DType::F32, 3);
  for (int d = 0; d < 3; ++d) checkExtent("lse", *lse, d, q.shape[d], " as in q");
  checkDistinct("lse", *lse);
  checkApart({"lse", *lse, lseBytes}, {"q", q, qBytes});
  checkApart({"lse", *lse, lseBytes}, {"k", k, kBytes});
  checkApart({"lse", *lse, lseBytes}, {"v", v, vBytes});
  checkApart({"lse", *lse, lseBytes}, {"o", o, oBytes});
}

namespace {

// The bits that a data pointer and the strides in use, in bytes, have set.
std::uint64_t addressBits(const TensorView& view) {
  std::uint64_t bits = reinterpret_cast<std::uint64_t>(view.data);
  for (int d = 0; d < 3; ++d)
    if (view.shape[d] > 1) bits |= static_cast<std::uint64_t>(view.strides[d] * sizeInBytes(view.dtype));
  return bits;
}

}  // namespace

AttentionSlots::AttentionSlots(std::span<const compiler::ArgInfo> declared, DType dtype) {
  SlotTable table(declared);
  auto operand = [&](const std::string& name, DType type) {
    auto stride = [&](const char* of) { return table.scalar(name + of, DType::I64); };
    return Operand{.base = table.pointer(name, type), .batch = stride("_batch"), .head = stride("_head"), .row = stride("_row")};
  };
  q = operand("q", dtype), k = operand("k", dtype), v = operand("v", dtype), o = operand("o", dtype);
  lse = operand("lse", DType::F32);
  heads = table.scalar("heads", DType::I32), group = table.scalar("group", DType::I32);
  seqQ = table.scalar("seq_q", DType::I32), seqK = table.scalar("seq_k", DType::I32);
  scale = table.scalar("scale", DType::F32), writeLse = table.scalar("write_lse", DType::I32);
  table.requireAllTaken();
  count = table.size();
  if (count > kMost) throw Error(ErrorCode::Internal, "attention has more arguments than its launch has room for");
}

AttentionLaunch packAttention(const AttentionConfig& config, const AttentionSlots& slots, const AttentionArgs& args,
                              const std::array<std::int64_t, 3>& maxGrid) {
  checkOperands(config, args);
  const std::int64_t batch = args.q.shape[0], heads = args.q.shape[1], rows = args.q.shape[2];
  const std::int64_t block = config.tile->block_m;
  AttentionLaunch launch;
  launch.grid = {(rows + block - 1) / block, heads, batch};
  if (launch.grid.x > maxGrid[0] || heads > maxGrid[1] || batch > maxGrid[2])
    fail("q", args.q.toString() + " is too large for one launch; this device takes up to " + std::to_string(maxGrid[2]) +
                  " batch entries, " + std::to_string(maxGrid[1]) + " heads and " + std::to_string(maxGrid[0] * block) + " rows");

  std::uint64_t bits = addressBits(args.q) | addressBits(args.k) | addressBits(args.v) | addressBits(args.o);
  launch.aligned = (bits & static_cast<std::uint64_t>(config.alignment - 1)) == 0;

  auto put = [&](std::size_t slot, std::int64_t value) { launch.slots[slot] = static_cast<std::uint64_t>(value); };
  auto operand = [&](const AttentionSlots::Operand& at, const TensorView& view) {
    launch.slots[at.base] = reinterpret_cast<std::uint64_t>(view.data);
    put(at.batch, view.strides[0]), put(at.head, view.strides[1]), put(at.row, view.strides[2]);
  };
  static const TensorView none;
  operand(slots.q, args.q), operand(slots.k, args.k), operand(slots.v, args.v), operand(slots.o, args.o);
  operand(slots.lse, args.lse ? *args.lse : none);
  put(slots.heads, heads);
  put(slots.group, heads == 0 ? 1 : heads / args.k.shape[1]);
  put(slots.seqQ, rows);
  put(slots.seqK, args.k.shape[2]);
  put(slots.scale, std::bit_cast<std::uint32_t>(args.scale.value_or(1.0f / std::sqrt(static_cast<float>(config.head_dim)))));
  put(slots.writeLse, args.lse ? 1 : 0);
  return launch;
}

}  // namespace fattn::kernels
