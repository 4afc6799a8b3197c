// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/KernelCache.h"

#include <bit>
#include <new>

#include "kernels/attention/AttentionSupport.h"
#include "runtime/base/Lifecycle.h"

namespace fattn {
namespace {

struct Callback {
  std::mutex mutex;
  std::shared_ptr<const std::function<void(const CompileProgress&)>> function;
};
Callback& callback() {
  static auto* callback = new Callback;  // never destroyed: objects that outlive main may compile
  return *callback;
}

void report(const CompileProgress& progress) {
  std::unique_lock lock(callback().mutex);
  auto held = callback().function;
  lock.unlock();
  if (held && *held) (*held)(progress);
}

AttentionConfig withTile(AttentionConfig config, const TileConfig& tile) {
  config.tile = tile;
  return config;
}

// Everything that shapes the code but the tile.
std::string keyText(const AttentionConfig& resolved) {
  return "attention " + std::string(name(resolved.dtype)) + (resolved.causal ? " causal " : " ") + std::to_string(resolved.head_dim) + " " +
         std::to_string(resolved.head_dim_v) + " " + std::to_string(resolved.alignment) + " " + resolved.target;
}

}  // namespace

void setCompileCallback(std::function<void(const CompileProgress&)> function) {
  auto held = std::make_shared<const std::function<void(const CompileProgress&)>>(std::move(function));
  const Busy busy;
  std::lock_guard lock(callback().mutex);
  callback().function = std::move(held);
}

namespace kernels {

std::size_t KernelCache::Hash::operator()(const KeyView& key) const {
  std::size_t hash = std::hash<std::string_view>()(key.target);
  auto mix = [&](std::int64_t value) { hash = (std::rotl(hash, 23) ^ static_cast<std::size_t>(value)) * 0x9e3779b97f4a7c15ull; };
  mix(static_cast<std::int64_t>(key.dtype) * 4 + (key.causal ? 2 : 0) + (key.hasTile ? 1 : 0));
  if (key.hasShape)
    for (std::int64_t extent : {key.shape.batch, key.shape.heads, key.shape.seq_q, key.shape.seq_k}) mix(extent);
  mix(key.headDim);
  mix(key.headDimV);
  mix(key.alignment);
  for (std::int32_t choice : key.tile) mix(choice);
  mix(static_cast<std::int64_t>(std::hash<std::string_view>()(key.schedule)));
  return hash;
}

KernelCache::KeyView KernelCache::keyOf(const AttentionConfig& config) {
  static const TileConfig none;
  const TileConfig& tile = config.tile ? *config.tile : none;
  return {.dtype = config.dtype,
          .causal = config.causal,
          .hasTile = config.tile.has_value(),
          .hasShape = config.shape.has_value(),
          .headDim = config.head_dim,
          .headDimV = config.head_dim_v,
          .alignment = config.alignment,
          .tile = {tile.block_m, tile.block_n, tile.block_k, tile.stages, tile.warps},
          .shape = config.shape.value_or(ShapeHint{}),
          .target = config.target,
          .schedule = tile.schedule};
}

Kernel KernelCache::get(const AttentionConfig& config) {
  const KeyView key = keyOf(config);
  {
    std::shared_lock lock(mutex_);
    auto found = handles_.find(key);
    if (found != handles_.end()) return Kernel(found->second);
  }
  const Busy busy;
  requireSupported(config);
  const Source source = sourceOf(config);
  KernelHandle handle;
  if (leavesTileOpen(config))
    handle = codes_.open(source, choose_ ? choose_(config) : TileChoice(std::nullopt));
  else
    handle = codes_.closed(source, *config.tile);
  auto made = std::make_shared<const Kernel::Impl>(Kernel::Impl{std::move(handle)});
  std::lock_guard lock(mutex_);
  return Kernel(handles_.emplace(Key(key), std::move(made)).first->second);
}

void KernelCache::lockAcrossForks() {
  codes_.lockAcrossForks();
  // A lock of this kind knows the thread that took it, which has another number in the child: there it begins anew.
  atFork([this] { mutex_.lock(); }, [this] { mutex_.unlock(); }, [this] { new (&mutex_) std::shared_mutex; });
}

Source KernelCache::sourceOf(const AttentionConfig& config) {
  AttentionConfig open = config;
  open.tile.reset();
  const AttentionConfig resolved = resolve(open);
  Source source{.key = keyText(resolved), .text = textOf(resolved), .target = resolved.target, .safe = *resolved.tile};
  source.compile = [this, resolved](const TileConfig& tile) { return compile_(withTile(resolved, tile)); };
  source.accept = [resolved](const compiler::Binary& binary) { (void)AttentionSlots(binary.args, resolved.dtype); };
  source.client = [this, resolved](const LoadedCode& code) { return attentionCode(resolved, code); };
  source.progress = [resolved](const TileConfig& tile, bool done, double ms) {
    report({.config = withTile(resolved, tile), .done = done, .ms = ms});
  };
  return source;
}

std::shared_ptr<const AttentionCode> KernelCache::attentionCode(const AttentionConfig& resolved, const LoadedCode& code) {
  const KernelCode& from = code.info;
  KernelInfo info{.config = withTile(resolved, from.tile),
                  .tile = from.tile,
                  .device = from.device,
                  .entry = from.entry,
                  .from_cache = from.from_cache,
                  .compile_ms = from.compile_ms,
                  .binary_bytes = from.binary_bytes,
                  .scratch_bytes = from.scratch_bytes,
                  .shared_bytes = from.shared_bytes,
                  .threads = from.threads,
                  .registers = from.registers,
                  .spill_bytes = from.spill_bytes};
  auto attention = std::make_shared<AttentionCode>(std::move(info), AttentionSlots(code.args, resolved.dtype));
  attention->get = [this](const AttentionConfig& config) { return get(config).impl_->code; };
  return attention;
}

const LoadedCode& AttentionCode::forAnyAlignment() const {
  if (const LoadedCode* found = anyAlignment_.load(std::memory_order_acquire)) return *found;
  AttentionConfig any = info.config;
  any.alignment = sizeInBytes(any.dtype);
  const Busy busy;
  std::shared_ptr<const LoadedCode> made = get(any);
  std::lock_guard lock(mutex_);
  if (!anyAlignmentOwner_) anyAlignmentOwner_ = std::move(made);
  anyAlignment_.store(anyAlignmentOwner_.get(), std::memory_order_release);
  return *anyAlignmentOwner_;
}

}  // namespace kernels
}  // namespace fattn
