// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/TunedLookup.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/driver/Identity.h"
#include "compiler/emit/HostCode.h"
#include "dsl/Internal.h"
#include "fattn/Device.h"
#include "kernels/core/Target.h"
#include "kernels/core/Tuning.h"
#include "runtime/base/TargetName.h"
#include "runtime/cache/Hash.h"
#include "runtime/cache/Settings.h"

namespace fattn::kernels {
namespace {

static_assert(kFarthest == cache::kFarthest && kFarthestInAll == cache::kFarthestInAll, "a launch and a compilation choose alike");

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

std::vector<cache::TunedBucket> shippedFor(const TuneProblem& problem, const Accept& accept) {
  const std::string device = shippedDevice(problem.target);
  const std::string family = problem.target.isHost() ? "" : device.substr(0, device.find('-', device.find('-') + 1) + 1);
  return cache::shippedBuckets(cache::shippedRoots(), problem.target.isChip() ? "" : device, family, problem.name, accept);
}

// Of this machine, for all its users; nothing records in it.
cache::TunedStore& sharedStore() {
  static auto* store = new cache::TunedStore(cache::Directory::shared());
  return *store;
}

// What this user found out, what is known to the machine, then what is shipped for the other buckets.
std::vector<cache::TunedBucket> knownFor(const TuneProblem& problem, const std::optional<cache::TuneKey>& key, const Accept& accept) {
  std::vector<cache::TunedBucket> known;
  if (key) known = tunedStore().buckets(*key, accept);
  if (key)
    for (cache::TunedBucket& bucket : sharedStore().buckets(*key, accept))
      if (std::ranges::find(known, bucket.shape, &cache::TunedBucket::shape) == known.end()) known.push_back(std::move(bucket));
  const std::size_t own = known.size();
  for (cache::TunedBucket& bucket : shippedFor(problem, accept))
    if (std::ranges::find(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(own), bucket.shape, &cache::TunedBucket::shape) ==
        known.begin() + static_cast<std::ptrdiff_t>(own))
      known.push_back(std::move(bucket));
  return known;
}

std::vector<const cache::TunedBucket*> nearbyOf(std::span<const cache::TunedBucket> known, const TuneProblem& problem) {
  std::vector<const cache::TunedBucket*> near = cache::nearest(known, problem.told);
  if (problem.hasSay) std::erase_if(near, [&](const cache::TunedBucket* bucket) { return !problem.hasSay(*bucket); });
  // Of what is equally near, this machine's own is about exactly this compiler and driver.
  if (std::ranges::any_of(near, [](const cache::TunedBucket* bucket) { return !bucket->shipped; }))
    std::erase_if(near, [](const cache::TunedBucket* bucket) { return bucket->shipped; });
  return near;
}

std::string reasonOf(const TuneProblem& problem, const TunedLookup& lookup, const cache::LeastLoss& least) {
  const cache::TunedBucket& first = *lookup.nearby.front();
  const std::string shipped = first.shipped ? fmt::format("shipped, as nothing nearer is tuned {}; tuned on {}; ",
                                                          problem.target.isChip() ? "without a device" : "on this device", first.device)
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
std::string reasonOfDefault(const TuneProblem& problem, const TunedLookup& lookup) {
  std::string reason = lookup.known.empty()
                           ? "the default, as nothing is tuned for this kernel on this device"
                           : fmt::format("the default, as no tuned shape is near: each extent within a factor of {}, and of {} in all",
                                         1 << cache::kFarthest, 1 << cache::kFarthestInAll);
  if (!lookup.key) return reason;
  const cache::TuneRecord record = tunedStore().read(*lookup.key);
  if (!record.winner && !record.points.empty())
    reason += fmt::format("; the tuning for {} is unfinished, and fattn-tune --resume goes on with it",
                          cache::bucketName(cache::bucketOf(problem.shape)));
  return reason;
}

}  // namespace

cache::TunedStore& tunedStore() {
  static auto* store = new cache::TunedStore(cache::Directory::process(), cache::tunedBytes());  // never destroyed, as its directory
  return *store;
}

std::string shippedDevice(const ResolvedTarget& target) {
  if (target.isHost()) return hostLevel(target.code);
  if (target.isChip()) return slug(target.name) + "-";
  const std::string description = target.device->description();
  std::string product = slug(std::string_view(description).substr(0, description.find(',')));
  const std::string chip = slug(target.code), vendor = chip.substr(0, chip.find('-') + 1);
  if (product.starts_with(vendor)) product.erase(0, vendor.size());
  return chip + "-" + product;
}

namespace {

cache::TuneKey keyOn(const TuneProblem& problem, const Device& device) {
  dsl::Program program = problem.trace(problem.reference);
  const std::string& chip = problem.target.code;
  return {.target = chip + " " + cache::hex(cache::hash(compiler::targetIdentity(chip))).substr(0, 16),
          .device = device.description(),
          .driver = device.driverVersion(),
          .compiler = compiler::version(),
          .kernel = problem.name + " " + cache::hex(cache::hash(compiler::textOf(dsl::internal::module(program)))),
          .shape = problem.shape};
}

// What a model of the chip's time found out: fattn-tune ranks configurations by it where there is no such device.
std::vector<cache::TunedBucket> modelledFor(const TuneProblem& problem, const Accept& accept) {
  const TargetName chip = parseTarget(problem.target.code);
  if (chip.kind != TargetKind::Amd || (tunedStore().empty() && sharedStore().empty())) return {};
  const cache::TuneKey key = keyOn(problem, openDevice("modelled:" + std::string(chip.part)));
  std::vector<cache::TunedBucket> known = tunedStore().buckets(key, accept);
  return known.empty() ? sharedStore().buckets(key, accept) : known;
}

}  // namespace

cache::TuneKey tuneKey(const TuneProblem& problem) { return keyOn(problem, *problem.target.device); }

namespace {

// Whether what decided is the bucket of the caller's shape.
bool isExact(const TuneProblem& problem, const TunedLookup& lookup) {
  return lookup.nearby.size() == 1 && problem.told.contains(problem.decisive) &&
         cache::distanceOf(lookup.nearby.front()->shape, problem.told) == 0;
}

}  // namespace

TunedLookup lookUpTuned(const TuneProblem& problem) {
  TunedLookup lookup;
  lookup.tile = problem.safe;
  if (cache::tuneMode() == cache::TuneMode::Off) {
    lookup.reason = "the default, as FATTN_TUNE=off";
    return lookup;
  }
  auto accept = [&](const TileConfig& tile) { return tile != TileConfig{} && (!problem.refusal || !problem.refusal(tile)); };
  if (!problem.target.isChip() && !(tunedStore().empty() && sharedStore().empty())) lookup.key = tuneKey(problem);
  lookup.known = knownFor(problem, lookup.key, accept);
  const bool modelled = lookup.known.empty();
  if (modelled) lookup.known = modelledFor(problem, accept);
  lookup.nearby = nearbyOf(lookup.known, problem);
  if (lookup.nearby.empty()) {
    lookup.reason = reasonOfDefault(problem, lookup);
    return lookup;
  }
  const cache::TunedBucket& first = *lookup.nearby.front();
  lookup.rule = first.shipped ? TunedRule::Shipped : isExact(problem, lookup) ? TunedRule::Exact : TunedRule::Nearest;
  const cache::LeastLoss least = cache::leastLoss(lookup.nearby, lookup.tile);
  lookup.reason = reasonOf(problem, lookup, least);
  if (modelled) lookup.reason = "by a model of the chip's time, as nothing is measured: " + lookup.reason;
  lookup.tile = (lookup.nearby.size() == 1 ? first.winner.tile : least.tile).withDefaults(lookup.tile);
  return lookup;
}

std::vector<TunedShape> tunedShapes(const TuneProblem& problem, const TunedLookup& lookup) {
  std::vector<TunedShape> shapes;
  for (const cache::TunedBucket& bucket : lookup.known) {
    std::vector<std::int64_t> extents;
    for (const std::string& name : problem.extents)
      if (const auto found = bucket.shape.find(name); found != bucket.shape.end()) extents.push_back(found->second);
    if (extents.size() == problem.extents.size() && extents.size() == bucket.shape.size())
      shapes.push_back({.bucket = ShapeBucket::of(extents),
                        .name = cache::bucketName(bucket.shape),
                        .tile = bucket.winner.tile.withDefaults(problem.safe)});
  }
  return shapes;
}

TileChoice tunedChoice(const TuneProblem& problem) {
  TunedLookup lookup = lookUpTuned(problem);
  if (cache::tuneMode() == cache::TuneMode::On && !problem.target.isChip() && problem.space &&
      !tunedStore().read(tuneKey(problem)).winner && tuneWithinCompile(problem))
    lookup = lookUpTuned(problem);
  return {lookup.rule == TunedRule::Default ? std::nullopt : std::optional(lookup.tile), tunedShapes(problem, lookup)};
}

namespace {

struct VariantState {
  TunedShape shape;
  std::shared_ptr<const LoadedCode> kernel;  // none where it is not at hand
};

std::string variantText(const VariantState& variant) {
  const std::string text = "\n  " + variant.shape.name + ": " + variant.shape.tile.toString();
  if (!variant.kernel) return text + " (not compiled)";
  if (variant.kernel->info.tile == variant.shape.tile) return text + " (at hand)";
  return text + " (at hand as " + variant.kernel->info.tile.toString() + ", as the compiler refused it)";
}

}  // namespace

std::string explainVariants(const std::vector<TunedShape>& shapes, const Variants* variants) {
  std::string text;
  for (const TunedShape& shape : shapes) text += variantText({shape, variants != nullptr ? variants->kernelFor(shape.tile) : nullptr});
  if (text.empty()) return text;
  return fmt::format(
             "\na launch takes the kernel of its bucket of shapes, else the nearest at hand within a factor of {} in each extent and {} in "
             "all, else the above; fattn::warmup compiles what is missing:",
             1 << cache::kFarthest, 1 << cache::kFarthestInAll) +
         text;
}

}  // namespace fattn::kernels
