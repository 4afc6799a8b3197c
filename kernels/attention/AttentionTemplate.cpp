// SPDX-License-Identifier: Apache-2.0
// Attention forward as a template: what is worth trying, what it is called, what its compilations tell.
#include "kernels/attention/AttentionTemplate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

#include "fattn/Handles.h"
#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionSpace.h"
#include "kernels/attention/ProgramOrder.h"

namespace fattn {
namespace {

struct Callback {
  ForkSafeMutex mutex;
  std::shared_ptr<const std::function<void(const CompileProgress&)>> function;
};
constinit Undestroyed<Callback> callback;  // objects that outlive main may compile

void reportForward(const TemplateProgress& progress) {
  std::unique_lock lock(callback.value.mutex);
  auto held = callback.value.function;
  lock.unlock();
  if (!held || !*held) return;
  const AttentionConfig config = kernels::configOf(kernels::kindOf(progress.parameters), progress.target, progress.tile);
  (*held)({.config = config, .done = progress.done, .ms = progress.ms});
}

}  // namespace

void setCompileCallback(std::function<void(const CompileProgress&)> function) {
  auto held = std::make_shared<const std::function<void(const CompileProgress&)>>(std::move(function));
  std::lock_guard lock(callback.value.mutex);
  callback.value.function = std::move(held);
}

namespace kernels {
namespace {

enum Extent : std::uint8_t { SeqQ, SeqK, Heads, Batch };

Grid forwardGrid(const Parameters& parameters, const TileConfig& tile, std::span<const std::int64_t> extents) {
  const std::int64_t batch = extents[Batch];
  const BlockCounts counts = {(extents[SeqQ] + tile.block_m - 1) / tile.block_m, batch == 0 ? 0 : extents[Heads] / batch, batch};
  return parameters.flag("causal") ? unevenGrid(counts) : evenGrid(counts);
}

std::optional<Parameters> relaxedForward(const Parameters& parameters) {
  ForwardKind kind = kindOf(parameters);
  kind.alignment = static_cast<std::int32_t>(sizeInBytes(kind.dtype));
  return parametersOf(kind);
}

// The names that folders of tuned configurations and dumps have had since before there were templates.
TemplateNames forwardNames(const Parameters& parameters) {
  const ForwardKind kind = kindOf(parameters);
  const std::string type(name(kind.dtype)), dim = "-d" + std::to_string(kind.head_dim), dimV = "-v" + std::to_string(kind.head_dim_v),
                                            causal = kind.causal ? "-causal" : "";
  return {.text = textOf(kind),
          .tuned = "attention_forward-" + type + dim + dimV + causal,
          .folder = "attention-" + type + dim + (kind.head_dim_v != kind.head_dim ? dimV : "") + causal};
}

// A caller who tells no lengths is taken for one whose queries are about as many as the keys.
bool forwardHasSay(std::span<const std::int64_t> told, std::span<const std::int64_t> tuned) {
  constexpr int kNear = 2;  // doublings
  if (told[SeqQ] > 0) return true;
  const auto log2 = [](std::int64_t extent) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(extent) - 1)); };
  return tuned[SeqQ] > 0 && tuned[SeqK] > 0 && std::abs(log2(tuned[SeqQ]) - log2(tuned[SeqK])) <= kNear;
}

