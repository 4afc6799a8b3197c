// SPDX-License-Identifier: Apache-2.0
// The door of the backward pass: checks, the workspace, and the launches of its templates.
#include "fattn/Backward.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/attention/AttentionBackward.h"
#include "kernels/attention/BackwardParts.h"
#include "kernels/attention/OperandChecks.h"

namespace fattn {

struct BackwardKernel::Impl {
  BackwardConfig config;
  TemplateKernel rows, keys;
  TemplateKernel dq;  ///< from keys, where it is deterministic, else from sums
};

namespace {

using namespace kernels;

/// Whether the blocks of rows consist of whole fragments, as NVIDIA's instructions leave results of 16-bit types (BackwardParts.h).
bool hasFragments(const BackwardConfig& config, const Machine& machine) {
  const auto fits = [](const std::optional<TileConfig>& tile) { return !tile || tile->block_m % backward::kFragmentRows == 0; };
  return machine.chip.starts_with("nvidia:") && sizeInBytes(config.dtype) == 2 && config.head_dim % backward::kFragmentRows == 0 &&
         fits(config.tile) && fits(config.tile_dq);
}

/// Whether dQ from a kernel of its own is faster than dQ from sums, so that who allows sums gets none (docs/backward.md has the figures).
/// On the host an atomic addition of f32 takes longer than computing scores again, and AMD's were not compared. In f32 products take so
/// long that NVIDIA's additions hide behind them. Sums of 16-bit types are worth it where an engine adds boxes, up to 128 columns: above,
/// blocks of keys are small, and each of them adds to all rows of dQ. Without Hopper's instructions they are worth it where a warp adds 128
/// bytes at once.
bool sumsAreSlower(const BackwardConfig& config) {
  if (namesHost(config.target)) return true;
  const Machine machine = machineOf(config.target);
  if (!machine.chip.starts_with("nvidia:")) return true;
  if (sizeInBytes(config.dtype) != 2) return false;
  const std::int64_t width = std::max(config.head_dim, config.head_dim_v);
  constexpr int kBoxAlignment = 16;
  if (machine.warp_groups) return config.alignment < kBoxAlignment || width > 128;
  const bool byLanes = hasFragments(config, machine) && backward::hasWholeFragments(config.head_dim);
  return !byLanes;
}

/// The order of the workspace (BackwardParts.h).
std::string workspaceOrder(const BackwardConfig& config) {
  const Machine machine = machineOf(config.target);
  if (!hasFragments(config, machine)) return "rows";
  if (machine.warp_groups) return "vectors";
  return config.deterministic ? "rows" : "lanes";
}

BackwardConfig completedBackward(BackwardConfig config) {
  config.target = resolveTarget(config.target);
  config.alignment = completedAlignment(config.target, config.dtype, config.alignment);
  if (config.head_dim_v == 0) config.head_dim_v = config.head_dim;
  if (!config.tile || namesHost(config.target)) config.deterministic |= sumsAreSlower(config);
  return config;
}

void requireTile(const char* member, const TileConfig& tile) {
  tile.validate();
  if (tile.block_k != 0)
    throw Error(ErrorCode::InvalidArgument, std::string(member) + ": BLOCK_K is no choice of the backward pass",
                "its choices are BLOCK_M, BLOCK_N, STAGES, WARPS, SCHEDULE");
}

/// The configuration with what was left open.
BackwardConfig legalBackward(const BackwardConfig& given) {
  requireTarget(given.target);
  requireAlignment(given.dtype, given.alignment);
  BackwardConfig config = completedBackward(given);
  if (config.tile) requireTile("tile", *config.tile);
  if (config.tile_dq) requireTile("tile_dq", *config.tile_dq);
  if (config.tile_dq && !config.deterministic)
    throw Error(ErrorCode::InvalidArgument, "tile_dq: only the deterministic mode has a kernel for dQ that it could be for",
                "set deterministic, or leave tile_dq out");
  if (config.tile && !config.deterministic && config.tile->block_m != 0 && kStatisticsRows % config.tile->block_m != 0)
    throw Error(ErrorCode::InvalidArgument,
                "tile: BLOCK_M is " + std::to_string(config.tile->block_m) + "; where the mode is not deterministic, it must divide 128");
  return config;
}

Parameters parametersOf(const BackwardConfig& config, bool hasCausal, bool hasSums) {
  Parameters parameters = {{"dtype", std::string(name(config.dtype))},
                           {"head_dim", config.head_dim},
                           {"head_dim_v", config.head_dim_v},
                           {"alignment", std::int64_t{config.alignment}},
                           {"order", workspaceOrder(config)}};
  if (hasCausal) parameters.set("causal", config.causal);
  if (hasSums) parameters.set("sums", !config.deterministic);
  return parameters;
}

/// Where the parts of the workspace lie.
struct Workspace {
  TensorView logs, deltas, sums;

