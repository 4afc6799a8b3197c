// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/BackwardLaunch.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/attention/AttentionBackward.h"
#include "kernels/attention/OperandChecks.h"

namespace fattn::kernels::backward {
namespace {

/// Where the parts of the workspace lie. `rows`: of the statistics of one head.
struct Workspace {
  TensorView logs, deltas, sums;

  Workspace(const BackwardConfig& config, void* memory, std::int64_t batch, std::int64_t heads, std::int64_t rows) {
    const std::int64_t count = batch * heads * rows, D = config.head_dim;
    const std::int64_t step = std::max(rows, kStatisticsRows);  // strides keep the promises of the programs without any row, too
    auto* start = static_cast<float*>(memory);
    const auto at = [&](std::int64_t offset) { return start == nullptr ? nullptr : start + offset; };
    logs = {at(0), DType::F32, {batch, heads, rows}, {heads * step, step, 1}};
    deltas = {at(count), DType::F32, {batch, heads, rows}, {heads * step, step, 1}};
    sums = {at(2 * count), DType::F32, {batch, heads, config.deterministic ? 0 : rows, D}, {heads * step * D, step * D, D, 1}};
  }
};

void checkWorkspace(const BackwardArgs& args, std::int64_t needed, bool isPacked) {
  const std::int64_t given = args.workspace == nullptr ? 0 : args.workspace_bytes;
  if (given < needed)
    failOperand(
        "workspace", "it has " + std::to_string(given) + " bytes; this launch needs " + std::to_string(needed),
        std::string("BackwardKernel::") + (isPacked ? "workspaceBytesPacked" : "workspaceBytes") + "() says how many a launch needs");
  checkWorkspaceAddress(args.workspace);
}

void checkBackwardApart(const BackwardConfig& config, const BackwardArgs& args, const TensorView& workspace,
                        const std::optional<Sequences>& packed) {
  const auto spanned = [](const char* name, const TensorView& view) { return Spanned{name, view, view.checkedBytes()}; };
  const auto [dq, dk, dv, q, k, v, o, dout] = tensorsOf(config, args);
  const auto of = [&](const Named& one) { return spanned(one.name, one.view); };
  const Spanned none{"workspace", workspace, 0};
  const std::array all = {spanned("workspace", workspace),
                          of(dq),
                          of(dk),
                          of(dv),
                          of(q),
                          of(k),
                          of(v),
                          of(o),
                          of(dout),
                          spanned("lse", args.lse),
                          args.dlse ? spanned("dlse", *args.dlse) : none,
                          packed ? spanned("cu_q", packed->cuQ) : none,
                          packed ? spanned("cu_k", packed->cuK) : none};
  checkAllApart(all, 4);
}

}  // namespace

const BackwardKernel::Impl& required(const std::shared_ptr<const BackwardKernel::Impl>& impl) {
  if (!impl) [[unlikely]]
    throw Error(ErrorCode::InvalidArgument, "this BackwardKernel is empty", "assign the result of fattn::compile to it");
  return *impl;
}

const BackwardKernel::Impl& required(const std::shared_ptr<const BackwardKernel::Impl>& impl, bool packed) {
  const BackwardKernel::Impl& kernel = required(impl);
  if (kernel.config.packed != packed) [[unlikely]]
    throw Error(ErrorCode::InvalidArgument,
                packed ? "this BackwardKernel is not for packed sequences" : "this BackwardKernel is for packed sequences",
                packed ? "compile one with `packed`" : "give it to launchPacked(), or compile one without `packed`");
  return kernel;
}

std::int64_t workspaceBytesOf(const BackwardConfig& config, std::int64_t batch, std::int64_t heads, std::int64_t rows) {
  const std::int64_t perRow = 2 + (config.deterministic ? 0 : config.head_dim);
  return workspaceProduct({batch, heads, rows, perRow, sizeInBytes(DType::F32)});
}

void launchAll(const BackwardKernel::Impl& kernel, Stream stream, const BackwardArgs& args, const std::optional<Sequences>& packed) {
  const BackwardConfig& config = kernel.config;
  const std::int64_t heads = args.q.shape[1];
  const std::int64_t rows = packed ? packedStatisticsRows(args.q.shape[2], packed->count) : statisticsRows(args.q.shape[2]);
  const std::int64_t needed = workspaceBytesOf(config, args.q.shape[0], heads, rows);
  checkWorkspace(args, needed, packed.has_value());
  const TensorView whole(needed > 0 ? args.workspace : nullptr, DType::F32, {needed / sizeInBytes(DType::F32)});
  checkBackwardApart(config, args, whole, packed);

  static const TensorView none(nullptr, DType::F32, {0, 0, 0}), noNumbers(nullptr, DType::I32, {0});
  const Sequences in = packed.value_or(Sequences{noNumbers, noNumbers, args.q.shape[0], args.q.shape[2], args.k.shape[2]});
  const Workspace own(config, whole.data, args.q.shape[0], heads, rows);
  const TensorView& dlse = args.dlse ? *args.dlse : none;
  const float scale = args.scale.value_or(1.0f / std::sqrt(static_cast<float>(config.head_dim)));
  const std::array<std::int64_t, 4> ofQueries = {in.count, heads, in.mostQ, in.mostK},
                                    ofKeys = {in.count, args.k.shape[1], in.mostQ, in.mostK};
  // Arrays begin with what only packed batches have, and end with what only one mode has.
  const auto given = [&](std::span<const Argument> all, std::size_t ofPacked) { return packed ? all : all.subspan(ofPacked); };
  const auto withSums = [&](std::span<const Argument> all) { return config.deterministic ? all.first(all.size() - 1) : all; };
  const Argument ofRows[] = {{"cu_q", in.cuQ},    {"most_q", in.mostQ},   {"o", args.o},
                             {"dout", args.dout}, {"lse", args.lse},      {"dlse", dlse},
                             {"logs", own.logs},  {"deltas", own.deltas}, {"has_dlse", args.dlse ? 1 : 0},
                             {"sums", own.sums}};
  const Argument both[] = {{"cu_q", in.cuQ}, {"cu_k", in.cuK}, {"most_q", in.mostQ}, {"most_k", in.mostK}, {"q", args.q},
                           {"k", args.k},    {"v", args.v},    {"dout", args.dout},  {"logs", own.logs},   {"deltas", own.deltas},
                           {"dk", args.dk},  {"dv", args.dv},  {"scale", scale},     {"sums", own.sums}};
  if (in.mostQ > 0) kernel.rows.launch(stream, ofQueries, withSums(given(ofRows, 2)));
  if (in.mostK > 0) kernel.keys.launch(stream, ofKeys, withSums(given(both, 4)));
  if (in.mostQ == 0) return;
  if (config.deterministic) {
    const Argument last[] = {{"cu_q", in.cuQ},   {"cu_k", in.cuK},       {"most_q", in.mostQ}, {"most_k", in.mostK},
                             {"q", args.q},      {"k", args.k},          {"v", args.v},        {"dout", args.dout},
                             {"logs", own.logs}, {"deltas", own.deltas}, {"dq", args.dq},      {"scale", scale}};
    kernel.dq.launch(stream, ofQueries, given(last, 4));
  } else {
    const Argument last[] = {{"cu_q", in.cuQ}, {"most_q", in.mostQ}, {"sums", own.sums}, {"dq", args.dq}, {"scale", scale}};
    kernel.dq.launch(stream, ofQueries, given(last, 2));
  }
}

}  // namespace fattn::kernels::backward
