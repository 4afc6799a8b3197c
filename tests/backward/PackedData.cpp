// SPDX-License-Identifier: Apache-2.0
#include "tests/backward/PackedData.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tools/io/Convert.h"

namespace fattn::backward {
namespace {

constexpr float kUnwritten = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kApart = 64;

std::size_t count(std::int64_t number) { return static_cast<std::size_t>(number); }

std::vector<std::int32_t> begins(const std::vector<std::int32_t>& lengths, std::int64_t spare) {
  std::vector<std::int32_t> all = {static_cast<std::int32_t>(spare)};
  for (const std::int32_t length : lengths) all.push_back(all.back() + length);
  return all;
}

std::int64_t rowBytes(const TensorView& view) { return view.shape[1] * (view.rank == 3 ? view.shape[2] : 1) * sizeInBytes(view.dtype); }

}  // namespace

PackedData::PackedData(const PackedShape& shape)
    : shape_(shape), cuQ_(begins(shape.queries, shape.spare)), cuK_(begins(shape.keys, shape.spare)) {
  const auto& [type, H, Hk, D, Dv, queries, keys, causal, hasDlse, spare, unowned] = shape_;
  for (std::size_t b = 0; b < queries.size(); ++b)
    sequences_.emplace_back(BackwardShape{.dtype = type,
                                          .headsQ = H,
                                          .headsKv = Hk,
                                          .queries = queries[b],
                                          .keys = keys[b],
                                          .dim = D,
                                          .dimV = Dv,
                                          .causal = causal,
                                          .hasDlse = hasDlse,
                                          .rowsFirst = true},
                            b + 1);
  place(kQ, &BackwardViews::q, H, D), place(kK, &BackwardViews::k, Hk, D), place(kV, &BackwardViews::v, Hk, Dv);
  place(kO, &BackwardViews::o, H, Dv), place(kDout, &BackwardViews::dout, H, Dv), place(kLse, &BackwardViews::lse, H, 0);
  if (hasDlse) place(kDlse, &BackwardViews::dlse, H, 0);
  place(kDq, &BackwardViews::dq, H, D), place(kDk, &BackwardViews::dk, Hk, D), place(kDv, &BackwardViews::dv, Hk, Dv);
  for (const auto& [numbers, at] : {std::pair(&cuQ_, &cuQAt_), std::pair(&cuK_, &cuKAt_)}) {
    *at = reserve(numbers->size() * sizeof(std::int32_t));
    std::memcpy(memory_.data() + *at, numbers->data(), numbers->size() * sizeof(std::int32_t));
  }
  const std::int64_t rows = cuQ_.back() + spare + 128 * static_cast<std::int64_t>(queries.size());
  workspaceBytes_ = H * rows * (2 + D) * static_cast<std::int64_t>(sizeof(float));
  workspace_ = reserve(count(workspaceBytes_));
  std::fill_n(reinterpret_cast<float*>(memory_.data() + workspace_), count(workspaceBytes_) / sizeof(float), kUnwritten);
}

std::size_t PackedData::reserve(std::size_t bytes) {
  const std::size_t offset = (memory_.size() + kApart - 1) / kApart * kApart;
  memory_.resize(offset + bytes);
  return offset;
}

void PackedData::place(Which which, const TensorView BackwardViews::* member, std::int64_t heads, std::int64_t width) {
  Tensor& tensor = tensors_[which];
  tensor.ofKeys = which == kK || which == kV || which == kDk || which == kDv;
  const bool isResult = which == kDq || which == kDk || which == kDv;
  const std::int64_t rows = (tensor.ofKeys ? cuK_ : cuQ_).back() + shape_.spare;
  tensor.view = width == 0 ? TensorView(nullptr, DType::F32, {rows, heads}) : TensorView(nullptr, shape_.dtype, {rows, heads, width});
  tensor.offset = reserve(count(rows * rowBytes(tensor.view)));
  const std::vector<float> values(count(tensor.view.elements()), isResult ? kUnwritten : shape_.unowned);
  io::fromFloat(tensor.view.dtype, values.data(), memory_.data() + tensor.offset, values.size());
  for (std::size_t b = 0; b < sequences_.size(); ++b) {
    const TensorView from = sequences_[b].here().*member;
    if (from.elements() > 0) std::memcpy(memory_.data() + begin(tensor, b), from.data, count(from.elements() * sizeInBytes(from.dtype)));
  }
}

std::size_t PackedData::begin(const Tensor& tensor, std::size_t sequence) const {
  return tensor.offset + count((tensor.ofKeys ? cuK_ : cuQ_)[sequence] * rowBytes(tensor.view));
}

BackwardConfig PackedData::config(const std::string& target, bool deterministic) const {
  return {.dtype = shape_.dtype,
          .head_dim = shape_.dim,
          .head_dim_v = shape_.dimV,
          .causal = shape_.causal,
          .deterministic = deterministic,
          .packed = true,
          .target = target,
          // Told a tile, GPUs add dQ up also where that is the slower mode.
          .tile = deterministic ? std::nullopt : std::optional(TileConfig{})};
}

PackedBackwardArgs PackedData::at(std::byte* base) const {
  const auto there = [&](Which which) {
    TensorView view = tensors_[which].view;
    if (view.elements() > 0) view.data = base + tensors_[which].offset;
    return view;
  };
  const auto numbers = static_cast<std::int64_t>(cuQ_.size());
  PackedBackwardArgs args{.q = there(kQ),
                          .k = there(kK),
                          .v = there(kV),
                          .o = there(kO),
                          .lse = there(kLse),
                          .dout = there(kDout),
                          .dq = there(kDq),
                          .dk = there(kDk),
                          .dv = there(kDv),
                          .cu_q = {base + cuQAt_, DType::I32, {numbers}},
                          .cu_k = {base + cuKAt_, DType::I32, {numbers}},
                          .workspace = base + workspace_,
                          .workspace_bytes = workspaceBytes_};
  if (shape_.hasDlse) args.dlse = there(kDlse);
  return args;
}

std::string PackedData::untouched(const Tensor& tensor, const char* name) const {
  std::vector<float> values(count(tensor.view.elements()));
  io::toFloat(tensor.view.dtype, memory_.data() + tensor.offset, values.data(), values.size());
  const std::int64_t row = tensor.view.shape[1] * tensor.view.shape[2], first = shape_.spare, last = tensor.view.shape[0] - shape_.spare;
  for (std::int64_t i = 0; i < tensor.view.elements(); ++i)
    if ((i / row < first || i / row >= last) && !std::isnan(values[count(i)]))
      return std::string(name) + ": row " + std::to_string(i / row) + " belongs to no sequence and was written";
  return "";
}

std::string PackedData::verdictOf(std::size_t sequence) {
  const BackwardViews to = sequences_[sequence].here();
  for (const auto& [which, view] : {std::pair(kDq, &to.dq), std::pair(kDk, &to.dk), std::pair(kDv, &to.dv)})
    if (view->elements() > 0)
      std::memcpy(view->data, memory_.data() + begin(tensors_[which], sequence), count(view->elements() * sizeInBytes(view->dtype)));
  return sequences_[sequence].verdict();
}

std::string PackedData::verdict() {
  for (std::size_t b = 0; b < sequences_.size(); ++b)
    if (const std::string wrong = verdictOf(b); !wrong.empty()) return "sequence " + std::to_string(b) + ": " + wrong;
  for (const auto& [which, name] : {std::pair(kDq, "dq"), std::pair(kDk, "dk"), std::pair(kDv, "dv")})
    if (const std::string wrong = untouched(tensors_[which], name); !wrong.empty()) return wrong;
  return "";
}

}  // namespace fattn::backward
