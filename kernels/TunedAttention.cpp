// SPDX-License-Identifier: Apache-2.0
#include "kernels/TunedAttention.h"

#include <cstdlib>
#include <string_view>

#include "compiler/driver/Identity.h"
#include "dsl/Internal.h"
#include "kernels/AttentionForward.h"
#include "kernels/AttentionSupport.h"
#include "runtime/cache/Hash.h"

namespace fattn {
namespace kernels {
namespace {

// The text of a kernel depends on its block sizes. What stands for the kernel itself is its text with these.
constexpr TileConfig kReferenceTile{.block_m = 64, .block_n = 64};

bool tuningIsOff() {
  const char* value = std::getenv("FATTN_TUNE");
  return value != nullptr && std::string_view(value) == "off";
}

std::int64_t known(std::int64_t extent, std::int64_t typical) { return extent > 0 ? extent : typical; }

}  // namespace

cache::TunedStore& tunedStore() {
  static auto* store = new cache::TunedStore(cache::Directory::process());  // never destroyed, as its directory
  return *store;
}

cache::TuneKey tuneKey(const AttentionConfig& config) {
  AttentionConfig resolved = resolve(config);
  ShapeHint shape = config.shape.value_or(ShapeHint{});
  std::int64_t seqQ = known(shape.seq_q, 2048);
  dsl::Program program = traceAttentionForward(resolved, kReferenceTile);
  Device& device = openDevice(resolved.target);
  return {.target = resolved.target + " " + cache::hex(cache::hash(compiler::targetIdentity(codeTarget(resolved.target)))).substr(0, 16),
          .device = device.description(),
          .driver = "none",
          .compiler = compiler::version(),
          .kernel = cache::hex(cache::hash(compiler::textOf(dsl::internal::module(program)))),
          .shape = {{"heads", known(shape.batch, 1) * known(shape.heads, 32)}, {"seq_q", seqQ}, {"seq_k", known(shape.seq_k, seqQ)}}};
}

std::optional<cache::TunedChoice> tunedChoice(const AttentionConfig& config) {
  if (tuningIsOff() || tunedStore().empty() || namesChip(config.target)) return std::nullopt;
  return tunedStore().choose(tuneKey(config), [&](const TileConfig& tile) {
    AttentionConfig chosen = config;
    chosen.tile = tile;
    return tile != TileConfig{} && supports(chosen).has_value();
  });
}

std::optional<TileConfig> tunedTile(const AttentionConfig& config) {
  std::optional<cache::TunedChoice> choice = tunedChoice(config);
  return choice ? std::optional(choice->tile) : std::nullopt;
}

}  // namespace kernels

std::string explain(const AttentionConfig& config) {
  std::expected<void, Error> verdict = supports(config);
  if (!verdict) return verdict.error().what();
  AttentionConfig resolved = kernels::resolve(config);
  std::string text = "supported on " + resolved.target + " with ";
  if (!kernels::leavesTileOpen(config)) return text + resolved.tile->toString();
  std::optional<cache::TunedChoice> choice = kernels::tunedChoice(config);
  if (!choice) return text + resolved.tile->toString() + ": the default, as nothing is tuned for this kernel on this device";
  text += choice->tile.withDefaults(*resolved.tile).toString() + ": ";
  text += choice->winner ? "the winner of the tuning" : "the fastest point of the unfinished tuning";
  text += choice->distance == 0 ? " for this shape" : " for the nearest shape";
  std::string median = std::to_string(choice->medianUs);
  return text + " (" + cache::bucketName(choice->bucket) + ", " + median.substr(0, median.find('.') + 2) + " us) in " +
         choice->folder.string();
}

}  // namespace fattn