  Workspace(const BackwardConfig& config, void* memory, std::int64_t batch, std::int64_t heads, std::int64_t queries) {
    const std::int64_t rows = statisticsRows(queries), count = batch * heads * rows, D = config.head_dim;
    const std::int64_t step = std::max(rows, kStatisticsRows);  // strides keep the promises of the programs without any row, too
    auto* start = static_cast<float*>(memory);
    const auto at = [&](std::int64_t offset) { return start == nullptr ? nullptr : start + offset; };
    logs = {at(0), DType::F32, {batch, heads, rows}, {heads * step, step, 1}};
    deltas = {at(count), DType::F32, {batch, heads, rows}, {heads * step, step, 1}};
    sums = {at(2 * count), DType::F32, {batch, heads, config.deterministic ? 0 : rows, D}, {heads * step * D, step * D, D, 1}};
  }
};

std::int64_t bytesOf(const BackwardConfig& config, const TensorView& q) {
  checkShape("q", q, 4);
  const std::int64_t perRow = 2 + (config.deterministic ? 0 : config.head_dim);
  return workspaceProduct({q.shape[0], q.shape[1], statisticsRows(q.shape[2]), perRow, sizeInBytes(DType::F32)});
}

void checkLikeQ(const BackwardArgs& args, const char* tensor, const TensorView& view) {
  for (int d = 0; d < 3; ++d) checkExtent(tensor, view, d, args.q.shape[d], " as in q");
}

/// Which tensors of the dtype there are.
struct Named {
  const char* name;
  const TensorView& view;
  std::int64_t width;
  bool ofKeys, isWritten;
};
std::array<Named, 8> tensorsOf(const BackwardConfig& config, const BackwardArgs& args) {
  const std::int64_t D = config.head_dim, Dv = config.head_dim_v;
  return {Named{"dq", args.dq, D, false, true}, {"dk", args.dk, D, true, true},       {"dv", args.dv, Dv, true, true},
          {"q", args.q, D, false, false},       {"k", args.k, D, true, false},        {"v", args.v, Dv, true, false},
          {"o", args.o, Dv, false, false},      {"dout", args.dout, Dv, false, false}};
}

void checkBackwardOperands(const BackwardConfig& config, const BackwardArgs& args) {
  for (const Named& one : tensorsOf(config, args)) {
    const std::int64_t bytes = checkView(one.name, one.view, config.dtype, 4, kDimensions, kOtherType);
    checkHeadDim(one.name, one.view, bytes, one.width);
  }
  checkExtent("k", args.k, 0, args.q.shape[0], " as in q");
  for (const Named& one : tensorsOf(config, args)) {
    if (!one.ofKeys)
      checkLikeQ(args, one.name, one.view);
    else
      for (int d = 0; d < 3; ++d) checkExtent(one.name, one.view, d, args.k.shape[d], " as in k");
    if (one.isWritten) checkDistinct(one.name, one.view);
    checkAligned(one.name, one.view, config.alignment);
  }
  checkGroups(args.q, args.k);
  checkView("lse", args.lse, DType::F32, 3);
  checkLikeQ(args, "lse", args.lse);
  if (!args.dlse) return;
  checkView("dlse", *args.dlse, DType::F32, 3);
  checkLikeQ(args, "dlse", *args.dlse);
}

void checkBackwardWorkspace(const BackwardArgs& args, std::int64_t needed) {
  const std::int64_t given = args.workspace == nullptr ? 0 : args.workspace_bytes;
  if (given < needed)
    failOperand("workspace", "it has " + std::to_string(given) + " bytes; this launch needs " + std::to_string(needed),
                "BackwardKernel::workspaceBytes() says how many a launch needs");
  checkWorkspaceAddress(args.workspace);
}

void checkBackwardApart(const BackwardConfig& config, const BackwardArgs& args, const TensorView& workspace) {
  std::array<Spanned, 11> all = {Spanned{"workspace", workspace, workspace.checkedBytes()},
                                 {"dq", args.dq, 0},
                                 {"dk", args.dk, 0},
                                 {"dv", args.dv, 0},
                                 {"q", args.q, 0},
                                 {"k", args.k, 0},
                                 {"v", args.v, 0},
                                 {"o", args.o, 0},
                                 {"dout", args.dout, 0},
                                 {"lse", args.lse, args.lse.checkedBytes()},
                                 {"dlse", args.dlse ? *args.dlse : workspace, args.dlse ? args.dlse->checkedBytes() : 0}};
  const std::array<Named, 8> tensors = tensorsOf(config, args);
  for (std::size_t i = 0; i < tensors.size(); ++i) all[i + 1].bytes = tensors[i].view.checkedBytes();
  checkAllApart(all, 4);
}

const BackwardKernel::Impl& requiredBackward(const std::shared_ptr<const BackwardKernel::Impl>& impl) {
  if (!impl) [[unlikely]]
    throw Error(ErrorCode::InvalidArgument, "this BackwardKernel is empty", "assign the result of fattn::compile to it");
  return *impl;
}

}  // namespace

void BackwardKernel::launch(Stream stream, const BackwardArgs& args) const {
  const Impl& kernel = requiredBackward(impl_);
  const BackwardConfig& config = kernel.config;
  checkBackwardOperands(config, args);
  const std::int64_t batch = args.q.shape[0], heads = args.q.shape[1], queries = args.q.shape[2], keys = args.k.shape[2];
  if (batch == 0 || heads == 0) return;
  const std::int64_t needed = bytesOf(config, args.q);
  checkBackwardWorkspace(args, needed);
  const TensorView whole(needed > 0 ? args.workspace : nullptr, DType::F32, {needed / sizeInBytes(DType::F32)});
  checkBackwardApart(config, args, whole);

  static const TensorView none(nullptr, DType::F32, {0, 0, 0});
  const Workspace own(config, whole.data, batch, heads, queries);
  const TensorView& dlse = args.dlse ? *args.dlse : none;
  const float scale = args.scale.value_or(1.0f / std::sqrt(static_cast<float>(config.head_dim)));
  const std::array<std::int64_t, 4> ofQueries = {batch, heads, queries, keys}, ofKeys = {batch, args.k.shape[1], queries, keys};
  // The last argument is there in one mode only.
  const std::size_t less = config.deterministic ? 1 : 0;
  const Argument ofRows[] = {{"o", args.o},
                             {"dout", args.dout},
                             {"lse", args.lse},
                             {"dlse", dlse},
                             {"logs", own.logs},
                             {"deltas", own.deltas},
                             {"has_dlse", args.dlse ? 1 : 0},
                             {"sums", own.sums}};
  const Argument both[] = {{"q", args.q},          {"k", args.k},   {"v", args.v},   {"dout", args.dout}, {"logs", own.logs},
                           {"deltas", own.deltas}, {"dk", args.dk}, {"dv", args.dv}, {"scale", scale},    {"sums", own.sums}};
  if (queries > 0) kernel.rows.launch(stream, ofQueries, std::span(ofRows).first(std::size(ofRows) - less));
  if (keys > 0) kernel.keys.launch(stream, ofKeys, std::span(both).first(std::size(both) - less));
  if (queries == 0) return;
  if (config.deterministic) {
    const Argument last[] = {{"q", args.q},      {"k", args.k},          {"v", args.v},   {"dout", args.dout},
                             {"logs", own.logs}, {"deltas", own.deltas}, {"dq", args.dq}, {"scale", scale}};
    kernel.dq.launch(stream, ofQueries, last);
  } else {
    const Argument last[] = {{"sums", own.sums}, {"dq", args.dq}, {"scale", scale}};
    kernel.dq.launch(stream, ofQueries, last);
  }
}

std::int64_t BackwardKernel::workspaceBytes(const BackwardArgs& args) const { return bytesOf(requiredBackward(impl_).config, args.q); }

const BackwardConfig& BackwardKernel::config() const { return requiredBackward(impl_).config; }
const KernelCode& BackwardKernel::info() const { return requiredBackward(impl_).keys.info(); }
const KernelCode& BackwardKernel::infoDq() const { return requiredBackward(impl_).dq.info(); }

BackwardKernel compile_backward(const BackwardConfig& given) {
  auto made = std::make_shared<BackwardKernel::Impl>();
  made->config = legalBackward(given);
  const BackwardConfig& config = made->config;
  made->keys = compile(backwardKeysTemplate(), parametersOf(config, true, true), {.target = config.target, .tile = config.tile});
  made->rows = compile(backwardRowsTemplate(), parametersOf(config, false, true), {.target = config.target});
  made->dq = config.deterministic
                 ? compile(backwardQueriesTemplate(), parametersOf(config, true, false), {.target = config.target, .tile = config.tile_dq})
                 : compile(backwardRoundTemplate(), parametersOf(config, false, false), {.target = config.target});
  return BackwardKernel(std::move(made));
}

std::expected<BackwardKernel, Error> try_compile_backward(const BackwardConfig& config) try {
  return compile_backward(config);
} catch (const Error& error) {
  return std::unexpected(error);
}

std::expected<void, Error> supports_backward(const BackwardConfig& config) try {
  backwardKeysTemplate().check(parametersOf(legalBackward(config), true, true));
  return {};
} catch (const Error& error) {
  return std::unexpected(error);
}

}  // namespace fattn
