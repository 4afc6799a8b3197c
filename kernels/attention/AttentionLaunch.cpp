// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/AttentionLaunch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "kernels/attention/OperandChecks.h"

namespace fattn::kernels {
namespace {

constexpr const char* kApart = "give it memory of its own; o may also be exactly q: the same pointer and strides";

/// A launch has an extent for each; with a mask one for the heads of all batch entries (ProgramOrder.h).
void requireGrid(const ForwardKind& kind, const AttentionArgs& args, const LaunchLimits& limits) {
  const std::int64_t batch = args.q.shape[0], heads = args.q.shape[1], blocks = (args.q.shape[2] + limits.block - 1) / limits.block;
  const auto& [x, y, z] = limits.grid;
  const auto fail = [&](const std::string& most, std::int64_t mostBlocks) {
    failOperand("q", args.q.toString() + " is too large for one launch; this device takes up to " + most + " and " +
                         std::to_string(mostBlocks * limits.block) + " rows");
  };
  if (kind.causal) {
    if (blocks > y || (heads > 0 && batch > x / heads)) fail(std::to_string(x) + " heads of all batch entries", y);
  } else if (blocks > x || heads > y || batch > z) {
    fail(std::to_string(z) + " batch entries, " + std::to_string(y) + " heads", x);
  }
}

/// All checks of operands but those for shared memory.
OperandBytes checkShapes(const ForwardKind& kind, const AttentionArgs& args) {
  const auto& [q, k, v, o, lse, scale] = args;
  OperandBytes bytes{.q = checkView("q", q, kind.dtype, 4, kDimensions, kOtherType),
                     .k = checkView("k", k, kind.dtype, 4, kDimensions, kOtherType),
                     .v = checkView("v", v, kind.dtype, 4, kDimensions, kOtherType),
                     .o = checkView("o", o, kind.dtype, 4, kDimensions, kOtherType),
                     .lse = 0};
  checkHeadDim("q", q, bytes.q, kind.head_dim);
  checkHeadDim("k", k, bytes.k, kind.head_dim);
  checkHeadDim("v", v, bytes.v, kind.head_dim_v);
  checkHeadDim("o", o, bytes.o, kind.head_dim_v);
  checkExtent("k", k, 0, q.shape[0], " as in q");
  checkExtent("v", v, 0, q.shape[0], " as in q");
  checkExtent("v", v, 1, k.shape[1], " as in k");
  checkExtent("v", v, 2, k.shape[2], " as in k");
  for (int d = 0; d < 3; ++d) checkExtent("o", o, d, q.shape[d], " as in q");
  if (k.shape[1] == 0 ? q.shape[1] != 0 : q.shape[1] % k.shape[1] != 0)
    failOperand("q", dimensionText(kDimensions, 1) + " is " + std::to_string(q.shape[1]) + "; it must be a multiple of the " +
                         std::to_string(k.shape[1]) + " heads of k and v");
  checkDistinct("o", o);
  if (!lse) return bytes;
  bytes.lse = checkView("lse", *lse, DType::F32, 3);
  for (int d = 0; d < 3; ++d) checkExtent("lse", *lse, d, q.shape[d], " as in q");
  checkDistinct("lse", *lse);
  return bytes;
}

}  // namespace

void checkApart(const AttentionArgs& args, const OperandBytes& bytes) {
  const auto& [q, k, v, o, lse, scale] = args;
  checkApart({"o", o, bytes.o}, {"k", k, bytes.k}, kApart);
  checkApart({"o", o, bytes.o}, {"v", v, bytes.v}, kApart);
  // Where o is exactly q, each program writes the rows that only it has read.
  if (o.data != q.data || !haveSameRows(o, q)) checkApart({"o", o, bytes.o}, {"q", q, bytes.q}, kApart);
  if (!lse) return;
  checkApart({"lse", *lse, bytes.lse}, {"q", q, bytes.q}, kApart);
  checkApart({"lse", *lse, bytes.lse}, {"k", k, bytes.k}, kApart);
  checkApart({"lse", *lse, bytes.lse}, {"v", v, bytes.v}, kApart);
  checkApart({"lse", *lse, bytes.lse}, {"o", o, bytes.o}, kApart);
}

OperandBytes checkOperands(const ForwardKind& kind, const AttentionArgs& args) {
  const OperandBytes bytes = checkShapes(kind, args);
  checkApart(args, bytes);
  return bytes;
}

AttentionSlots::AttentionSlots(std::span<const dsl::Param> declared, DType dtype) {
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

AttentionLaunch packAttention(const ForwardKind& kind, const AttentionSlots& slots, const AttentionArgs& args, const LaunchLimits& limits) {
  AttentionLaunch launch;
  launch.bytes = checkOperands(kind, args);
  const std::int64_t batch = args.q.shape[0], heads = args.q.shape[1], rows = args.q.shape[2], keys = args.k.shape[2];
  requireGrid(kind, args, limits);
  launch.extents = {rows, keys, static_cast<std::int64_t>(static_cast<std::uint64_t>(batch) * static_cast<std::uint64_t>(heads)), batch};
  auto put = [&](std::size_t slot, std::int64_t value) { launch.slots[slot] = static_cast<std::uint64_t>(value); };
  // A row is where the head dimension lies side by side: its width stands for the stride of a single one.
  auto operand = [&](const AttentionSlots::Operand& at, const TensorView& view, std::int64_t width) {
    launch.slots[at.base] = reinterpret_cast<std::uint64_t>(view.data);
    put(at.batch, view.shape[0] > 1 ? view.strides[0] : 0);
    put(at.head, view.shape[1] > 1 ? view.strides[1] : 0);
    put(at.row, view.shape[2] > 1 ? view.strides[2] : width);
  };
  static const TensorView none;
  operand(slots.q, args.q, kind.head_dim), operand(slots.k, args.k, kind.head_dim);
  operand(slots.v, args.v, kind.head_dim_v), operand(slots.o, args.o, kind.head_dim_v);
  operand(slots.lse, args.lse ? *args.lse : none, 1);
  put(slots.heads, heads);
  put(slots.group, heads == 0 ? 1 : heads / args.k.shape[1]);
  put(slots.seqQ, rows);
  put(slots.seqK, keys);
  put(slots.scale, std::bit_cast<std::uint32_t>(args.scale.value_or(1.0f / std::sqrt(static_cast<float>(kind.head_dim)))));
  put(slots.writeLse, args.lse ? 1 : 0);
  return launch;
}

}  // namespace fattn::kernels
