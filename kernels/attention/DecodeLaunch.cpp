// SPDX-License-Identifier: Apache-2.0
// The launches of decode: one kernel, and where sequences are split a second one that merges their parts.
#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "fattn/Relaunch.h"
#include "kernels/attention/AttentionDecode.h"
#include "kernels/attention/DecodeKernel.h"
#include "kernels/attention/OperandChecks.h"
#include "kernels/attention/RecentLaunches.h"

namespace fattn {
namespace {

using namespace kernels;

/// Views of what a launch has beside its operands.
struct Scratch {
  TensorView workspace, counters;
  TensorView partO, partLse;  ///< in the workspace

  Scratch(const DecodeConfig& config, const DecodeArgs& args, const Division& division)
      : workspace(division.needed > 0 ? args.workspace : nullptr, DType::F32, {division.needed / sizeInBytes(DType::F32)}),
        counters(args.counters, DType::I32, {counterBytesOf(config, args) / sizeInBytes(DType::I32)}) {
    auto* memory = static_cast<float*>(workspace.data);
    auto behind = [&](const TensorView& view) { return memory == nullptr ? nullptr : static_cast<float*>(view.data) + view.elements(); };
    if (config.balanced) {
      partO = TensorView(memory, DType::F32, {2, division.count, config.rows, config.head_dim_v});
      partLse = TensorView(behind(partO), DType::F32, {2, division.count, config.rows});
      return;
    }
    const auto& [batch, heads, length, width] = std::tie(args.q.shape[0], args.q.shape[1], args.q.shape[2], config.head_dim_v);
    partO = TensorView(memory, DType::F32, {memory != nullptr ? division.count : 0, batch, heads, length, width});
    partLse = TensorView(behind(partO), DType::F32, {partO.shape[0], batch, heads, length});
  }
};

bool merges(const DecodeConfig& config, const Division& division) { return !config.balanced && division.count > 1; }

/// A recent launch. For operands of the same shapes the checks of shapes, the code and what the device has made of the arguments stay; only
/// addresses change.
class RecentDecode {
 public:
  bool isLike(std::uint64_t kernel, const DecodeArgs& args) const {
    return kernel == kernel_ && isMoved(args_.q, args.q) && isMoved(args_.k, args.k) && isMoved(args_.v, args.v) &&
           isMoved(args_.o, args.o) && isMoved(args_.lse, args.lse) && isMoved(args_.lengths, args.lengths) &&
           isMoved(args_.pages, args.pages) && isMoved(args_.new_k, args.new_k) && isMoved(args_.new_v, args.new_v) &&
           args_.keys == args.keys && args_.window == args.window && args_.scale == args.scale && args_.splits == args.splits &&
           isMovedAddress(args_.counters, args.counters) && args_.counter_bytes == args.counter_bytes &&
           isMovedAddress(args_.workspace, args.workspace) && args_.workspace_bytes == args.workspace_bytes;
  }
  /// For operands that are like those of before.
  void again(const DecodeKernel::Impl& own, Stream stream, const DecodeArgs& args) {
    const Scratch scratch(own.config, args, division_);
    const Addresses now = addressesOf(args, scratch);
    if (now != addresses_) checkDecodeApart(own.config, args, scratch.workspace, scratch.counters);
    kernel_ = 0;  // until all is launched
    if (!decode_.again(own.decode, changes(own.decodeSlots, now).list(), stream)) return launch(own, stream, args, scratch);
    if (merges(own.config, division_) && !merge_.again(own.merge, changes(own.mergeSlots, now).list(), stream))
      launchMerge(own, stream, args, scratch);
    if (now != addresses_) args_ = args, addresses_ = now;
    kernel_ = own.number;
  }
  void first(const DecodeKernel::Impl& own, Stream stream, const DecodeArgs& args) {
    kernel_ = 0;
    checkOperands(own.config, args);
    if (args.q.shape[0] == 0 || args.q.shape[1] == 0 || args.q.shape[2] == 0) return;
    division_ = divisionOf(own, args);
    checkMemory(own, args, division_);
    const Scratch scratch(own.config, args, division_);
    checkDecodeApart(own.config, args, scratch.workspace, scratch.counters);
    launch(own, stream, args, scratch);
  }

 private:
  using Addresses = std::array<const void*, kDecodePointers>;

  AddressChanges changes(const DecodeSlots& slots, const Addresses& now) const {
    AddressChanges changes;
    for (std::size_t i = 0; i < kDecodePointers; ++i)
      if (slots[i] >= 0) changes.compare(static_cast<std::size_t>(slots[i]), addresses_[i], now[i]);
    return changes;
  }

