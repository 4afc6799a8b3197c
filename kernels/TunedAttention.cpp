// SPDX-License-Identifier: Apache-2.0
#include "kernels/TunedAttention.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "compiler/driver/Identity.h"
#include "compiler/emit/HostCode.h"
#include "dsl/Internal.h"
#include "kernels/AttentionForward.h"
#include "kernels/AttentionSpace.h"
#include "kernels/AttentionSupport.h"
#include "kernels/TuneAttention.h"
#include "runtime/base/Log.h"
#include "runtime/cache/Hash.h"
#include "runtime/cache/Settings.h"

namespace fattn {
namespace kernels {
namespace {

// The text of a kernel depends on its block sizes. What stands for the kernel itself is its text with these.
constexpr TileConfig kReferenceTile{.block_m = 64, .block_n = 64};

std::int64_t known(std::int64_t extent, std::int64_t typical) { return extent > 0 ? extent : typical; }

// Small letters, digits and what else is as plain in a folder's name.
std::string slug(std::string_view text) {
  std::string out;
  for (char c : text) {
    const bool capital = c >= 'A' && c <= 'Z', plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (capital || plain)
      out += capital ? static_cast<char>(c - 'A' + 'a') : c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  return out;
}

std::string hostLevel(const std::string& target) {
  const cpu::HostTarget machine = emit::hostTarget(target);
  return machine.bf16Dot ? "host-avx512bf16" : machine.scalef ? "host-avx512" : machine.fma ? "host-avx2" : "host-sse2";
}

TunedLookup fromStore(const AttentionConfig& config, TunedLookup lookup, const std::function<bool(const TileConfig&)>& accept) {
  lookup.key = tuneKey(config);
  lookup.choice = tunedStore().choose(*lookup.key, accept);
  if (!lookup.choice) return lookup;
  const cache::TunedChoice& choice = *lookup.choice;
  lookup.rule = choice.distance == 0 ? TunedRule::Exact : TunedRule::Nearest;
  lookup.tile = choice.tile.withDefaults(lookup.tile);
  lookup.reason = fmt::format(
      "{} for {} ({}, {:.1f} us) in {}", choice.winner ? "the winner of the tuning" : "the fastest point of the unfinished tuning",
      choice.distance == 0 ? "this shape" : "the nearest shape", cache::bucketName(choice.bucket), choice.medianUs, choice.folder.string());
  return lookup;
}

TunedLookup fromShipped(const AttentionConfig& config, TunedLookup lookup, const std::function<bool(const TileConfig&)>& accept) {
  const std::string target = resolve(config).target, device = shippedDevice(target);
  const std::string family = target.starts_with("host") ? "" : device.substr(0, device.find('-', device.find('-') + 1) + 1);
  lookup.file = cache::chooseShipped(cache::shippedRoots(), namesChip(target) ? "" : device, family, problemName(config),
                                     tunedExtents(config), accept);
  if (!lookup.file) return lookup;
  lookup.rule = TunedRule::Shipped;
  lookup.tile = lookup.file->tile.withDefaults(lookup.tile);
  lookup.reason = fmt::format("shipped, as nothing is tuned for this kernel {}; tuned on {} ({}, {:.1f} us), from {}",
                              namesChip(target) ? "without a device" : "on this device", lookup.file->measured.device,
                              cache::bucketName(lookup.file->measured.shape), lookup.file->medianUs, lookup.file->file.string());
  return lookup;
}

}  // namespace

cache::TunedStore& tunedStore() {
  static auto* store = new cache::TunedStore(cache::Directory::process(), cache::tunedBytes());  // never destroyed, as its directory
  return *store;
}

ShapeHint tunedShape(const AttentionConfig& config) {
  const ShapeHint shape = config.shape.value_or(ShapeHint{});
  const std::int64_t seqQ = known(shape.seq_q, 2048);
  return {.batch = known(shape.batch, 1), .heads = known(shape.heads, 32), .seq_q = seqQ, .seq_k = known(shape.seq_k, seqQ)};
}

cache::Shape tunedExtents(const AttentionConfig& config) {
  const ShapeHint shape = tunedShape(config);
  return {{"heads", shape.batch * shape.heads}, {"seq_q", shape.seq_q}, {"seq_k", shape.seq_k}};
}

std::string problemName(const AttentionConfig& config) {
  return fmt::format("attention_forward-{}-d{}-v{}{}", name(config.dtype), config.head_dim,
                     config.head_dim_v != 0 ? config.head_dim_v : config.head_dim, config.causal ? "-causal" : "");
}

std::string shippedDevice(const std::string& target) {
  if (target.starts_with("host")) return hostLevel(target);
  if (namesChip(target)) {
    std::string chip = slug(target);
    // "nvidia-sm_90a" has instructions of its own, but is the same chip.
    while (target.starts_with("nvidia:") && chip.back() >= 'a' && chip.back() <= 'z') chip.pop_back();
    return chip + "-";
  }
  Device& device = openDevice(target);
  const std::string description = device.description();
  std::string product = slug(std::string_view(description).substr(0, description.find(',')));
  const std::string chip = slug(device.chip()), vendor = chip.substr(0, chip.find('-') + 1);
  if (product.starts_with(vendor)) product.erase(0, vendor.size());
  return chip + "-" + product;
}

cache::TuneKey tuneKey(const AttentionConfig& config) {
  AttentionConfig resolved = resolve(config);
  dsl::Program program = traceAttentionForward(resolved, kReferenceTile);
  Device& device = openDevice(resolved.target);
  const std::string chip = codeTarget(resolved.target);
  return {.target = chip + " " + cache::hex(cache::hash(compiler::targetIdentity(chip))).substr(0, 16),
          .device = device.description(),
          .driver = device.driverVersion(),
          .compiler = compiler::version(),
          .kernel = problemName(resolved) + " " + cache::hex(cache::hash(compiler::textOf(dsl::internal::module(program)))),
          .shape = tunedExtents(config)};
}

TunedLookup lookUpTuned(const AttentionConfig& config) {
  const AttentionConfig resolved = resolve(config);
  TunedLookup lookup;
  lookup.tile = *resolved.tile;
  if (cache::tuneMode() == cache::TuneMode::Off) {
    lookup.reason = "the default, as FATTN_TUNE=off";
    return lookup;
  }
  auto accept = [&](const TileConfig& tile) {
    AttentionConfig chosen = config;
    chosen.tile = tile;
    return tile != TileConfig{} && supports(chosen).has_value();
  };
  if (!namesChip(resolved.target) && !tunedStore().empty()) lookup = fromStore(config, std::move(lookup), accept);
  if (lookup.rule == TunedRule::Default) lookup = fromShipped(config, std::move(lookup), accept);
  if (lookup.rule == TunedRule::Default) lookup.reason = "the default, as nothing is tuned for this kernel on this device";
  return lookup;
}

std::optional<TileConfig> tunedTile(const AttentionConfig& config) {
  TunedLookup lookup = lookUpTuned(config);
  const bool finished = lookup.rule == TunedRule::Exact && lookup.choice->winner;
  if (!finished && !namesChip(resolve(config).target) && cache::tuneMode() == cache::TuneMode::On && tuneWithinCompile(config))
    lookup = lookUpTuned(config);
  return lookup.rule == TunedRule::Default ? std::nullopt : std::optional(lookup.tile);
}

}  // namespace kernels

std::string explain(const AttentionConfig& config) {
  std::expected<void, Error> verdict = supports(config);
  if (!verdict) return verdict.error().what();
  AttentionConfig resolved = kernels::resolve(config);
  std::string text = "supported on " + resolved.target + " with ";
  if (!kernels::leavesTileOpen(config)) return text + resolved.tile->toString();
  kernels::TunedLookup lookup = kernels::lookUpTuned(config);
  return text + lookup.tile.toString() + ": " + lookup.reason;
}

}  // namespace fattn
