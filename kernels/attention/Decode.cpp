// SPDX-License-Identifier: Apache-2.0
// The door of decode: checks, and the number of splits.
#include "fattn/Decode.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "kernels/attention/AttentionDecode.h"
#include "kernels/attention/DecodeKernel.h"
#include "kernels/attention/OperandChecks.h"
#include "kernels/attention/RecentLaunches.h"

namespace fattn {

namespace {

using namespace kernels;

constexpr DimensionNames kPaged = {"pages", "heads", "page_size", "head_dim"}, kTable = {"batch", "pages"};
constexpr std::int64_t kFewestKeys = 256;  // of a program: fewer are read faster than their result is merged
constexpr std::int64_t kMostSplits = 1024;
constexpr std::int64_t kRounds = 2;  // of programs that a device holds at once, where lengths may differ (docs/decode.md)

DecodeConfig completed(DecodeConfig config) {
  config.target = resolveTarget(config.target);
  config.alignment = completedAlignment(config.target, config.dtype, config.alignment);
  if (config.head_dim_v == 0) config.head_dim_v = config.head_dim;
  return config;
}

void requireLegal(const DecodeConfig& config) {
  requireTarget(config.target);
  requireAlignment(config.dtype, config.alignment);
  if (config.tile && (config.tile->block_m != 0 || config.tile->block_k != 0))
    throw Error(ErrorCode::InvalidArgument, "tile configuration: BLOCK_M and BLOCK_K are no choices of decode",
                "its choices are BLOCK_N, STAGES, WARPS, SCHEDULE; `rows` says how many rows a program has");
}

Parameters decodeParameters(const DecodeConfig& config) {
  return {{"dtype", std::string(name(config.dtype))},
          {"head_dim", config.head_dim},
          {"head_dim_v", config.head_dim_v},
          {"rows", config.rows},
          {"causal", config.causal},
          {"page_size", config.page_size},
          {"window", config.window},
          {"append", config.append},
          {"settled", config.settled_cache},
          {"alignment", std::int64_t{config.alignment}}};
}

std::int64_t ceilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Programs that fill a device. On the host a few for each thread, which end at different times, and so on devices that do not say how many
/// they hold.
std::int64_t slotsOf(const DecodeKernel::Impl& kernel) {
  if (kernel.device == nullptr)
    throw Error(ErrorCode::NoDevice, kernel.config.target + " names a chip: how many programs fill a device is not known without one",
                "compile for a device, such as cuda");
  constexpr std::int64_t kUsual = 2;
  const std::int64_t resident = kernel.decode.info().resident;
  return (resident > 0 ? resident : kUsual) * kernel.device->capabilities().multiprocessors;
}

/// Whether so many programs keep a device's memory busy, of which each has one of its multiprocessors. The second kernel takes 2 to 3 us:
/// more splits would have to save as much. (One H200, 16 sequences of 8192 keys, 128 programs for 132 multiprocessors: 119 us, and 126
/// with two splits.)
bool fillsAlone(const DecodeKernel::Impl& kernel, std::int64_t programs) {
  constexpr std::int64_t kBytesOnTheirWay = 64 << 10, kMostIdle = 10;  // of a multiprocessor; one in so many
  const TileConfig& tile = kernel.decode.info().tile;
  // A block on a page of its own waits for the page's number; another program reads meanwhile.
  if (kernel.config.page_size > 0 && kernel.config.page_size <= tile.block_n) return false;
  const std::int64_t multiprocessors = kernel.device->capabilities().multiprocessors;
  const std::int64_t ring =
      std::int64_t{tile.stages} * tile.block_n * (kernel.config.head_dim + kernel.config.head_dim_v) * sizeInBytes(kernel.config.dtype);
  return ring >= kBytesOnTheirWay && programs >= ceilDiv(multiprocessors * (kMostIdle - 1), kMostIdle);
}

/// The most keys that the rows of a sequence see.
std::int64_t mostKeys(const DecodeConfig& config, const DecodeArgs& args) {
  std::int64_t most = cachedKeys(config, args);
  if (config.window) most = std::min(most, args.q.shape[2] + std::clamp<std::int64_t>(args.window, 0, kWidestWindow));
  return std::clamp<std::int64_t>(args.keys.value_or(most), 0, most);
}

std::int64_t splitsOf(const DecodeKernel::Impl& kernel, const DecodeArgs& args) {
  if (args.splits < 0 || args.splits > kMostSplits)
    throw Error(ErrorCode::InvalidArgument, "splits is " + std::to_string(args.splits) + "; it must be 1 to " +
                                                std::to_string(kMostSplits) + ", or 0 for as many as fill the device");
  checkShape("q", args.q, 4);
  if (args.splits > 0) return args.splits;
  checkShape("k", args.k, 4, kernel.config.page_size > 0 ? kPaged : kDimensions);
  if (args.pages) checkShape("pages", *args.pages, 2, kTable);
  const std::int64_t programs = args.q.shape[0] * args.k.shape[1];
  if (programs <= 0) return 1;
  // Lengths that are told may differ, and nobody knows them here: short programs of several rounds end at about one time.
  const bool mayDiffer = args.lengths && args.q.shape[0] > 1 && !namesHost(kernel.config.target);
  const std::int64_t wanted = slotsOf(kernel) * (mayDiffer ? kRounds : 1) / programs;
  if (!mayDiffer && fillsAlone(kernel, programs)) return 1;
  const std::int64_t keys = mostKeys(kernel.config, args), fewest = mayDiffer ? 2 * kFewestKeys : kFewestKeys;
  const std::int64_t splits = std::clamp<std::int64_t>(std::min(wanted, keys / fewest), 1, kMostSplits);
  // Shares are whole blocks: with no more programs than get one, where the longest sequence has so many keys.
  const std::int64_t blocks = ceilDiv(keys, std::max(kernel.decode.info().tile.block_n, 1));
  return blocks == 0 ? 1 : ceilDiv(blocks, ceilDiv(blocks, splits));
}

/// Programs of a balanced launch. Where all sequences are equally long, shares end with a sequence's head as often as can be: then fewer
/// parts are merged.
std::int64_t programsOf(const DecodeKernel::Impl& kernel, const DecodeArgs& args) {
  const std::int64_t pairs = args.q.shape[0] * args.k.shape[1];
  if (args.splits > 0) return pairs * splitsOf(kernel, args);
  const std::int64_t slots = slotsOf(kernel);
  if (pairs > slots) return ceilDiv(pairs, ceilDiv(pairs, slots));
  return pairs * std::clamp<std::int64_t>(mostKeys(kernel.config, args) / kFewestKeys, 1, std::max<std::int64_t>(slots / pairs, 1));
}

/// Of one row of one part: its o and its lse.
std::int64_t partBytes(const DecodeConfig& config) { return (config.head_dim_v + 1) * sizeInBytes(DType::F32); }

/// Of each program of a balanced launch: its two parts.
std::int64_t programBytes(const DecodeConfig& config) { return 2 * config.rows * partBytes(config); }

std::int64_t workspaceFor(const DecodeConfig& config, const DecodeArgs& args, std::int64_t splits) {
  return splits == 1 ? 0 : workspaceProduct({splits, args.q.shape[0], args.q.shape[1], args.q.shape[2], partBytes(config)});
}

void checkCache(const DecodeConfig& config, const DecodeArgs& args, std::int64_t kBytes, std::int64_t vBytes) {
  const bool paged = config.page_size > 0;
  const DimensionNames& names = paged ? kPaged : kDimensions;
  checkHeadDim("k", args.k, kBytes, config.head_dim);
  checkHeadDim("v", args.v, vBytes, config.head_dim_v);
  if (!paged) checkExtent("k", args.k, 0, args.q.shape[0], " as in q");
  if (paged) checkExtent("k", args.k, 2, config.page_size, ", the page_size that this kernel was compiled for", names);
  for (int d = 0; d < 3; ++d) checkExtent("v", args.v, d, args.k.shape[d], " as in k", names);
  const std::int64_t heads = args.q.shape[1], kvHeads = args.k.shape[1], queries = args.q.shape[2];
  checkGroups(args.q, args.k);
  if (kvHeads > 0 && heads / kvHeads * queries > config.rows)
    failOperand("q",
                std::to_string(heads / kvHeads) + " query heads of a key head with " + std::to_string(queries) + " rows each are " +
                    std::to_string(heads / kvHeads * queries) + " rows; this kernel was compiled for up to " + std::to_string(config.rows),
                config.rows < 16 ? "compile with more rows, up to 16; beyond that there is AttentionConfig" : "use AttentionConfig");
}

/// The tensors of device data; returns nothing that spans memory beside what was checked.
void checkData(const DecodeConfig& config, const DecodeArgs& args) {
  const std::int64_t batch = args.q.shape[0];
  if (args.lengths) {
    checkView("lengths", *args.lengths, DType::I32, 1, kTable);
    checkExtent("lengths", *args.lengths, 0, batch, " as in q", kTable);
  }
  if (args.pages.has_value() != (config.page_size > 0))
    failOperand("pages",
                config.page_size > 0 ? "this kernel was compiled for caches of pages, and needs their numbers"
                                     : "this kernel was compiled for caches without pages",
                "compile with the page_size of the cache; 0 = without pages");
  if (!args.pages) return;
  const std::int64_t bytes = checkView("pages", *args.pages, DType::I32, 2, kTable);
  checkExtent("pages", *args.pages, 0, batch, " as in q", kTable);
  if (bytes > 0 && args.pages->shape[1] > 1 && args.pages->strides[1] != 1)
    failOperand("pages", "the stride of " + dimensionText(kTable, 1) + " is " + std::to_string(args.pages->strides[1]) + "; it must be 1");
  if (args.pages->shape[1] * config.page_size > INT32_MAX)
    failOperand("pages", std::to_string(args.pages->shape[1]) + " pages of " + std::to_string(config.page_size) +
                             " keys are more than 2147483647 keys");
}

/// The rows that a launch appends, and the window.
void checkChoices(const DecodeConfig& config, const DecodeArgs& args) {
  for (const auto& [tensor, view, cache] :
       {std::tuple<const char*, const std::optional<TensorView>&, const TensorView&>{"new_k", args.new_k, args.k},
        {"new_v", args.new_v, args.v}}) {
    if (view.has_value() != config.append)
      failOperand(tensor,
                  config.append ? "this kernel was compiled to append rows, and needs them" : "this kernel was compiled without `append`",
                  "compile with append = true to append rows, with false to append none");
    if (!view) continue;
    const std::int64_t bytes = checkView(tensor, *view, config.dtype, 4, kDimensions, kOtherType);
    checkHeadDim(tensor, *view, bytes, cache.shape[3]);
    checkExtent(tensor, *view, 0, args.q.shape[0], " as in q");
    checkExtent(tensor, *view, 1, cache.shape[1], " as in k");
    checkAligned(tensor, *view, config.alignment);
  }
  if (config.append) {
    checkExtent("new_v", *args.new_v, 2, args.new_k->shape[2], " as in new_k");
    checkDistinct("k", args.k);
    checkDistinct("v", args.v);
  }
  if (config.window ? args.window < 1 : args.window != 0)
    throw Error(ErrorCode::InvalidArgument,
                "window is " + std::to_string(args.window) + "; " +
                    (config.window ? "it must be 1 or more" : "this kernel was compiled without one: it must be 0"),
                config.window ? "" : "compile with window = true");
}

void checkWorkspace(const DecodeArgs& args, std::int64_t count, bool balanced, std::int64_t needed) {
  if (needed == 0) return;
  if (args.workspace == nullptr || args.workspace_bytes < needed)
    failOperand("workspace",
                "it has " + std::to_string(args.workspace == nullptr ? 0 : args.workspace_bytes) + " bytes; a launch of " +
                    std::to_string(count) + (balanced ? " programs" : " splits") + " needs " + std::to_string(needed),
                std::string("DecodeKernel::workspaceBytes() says how much is enough") + (balanced ? "" : "; splits = 1 needs none"));
  checkWorkspaceAddress(args.workspace);
}

void checkCounters(const DecodeKernel::Impl& kernel, const DecodeArgs& args) {
  const DecodeConfig& config = kernel.config;
  if (!config.balanced) {
    if (args.counters != nullptr)
      failOperand("counters", "this kernel was compiled without `balanced`", "compile with balanced = true for one launch without a merge");
    return;
  }
  const std::int64_t needed = counterBytesOf(config, args);
  if (args.counters == nullptr || args.counter_bytes < needed)
    failOperand("counters",
                "they have " + std::to_string(args.counters == nullptr ? 0 : args.counter_bytes) + " bytes; a launch of " +
                    std::to_string(args.q.shape[0]) + " sequences with " + std::to_string(args.k.shape[1]) + " key heads needs " +
                    std::to_string(needed),
                "give memory that is zero before the first launch");
  const std::int64_t blocks = ceilDiv(cachedKeys(config, args), std::max(kernel.decode.info().tile.block_n, 1));
  if (blocks > 0 && args.q.shape[0] > INT32_MAX / blocks)
    failOperand("q", std::to_string(args.q.shape[0]) + " sequences of up to " + std::to_string(blocks) +
                         " blocks of keys are more than 2147483647 blocks; launch fewer at a time");
}

}  // namespace

namespace kernels {

const DecodeKernel::Impl& required(const std::shared_ptr<const DecodeKernel::Impl>& impl) {
  if (!impl) [[unlikely]]
    throw Error(ErrorCode::InvalidArgument, "this DecodeKernel is empty", "assign the result of fattn::compile to it");
  return *impl;
}

std::int64_t cachedKeys(const DecodeConfig& config, const DecodeArgs& args) {
  if (config.page_size == 0) return args.k.shape[2];
  return args.pages ? args.pages->shape[1] * config.page_size : 0;
}

/// What is written is apart from everything else.
void checkDecodeApart(const DecodeConfig& config, const DecodeArgs& args, const TensorView& workspace, const TensorView& counters) {
  const auto bytesOf = [](const std::optional<TensorView>& view) { return view ? view->checkedBytes() : 0; };
  const auto viewOf = [&](const std::optional<TensorView>& view) -> const TensorView& { return view ? *view : workspace; };
  const std::array<Spanned, 11> all = {Spanned{"o", args.o, args.o.checkedBytes()},
                                       {"workspace", workspace, workspace.checkedBytes()},
                                       {"counters", counters, counters.checkedBytes()},
                                       {"lse", viewOf(args.lse), bytesOf(args.lse)},
                                       {"k", args.k, args.k.checkedBytes()},
                                       {"v", args.v, args.v.checkedBytes()},
                                       {"q", args.q, args.q.checkedBytes()},
                                       {"new_k", viewOf(args.new_k), bytesOf(args.new_k)},
                                       {"new_v", viewOf(args.new_v), bytesOf(args.new_v)},
                                       {"lengths", viewOf(args.lengths), bytesOf(args.lengths)},
                                       {"pages", viewOf(args.pages), bytesOf(args.pages)}};
  checkAllApart(all, config.append ? 6 : 4);
}

void checkOperands(const DecodeConfig& config, const DecodeArgs& args) {
  const DimensionNames& names = config.page_size > 0 ? kPaged : kDimensions;
  const std::int64_t qBytes = checkView("q", args.q, config.dtype, 4, kDimensions, kOtherType),
                     kBytes = checkView("k", args.k, config.dtype, 4, names, kOtherType),
                     vBytes = checkView("v", args.v, config.dtype, 4, names, kOtherType),
                     oBytes = checkView("o", args.o, config.dtype, 4, kDimensions, kOtherType);
  checkHeadDim("q", args.q, qBytes, config.head_dim);
  checkHeadDim("o", args.o, oBytes, config.head_dim_v);
  checkCache(config, args, kBytes, vBytes);
  for (int d = 0; d < 3; ++d) checkExtent("o", args.o, d, args.q.shape[d], " as in q");
  checkDistinct("o", args.o);
  if (args.lse) {
    checkView("lse", *args.lse, DType::F32, 3);
    for (int d = 0; d < 3; ++d) checkExtent("lse", *args.lse, d, args.q.shape[d], " as in q");
    checkDistinct("lse", *args.lse);
  }
  checkData(config, args);
  checkChoices(config, args);
  for (const auto& [tensor, view] : {std::pair<const char*, const TensorView&>{"q", args.q}, {"k", args.k}, {"v", args.v}, {"o", args.o}})
    checkAligned(tensor, view, config.alignment);
}

std::int64_t counterBytesOf(const DecodeConfig& config, const DecodeArgs& args) {
  return config.balanced ? workspaceProduct({args.q.shape[0], args.k.shape[1], sizeInBytes(DType::I32)}) : 0;
}

void checkMemory(const DecodeKernel::Impl& kernel, const DecodeArgs& args, const Division& division) {
  checkWorkspace(args, division.count, kernel.config.balanced, division.needed);
  checkCounters(kernel, args);
}

Division divisionOf(const DecodeKernel::Impl& kernel, const DecodeArgs& args) {
  if (kernel.config.balanced) {
    const std::int64_t programs = programsOf(kernel, args);
    return {programs, workspaceProduct({programs, programBytes(kernel.config)})};
  }
  const std::int64_t splits = splitsOf(kernel, args);
  return {splits, workspaceFor(kernel.config, args, splits)};
}

}  // namespace kernels

int DecodeKernel::splits(const DecodeArgs& args) const { return static_cast<int>(splitsOf(required(impl_), args)); }

std::int64_t DecodeKernel::workspaceBytes(const DecodeArgs& args) const { return divisionOf(required(impl_), args).needed; }

std::int64_t DecodeKernel::workspaceBytes() const {
  const Impl& kernel = required(impl_);
  return slotsOf(kernel) * (kernel.config.balanced ? programBytes(kernel.config) : kRounds * kernel.config.rows * partBytes(kernel.config));
}

std::int64_t DecodeKernel::counterBytes(const DecodeArgs& args) const {
  const Impl& kernel = required(impl_);
  checkShape("q", args.q, 4);
  checkShape("k", args.k, 4, kernel.config.page_size > 0 ? kPaged : kDimensions);
  return counterBytesOf(kernel.config, args);
}

const DecodeConfig& DecodeKernel::config() const { return required(impl_).config; }
const KernelCode& DecodeKernel::info() const { return required(impl_).decode.info(); }
std::span<const dsl::Param> DecodeKernel::args() const { return required(impl_).decode.args(); }

DecodeKernel compile_decode(const DecodeConfig& given) {
  requireLegal(given);
  auto made = std::make_shared<DecodeKernel::Impl>();
  made->config = completed(given);
  const DecodeConfig& config = made->config;
  made->decode = compile(config.balanced ? balancedDecodeTemplate() : decodeTemplate(), decodeParameters(config),
                         {.target = config.target, .tile = config.tile});
  if (!config.balanced)
    made->merge = compile(mergeTemplate(),
                          {{"dtype", std::string("f32")},
                           {"out", std::string(name(config.dtype))},
                           {"head_dim", config.head_dim_v},
                           {"relay", true},
                           {"alignment", std::int64_t{config.alignment}}},
                          {.target = config.target});
  made->device = namesChip(config.target) ? nullptr : &openDevice(config.target);
  made->number = newKernelNumber();
  made->decodeSlots = pointerSlotsOf(made->decode);
  made->mergeSlots = config.balanced ? DecodeSlots{} : pointerSlotsOf(made->merge);
  return DecodeKernel(std::move(made));
}

std::expected<DecodeKernel, Error> try_compile_decode(const DecodeConfig& config) try {
  return compile_decode(config);
} catch (const Error& error) {
  return std::unexpected(error);
}

std::expected<void, Error> supports_decode(const DecodeConfig& config) try {
  requireLegal(config);
  decodeTemplate().check(decodeParameters(completed(config)));
  if (config.tile) config.tile->validate();
  return {};
} catch (const Error& error) {
  return std::unexpected(error);
}

}  // namespace fattn