  /// In the order of DecodePointer.
  static Addresses addressesOf(const DecodeArgs& args, const Scratch& scratch) {
    const auto of = [](const std::optional<TensorView>& view) -> const void* { return view ? view->data : nullptr; };
    return {args.q.data,        args.k.data,          args.v.data,    args.o.data,    of(args.lse),   of(args.lengths),
            scratch.partO.data, scratch.partLse.data, of(args.pages), of(args.new_k), of(args.new_v), scratch.counters.data};
  }

  void launch(const DecodeKernel::Impl& own, Stream stream, const DecodeArgs& args, const Scratch& scratch) {
    kernel_ = 0;
    launchDecode(own, stream, args, scratch);
    if (merges(own.config, division_)) launchMerge(own, stream, args, scratch);
    args_ = args, addresses_ = addressesOf(args, scratch), kernel_ = own.number;
  }
  void launchDecode(const DecodeKernel::Impl& own, Stream stream, const DecodeArgs& args, const Scratch& scratch);
  void launchMerge(const DecodeKernel::Impl& own, Stream stream, const DecodeArgs& args, const Scratch& scratch);

  std::uint64_t kernel_ = 0;  ///< none
  DecodeArgs args_{};
  Division division_{};
  Addresses addresses_{};
  TemplateRelaunch decode_, merge_;
};

const TensorView& lseOf(const DecodeArgs& args) {
  static const TensorView none(nullptr, DType::F32, {0, 0, 0});
  return args.lse ? *args.lse : none;
}

void RecentDecode::launchDecode(const DecodeKernel::Impl& own, Stream stream, const DecodeArgs& args, const Scratch& scratch) {
  static const TensorView noLengths(nullptr, DType::I32, {0});
  const DecodeConfig& config = own.config;
  const Argument firm = {"write_lse", args.lse ? 1 : 0};
  std::array<Argument, 17> arguments = {Argument("q", args.q),
                                        {"k", args.k},
                                        {"v", args.v},
                                        {"o", args.o},
                                        {"lse", lseOf(args)},
                                        {"lengths", args.lengths ? *args.lengths : noLengths},
                                        {"part_o", scratch.partO},
                                        {"part_lse", scratch.partLse},
                                        {"scale", args.scale.value_or(1.0f / std::sqrt(static_cast<float>(config.head_dim)))},
                                        {"has_lengths", args.lengths ? 1 : 0},
                                        firm,
                                        firm,
                                        firm,
                                        firm,
                                        firm,
                                        firm,
                                        firm};
  std::size_t count = 11;
  if (args.pages) arguments[count++] = Argument("pages", *args.pages);
  if (config.append) arguments[count++] = Argument("new_k", *args.new_k), arguments[count++] = Argument("new_v", *args.new_v);
  if (config.window) arguments[count++] = Argument("window", std::min(args.window, kWidestWindow));
  if (config.balanced) arguments[count++] = Argument("counters", scratch.counters);
  const std::array<std::int64_t, 4> extents = {args.q.shape[0], args.k.shape[1], cachedKeys(config, args), division_.count};
  decode_.launch(own.decode, stream, extents, std::span<const Argument>(arguments).first(count));
}

void RecentDecode::launchMerge(const DecodeKernel::Impl& own, Stream stream, const DecodeArgs& args, const Scratch& scratch) {
  const std::array<std::int64_t, 4> extents = {args.q.shape[0], args.q.shape[1], args.q.shape[2], division_.count};
  const Argument arguments[] = {
      {"part_o", scratch.partO}, {"part_lse", scratch.partLse}, {"o", args.o}, {"lse", lseOf(args)}, {"write_lse", args.lse ? 1 : 0}};
  merge_.launch(own.merge, stream, extents, arguments);
}

}  // namespace

kernels::DecodeSlots kernels::pointerSlotsOf(const TemplateKernel& kernel) {
  constexpr std::array<std::string_view, kDecodePointers> kNames = {"q",      "k",        "v",     "o",     "lse",   "lengths",
                                                                    "part_o", "part_lse", "pages", "new_k", "new_v", "counters"};
  DecodeSlots slots;
  for (std::size_t i = 0; i < kDecodePointers; ++i) {
    const auto found = std::ranges::find(kernel.args(), kNames[i], &dsl::Param::name);
    slots[i] = found == kernel.args().end() ? -1 : static_cast<int>(found - kernel.args().begin());
  }
  return slots;
}

void DecodeKernel::launch(Stream stream, const DecodeArgs& args) const {
  const Impl& own = required(impl_);
  auto& recent = recentLaunch<RecentDecode>(args.k.data);
  if (recent.isLike(own.number, args)) return recent.again(own, stream, args);
  recent.first(own, stream, args);
}

}  // namespace fattn
