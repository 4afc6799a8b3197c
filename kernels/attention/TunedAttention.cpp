// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/TunedAttention.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "compiler/driver/Identity.h"
#include "compiler/emit/HostCode.h"
#include "dsl/Internal.h"
#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionSpace.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/attention/TuneAttention.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/base/Log.h"
#include "runtime/cache/Hash.h"
#include "runtime/cache/Settings.h"

namespace fattn {
namespace kernels {
namespace {

static_assert(kFarthest == cache::kFarthest, "a launch and a compilation choose alike");

// The text of a kernel depends on its block sizes. What stands for the kernel itself is its text with these.
const TileConfig kReferenceTile{.block_m = 64, .block_n = 64};

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

using Accept = std::function<bool(const TileConfig&)>;

std::vector<cache::TunedBucket> shippedFor(const AttentionConfig& config, const Accept& accept) {
  const std::string target = resolve(config).target, device = shippedDevice(target);
  const std::string family = target.starts_with("host") ? "" : device.substr(0, device.find('-', device.find('-') + 1) + 1);
  return cache::shippedBuckets(cache::shippedRoots(), namesChip(target) ? "" : device, family, problemName(config), accept);
}

// Of this machine, for all its users; nothing records in it.
cache::TunedStore& sharedStore() {
  static auto* store = new cache::TunedStore(cache::Directory::shared());
  return *store;
}

// What this user found out, what is known to the machine, then what is shipped for the other buckets.
std::vector<cache::TunedBucket> knownFor(const AttentionConfig& config, const std::optional<cache::TuneKey>& key, const Accept& accept) {
  std::vector<cache::TunedBucket> known;
  if (key) known = tunedStore().buckets(*key, accept);
  if (key)
    for (cache::TunedBucket& bucket : sharedStore().buckets(*key, accept))
      if (std::ranges::find(known, bucket.shape, &cache::TunedBucket::shape) == known.end()) known.push_back(std::move(bucket));
  const std::size_t own = known.size();
  for (cache::TunedBucket& bucket : shippedFor(config, accept))
    if (std::ranges::find(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(own), bucket.shape, &cache::TunedBucket::shape) ==
        known.begin() + static_cast<std::ptrdiff_t>(own))
      known.push_back(std::move(bucket));
  return known;
}

// A caller who tells no lengths is taken for one whose queries are about as many as the keys.
bool deservesSay(const cache::TunedBucket& bucket, const cache::Shape& told) {
  if (told.contains("seq_q")) return true;
  const auto q = bucket.shape.find("seq_q"), k = bucket.shape.find("seq_k");
  return q != bucket.shape.end() && k != bucket.shape.end() && cache::distanceOf({{"n", q->second}}, {{"n", k->second}});
}

std::vector<const cache::TunedBucket*> nearbyOf(std::span<const cache::TunedBucket> known, const cache::Shape& told) {
  std::vector<const cache::TunedBucket*> near = cache::nearest(known, told);
  std::erase_if(near, [&](const cache::TunedBucket* bucket) { return !deservesSay(*bucket, told); });
  // Of what is equally near, this machine's own is about exactly this compiler and driver.
  if (std::ranges::any_of(near, [](const cache::TunedBucket* bucket) { return !bucket->shipped; }))
    std::erase_if(near, [](const cache::TunedBucket* bucket) { return bucket->shipped; });
  return near;
}

std::string reasonOf(const AttentionConfig& config, const TunedLookup& lookup, const cache::LeastLoss& least) {
  const cache::TunedBucket& first = *lookup.nearby.front();
  const std::string shipped = first.shipped
                                  ? fmt::format("shipped, as nothing nearer is tuned {}; tuned on {}; ",
                                                namesChip(resolve(config).target) ? "without a device" : "on this device", first.device)
                                  : "";
  if (lookup.nearby.size() == 1)
    return fmt::format("{}the winner of the tuning for {} ({}, {:.1f} us) in {}", shipped,
                       lookup.rule == TunedRule::Exact ? "this shape" : "the nearest shape", cache::bucketName(first.shape),
                       first.winner.medianUs, first.source.string());
  return fmt::format(
      "{}of {} tuned shapes that what is told of the shape allows it loses least, at most {:.1f}% and {:.1f}% on average; in {}", shipped,
      lookup.nearby.size(), least.worst * 100, least.mean * 100, first.source.parent_path().string());
}

// Why nothing that is known decides.
std::string reasonOfDefault(const AttentionConfig& config, const TunedLookup& lookup) {
  std::string reason = lookup.known.empty() ? "the default, as nothing is tuned for this kernel on this device"
                                            : fmt::format("the default, as no tuned shape is near: each extent within a factor of {}",
                                                          1 << cache::kFarthest);
  if (!lookup.key) return reason;
  const cache::TuneRecord record = tunedStore().read(*lookup.key);
  if (!record.winner && !record.points.empty())
    reason += fmt::format("; the tuning for {} is unfinished, and fattn-tune --resume goes on with it",
                          cache::bucketName(cache::bucketOf(tunedExtents(config))));
  return reason;
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

cache::Shape toldExtents(const AttentionConfig& config) {
  const ShapeHint shape = config.shape.value_or(ShapeHint{});
  cache::Shape told;
  if (shape.heads > 0) told["heads"] = known(shape.batch, 1) * shape.heads;
  if (shape.seq_q > 0) told["seq_q"] = shape.seq_q;
  if (shape.seq_k > 0 || shape.seq_q > 0) told["seq_k"] = known(shape.seq_k, shape.seq_q);
  return told;
}

std::string problemName(const AttentionConfig& config) {
  return fmt::format("attention_forward-{}-d{}-v{}{}", name(config.dtype), config.head_dim,
                     config.head_dim_v != 0 ? config.head_dim_v : config.head_dim, config.causal ? "-causal" : "");
}

std::string shippedDevice(const std::string& target) {
  if (target.starts_with("host")) return hostLevel(target);
  if (namesChip(target)) return slug(target) + "-";
  Device& device = openDevice(target);
  const std::string description = device.description();
  std::string product = slug(std::string_view(description).substr(0, description.find(',')));
  const std::string chip = slug(codeTarget(target)), vendor = chip.substr(0, chip.find('-') + 1);
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
  if (!namesChip(resolved.target) && !(tunedStore().empty() && sharedStore().empty())) lookup.key = tuneKey(config);
  lookup.known = knownFor(config, lookup.key, accept);
  const cache::Shape told = toldExtents(config);
  lookup.nearby = nearbyOf(lookup.known, told);
  if (lookup.nearby.empty()) {
    lookup.reason = reasonOfDefault(config, lookup);
    return lookup;
  }
  const cache::TunedBucket& first = *lookup.nearby.front();
  const bool exact = lookup.nearby.size() == 1 && told.contains("seq_q") && cache::distanceOf(first.shape, told) == 0;
  lookup.rule = first.shipped ? TunedRule::Shipped : exact ? TunedRule::Exact : TunedRule::Nearest;
  const cache::LeastLoss least = cache::leastLoss(lookup.nearby, lookup.tile);
  lookup.reason = reasonOf(config, lookup, least);
  lookup.tile = (lookup.nearby.size() == 1 ? first.winner.tile : least.tile).withDefaults(lookup.tile);
  return lookup;
}

std::vector<TunedShape> tunedShapes(const AttentionConfig& config, const TunedLookup& lookup) {
  std::vector<TunedShape> shapes;
  const TileConfig safe = *resolve(config).tile;
  for (const cache::TunedBucket& bucket : lookup.known)
    if (bucket.shape.size() == 3 && bucket.shape.contains("heads") && bucket.shape.contains("seq_q") && bucket.shape.contains("seq_k"))
      shapes.push_back({.bucket = ShapeBucket::of(1, bucket.shape.at("heads"), bucket.shape.at("seq_q"), bucket.shape.at("seq_k")),
                        .name = cache::bucketName(bucket.shape),
                        .tile = bucket.winner.tile.withDefaults(safe)});
  return shapes;
}

TileChoice tunedChoice(const AttentionConfig& config) {
  TunedLookup lookup = lookUpTuned(config);
  if (cache::tuneMode() == cache::TuneMode::On && !namesChip(resolve(config).target) && !tunedStore().read(tuneKey(config)).winner &&
      tuneWithinCompile(config))
    lookup = lookUpTuned(config);
  return {lookup.rule == TunedRule::Default ? std::nullopt : std::optional(lookup.tile), tunedShapes(config, lookup)};
}

namespace {

struct VariantState {
  TunedShape shape;
  std::shared_ptr<const LoadedKernel> kernel;  // none where it is not at hand
};

std::string variantText(const VariantState& variant) {
  const std::string text = "\n  " + variant.shape.name + ": " + variant.shape.tile.toString();
  if (!variant.kernel) return text + " (not compiled)";
  if (variant.kernel->info.tile == variant.shape.tile) return text + " (at hand)";
  return text + " (at hand as " + variant.kernel->info.tile.toString() + ", as the compiler refused it)";
}

}  // namespace

std::string explainVariants(const AttentionConfig& config, const TunedLookup& lookup) {
  const std::shared_ptr<const Variants> variants = kernelCache().variants(config);
  std::string text;
  for (const TunedShape& shape : tunedShapes(config, lookup))
    text += variantText({shape, variants ? variants->kernelFor(shape.tile) : nullptr});
  if (text.empty()) return text;
  return fmt::format(
             "\na launch takes the kernel of its bucket of shapes, else the nearest at hand within a factor of {} in each extent, else "
             "the above; fattn::warmup compiles what is missing:",
             1 << cache::kFarthest) +
         text;
}

}  // namespace kernels

std::string explain(const AttentionConfig& config) {
  const Busy busy;
  std::expected<void, Error> verdict = supports(config);
  if (!verdict) return verdict.error().what();
  AttentionConfig resolved = kernels::resolve(config);
  std::string text = "supported on " + resolved.target + " with ";
  if (!kernels::leavesTileOpen(config)) return text + resolved.tile->toString();
  kernels::TunedLookup lookup = kernels::lookUpTuned(config);
  return text + lookup.tile.toString() + ": " + lookup.reason + kernels::explainVariants(config, lookup);
}

}  // namespace fattn
