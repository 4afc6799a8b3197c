// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/KernelCache.h"

#include <bit>
#include <new>

#include "kernels/attention/AttentionSupport.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/base/Log.h"

namespace fattn {
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
    auto found = entries_.find(key);
    if (found != entries_.end() && found->second->ready.load(std::memory_order_acquire)) return Kernel(found->second->kernel);
  }
  const Busy busy;
  requireSupported(config);
  std::shared_ptr<Entry> entry = leavesTileOpen(config) ? builtOpen(config) : builtClosed(config);
  std::lock_guard lock(mutex_);
  if (!entries_.contains(key)) entries_.emplace(Key(key), entry);
  return Kernel(entry->kernel);
}

void KernelCache::lockAcrossForks() {
  // A lock of this kind knows the thread that took it, which has another number in the child: there it begins anew.
  atFork([this] { mutex_.lock(); }, [this] { mutex_.unlock(); }, [this] { new (&mutex_) std::shared_mutex; });
}

std::shared_ptr<KernelCache::Entry> KernelCache::built(const AttentionConfig& resolved) {
  std::shared_ptr<Entry> entry = entryOf(keyOf(resolved));
  std::lock_guard compiling(entry->compiling);
  if (!entry->ready.load(std::memory_order_relaxed)) {
    std::shared_ptr<LoadedKernel> code = loadKernel(resolved, compile_);
    code->get = [this](const AttentionConfig& config) { return get(config).impl_->code; };
    entry->kernel = std::make_shared<const Kernel::Impl>(Kernel::Impl{.code = std::move(code)});
    entry->ready.store(true, std::memory_order_release);
  }
  return entry;
}

// The handle of an open configuration: its own kernel, and those of other shapes.
std::shared_ptr<KernelCache::Entry> KernelCache::builtOpen(const AttentionConfig& config) {
  const AttentionConfig safe = resolve(config);
  TileChoice choice = choose_ ? choose_(config) : TileChoice(std::nullopt);
  AttentionConfig chosen = safe;
  if (choice.tile) chosen.tile = choice.tile->withDefaults(*safe.tile);
  std::shared_ptr<const LoadedKernel> code = builtOrSafe(chosen, safe);
  std::shared_ptr<Variants> variants = variantsOf(safe);
  variants->learn(std::move(choice.shapes));
  variants->add(*chosen.tile, code);
  return entryWith(std::move(code), std::move(variants));
}

// A schedule that the caller chose has to fit; one that the defaults filled in gives way.
std::shared_ptr<KernelCache::Entry> KernelCache::builtClosed(const AttentionConfig& config) {
  const AttentionConfig resolved = resolve(config);
  if (resolved.tile->schedule.empty() || !config.tile->schedule.empty()) return built(resolved);
  return entryWith(builtOrSafe(resolved, resolved), nullptr);
}

std::shared_ptr<KernelCache::Entry> KernelCache::entryWith(std::shared_ptr<const LoadedKernel> code,
                                                           std::shared_ptr<const Variants> variants) {
  auto entry = std::make_shared<Entry>();
  entry->kernel = std::make_shared<const Kernel::Impl>(Kernel::Impl{.code = std::move(code), .variants = std::move(variants)});
  entry->ready.store(true, std::memory_order_release);
  return entry;
}

// What was tuned with another compiler or driver may not work with this one: its schedule may not fit the loop any more, or all of it may
// be too much. The compiler's own order, and then the defaults, do; a file never fails a compilation.
std::shared_ptr<const LoadedKernel> KernelCache::builtOrSafe(const AttentionConfig& chosen, const AttentionConfig& safe) {
  if (chosen.tile == safe.tile && chosen.tile->schedule.empty()) return built(safe)->kernel->code;
  AttentionConfig unordered = chosen;
  unordered.tile->schedule.clear();
  std::string failure;
  auto tried = [&](const AttentionConfig& config) -> std::shared_ptr<const LoadedKernel> {
    try {
      return built(config)->kernel->code;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::CompileError && config.tile == safe.tile) throw;
      failure = error.constraint();
      return nullptr;
    }
  };
  if (auto code = tried(chosen)) return code;
  if (!chosen.tile->schedule.empty())
    if (auto code = tried(unordered)) {
      log::write(log::Level::Warning,
                 "the schedule of the configuration does not fit the loop, and the compiler's first choice takes its "
                 "place: " +
                     describe(chosen) + ": " + failure);
      return code;
    }
  if (chosen.tile == safe.tile) return built(unordered)->kernel->code;  // fails again, and says why
  log::write(log::Level::Warning, "the tuned configuration does not compile, and the default " + safe.tile->toString() +
                                      " takes its place: " + describe(chosen) + ": " + failure);
  return builtOrSafe(safe, safe);
}

std::shared_ptr<KernelCache::Entry> KernelCache::entryOf(const KeyView& key) {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(key);
  if (found != entries_.end()) return found->second;
  return entries_.emplace(Key(key), std::make_shared<Entry>()).first->second;
}

std::shared_ptr<Variants> KernelCache::variantsOf(const AttentionConfig& resolved) {
  AttentionConfig open = resolved;
  open.tile.reset();
  const KeyView key = keyOf(open);
  std::lock_guard lock(mutex_);
  auto found = variants_.find(key);
  if (found != variants_.end()) return found->second;
  return variants_.emplace(Key(key), std::make_shared<Variants>()).first->second;
}

std::shared_ptr<const Variants> KernelCache::variants(const AttentionConfig& config) {
  AttentionConfig open = resolve(config);
  open.tile.reset();
  std::shared_lock lock(mutex_);
  auto found = variants_.find(keyOf(open));
  return found == variants_.end() ? nullptr : found->second;
}

}  // namespace kernels
}  // namespace fattn