std::vector<Operand> forwardOperands(const Parameters& parameters, std::span<const std::int64_t> extents) {
  const ForwardKind kind = kindOf(parameters);
  const std::int64_t batch = std::max<std::int64_t>(extents[Batch], 1), heads = std::max<std::int64_t>(extents[Heads] / batch, 1);
  struct Rows {
    const char* name;
    std::int64_t rows, width;
    bool written = false;
  };
  const Rows all[] = {{"q", extents[SeqQ], kind.head_dim},
                      {"k", extents[SeqK], kind.head_dim},
                      {"v", extents[SeqK], kind.head_dim_v},
                      {"o", extents[SeqQ], kind.head_dim_v, true}};
  std::vector<Operand> operands, strides;
  for (const auto& [name, rows, width, written] : all) {
    const std::vector<std::int64_t> shape = {batch * heads, rows, width};
    operands.push_back(written ? Operand::output(name, kind.dtype, shape) : Operand::input(name, kind.dtype, shape));
    std::int64_t ofBatch = 0;
    if (__builtin_mul_overflow(heads, rows * width, &ofBatch))
      throw Error(ErrorCode::OutOfMemory, "operands of the shape to tune would not fit into any memory");
    strides.push_back(Operand::integer(std::string(name) + "_batch", ofBatch));
    strides.push_back(Operand::integer(std::string(name) + "_head", rows * width));
    strides.push_back(Operand::integer(std::string(name) + "_row", width));
  }
  operands.push_back(Operand::input("lse", DType::F32, {1}));  // nothing is written to it
  for (const char* stride : {"lse_batch", "lse_head", "lse_row"}) strides.push_back(Operand::integer(stride, 0));
  std::ranges::move(strides, std::back_inserter(operands));
  operands.push_back(Operand::integer("heads", heads));
  operands.push_back(Operand::integer("group", 1));
  operands.push_back(Operand::integer("seq_q", extents[SeqQ]));
  operands.push_back(Operand::integer("seq_k", extents[SeqK]));
  operands.push_back(Operand::number("scale", 1.0f / std::sqrt(static_cast<float>(kind.head_dim))));
  operands.push_back(Operand::integer("write_lse", 0));
  return operands;
}

KernelTemplate madeForward() {
  KernelTemplate made{.name = "attention_forward",
                      .parameters = parametersOf({.dtype = DType::F16, .head_dim = 128}),
                      .extents = {"seq_q", "seq_k", "heads"},
                      .typical = {2048, 2048, 32, 1},
                      .more = {"batch"},
                      .unique = true};
  made.program = [](dsl::Params& params, const Parameters& parameters, const TileConfig& tile) {
    forwardProgram(params, kindOf(parameters), tile);
  };
  made.grid = forwardGrid;
  made.tile = [](const Parameters& parameters, const Machine& machine) { return defaultTile(kindOf(parameters), machine); };
  made.tileFor = [](const Parameters& parameters, const Machine& machine, std::span<const std::int64_t> extents) {
    const ForwardKind kind = kindOf(parameters);
    return defaultTile(kind, machine, kind.causal, extents[SeqQ]);
  };
  made.complete = [](const Parameters& parameters, const Machine& machine) { return parametersOf(complete(kindOf(parameters), machine)); };
  made.check = [](const Parameters& parameters) { requireKind(kindOf(parameters)); };
  made.checkTile = [](const Parameters&, const TileConfig& tile) { requireChoices(tile); };
  made.relaxed = relaxedForward;
  made.space = [](const Parameters& parameters, const Machine& machine) { return attentionSpace(kindOf(parameters), machine); };
  made.misfit = [](const Parameters& parameters, const TileConfig& tile, const Machine& machine, std::span<const std::int64_t> extents) {
    return attentionMisfit(kindOf(parameters), tile, machine, {.q = extents[SeqQ], .k = extents[SeqK]});
  };
  made.operands = forwardOperands;
  made.hasSay = forwardHasSay;
  made.names = forwardNames;
  made.progress = reportForward;
  return made;
}

}  // namespace

const KernelTemplate& forwardTemplate() {
  static const auto* what = new KernelTemplate(madeForward());
  return *what;
}

AskedOfTemplate askedOf(const AttentionConfig& config) {
  requireShape(config.shape);
  const auto told = extentsOf(config);
  return {.parameters = parametersOf(askedKind(config)),
          .how = {.target = config.target, .tile = config.tile, .extents = {told.begin(), told.end()}}};
}

std::array<std::int64_t, 4> extentsOf(const AttentionConfig& config) {
  const ShapeHint shape = config.shape.value_or(ShapeHint{});
  const std::int64_t heads = std::min<std::int64_t>(std::max<std::int64_t>(shape.batch, 1) * shape.heads, INT32_MAX);
  return {shape.seq_q, shape.seq_k > 0 ? shape.seq_k : shape.seq_q, heads, shape.batch};
}

}  // namespace kernels
}  // namespace fattn
