// SPDX-License-Identifier: Apache-2.0
#include "kernels/KernelCache.h"

#include <bit>
#include <chrono>
#include <thread>

#include "kernels/AttentionLaunch.h"
#include "kernels/AttentionSupport.h"
#include "runtime/base/Log.h"

namespace fattn {
namespace {

std::mutex callbackMutex;
std::shared_ptr<const std::function<void(const CompileProgress&)>> callback;

void report(const CompileProgress& progress) {
  std::unique_lock lock(callbackMutex);
  auto held = callback;
  lock.unlock();
  if (held && *held) (*held)(progress);
}

std::string nameOf(const AttentionConfig& config) {
  std::string text = "attention " + std::string(name(config.dtype)) + " head_dim " + std::to_string(config.head_dim);
  if (config.head_dim_v != config.head_dim) text += "/" + std::to_string(config.head_dim_v);
  return text + (config.causal ? " causal" : "") + " for " + config.target + " with " + config.tile->toString();
}

// The kernel's function and packAttention() are written apart; a difference between them must not become a crash.
void checkSignature(const compiler::Binary& binary) {
  bool agrees = binary.args.size() == kernels::kAttentionSlots;
  for (std::size_t i = 0; agrees && i < binary.args.size(); ++i) {
    const compiler::ArgInfo& arg = binary.args[i];
    DType expected = i < 20 ? DType::I64 : i == 24 ? DType::F32 : DType::I32;
    agrees = arg.isPointer == (i < 5) && (arg.isPointer || arg.type == expected);
  }
  if (!agrees) throw Error(ErrorCode::Internal, "the attention kernel's arguments are not the ones its launch packs");
}

}  // namespace

void setCompileCallback(std::function<void(const CompileProgress&)> function) {
  auto held = std::make_shared<const std::function<void(const CompileProgress&)>>(std::move(function));
  std::lock_guard lock(callbackMutex);
  callback = std::move(held);
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
  for (std::int32_t choice : {key.tile.block_m, key.tile.block_n, key.tile.block_k, key.tile.stages, key.tile.warps, key.tile.schedule})
    mix(choice);
  return hash;
}

KernelCache::KeyView KernelCache::keyOf(const AttentionConfig& config) {
  return {.dtype = config.dtype,
          .causal = config.causal,
          .hasTile = config.tile.has_value(),
          .hasShape = config.shape.has_value(),
          .headDim = config.head_dim,
          .headDimV = config.head_dim_v,
          .alignment = config.alignment,
          .tile = config.tile.value_or(TileConfig{}),
          .shape = config.shape.value_or(ShapeHint{}),
          .target = config.target};
}

Kernel KernelCache::get(const AttentionConfig& config) {
  KeyView key = keyOf(config);
  {
    std::shared_lock lock(mutex_);
    auto found = entries_.find(key);
    if (found != entries_.end() && found->second->ready.load(std::memory_order_acquire)) return Kernel(found->second->kernel);
  }
  requireSupported(config);
  std::shared_ptr<Entry> entry = builtByChoice(config);
  std::lock_guard lock(mutex_);
  if (!entries_.contains(key)) {
    auto target = std::make_unique<std::string>(config.target);
    key.target = *target;
    entries_.emplace(Key{key, std::move(target)}, entry);
  }
  return Kernel(entry->kernel);
}

std::shared_ptr<KernelCache::Entry> KernelCache::built(const AttentionConfig& resolved) {
  std::shared_ptr<Entry> entry = entryOf(keyOf(resolved));
  std::lock_guard compiling(entry->compiling);
  if (!entry->ready.load(std::memory_order_relaxed)) {
    entry->kernel = build(resolved);
    entry->ready.store(true, std::memory_order_release);
  }
  return entry;
}

// What was tuned with another compiler or driver may not work with this one. The defaults do, and a file never fails a compilation.
std::shared_ptr<KernelCache::Entry> KernelCache::builtByChoice(const AttentionConfig& config) {
  const AttentionConfig chosen = choose(config), safe = resolve(config);
  try {
    return built(chosen);
  } catch (const Error& error) {
    if (chosen.tile == safe.tile) throw;
    log::write(log::Level::Warning, "the tuned configuration does not compile, and the default " + safe.tile->toString() +
                                        " takes its place: " + nameOf(chosen) + ": " + error.constraint());
  }
  return built(safe);
}

std::shared_ptr<KernelCache::Entry> KernelCache::entryOf(const KeyView& key) {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(key);
  if (found != entries_.end()) return found->second;
  auto target = std::make_unique<std::string>(key.target);
  KeyView owned = key;
  owned.target = *target;
  return entries_.emplace(Key{owned, std::move(target)}, std::make_shared<Entry>()).first->second;
}

AttentionConfig KernelCache::choose(const AttentionConfig& config) const {
  AttentionConfig resolved = resolve(config);
  if (choose_ && leavesTileOpen(config))
    if (std::optional<TileConfig> tile = choose_(config)) resolved.tile = tile->withDefaults(*resolved.tile);
  return resolved;
}

namespace {

void useBinary(Kernel::Impl& impl, compiler::Binary& binary) {
  checkSignature(binary);
  if (impl.device == nullptr) return;
  impl.module = impl.device->load(binary);
  if (!impl.module->machineCode().empty()) binary.bytes = impl.module->machineCode();
  binary.registers = impl.module->registers();
  binary.spillBytes = static_cast<int>(impl.module->localBytes());
}

}  // namespace

std::shared_ptr<const Kernel::Impl> KernelCache::build(const AttentionConfig& resolved) {
  auto begin = std::chrono::steady_clock::now();
  report({.config = resolved, .done = false, .ms = 0});
  auto impl = std::make_shared<Kernel::Impl>();
  impl->get = [this](const AttentionConfig& config) { return get(config); };
  if (!namesChip(resolved.target)) impl->device = &openDevice(resolved.target);
  if (impl->device != nullptr) impl->maxGrid = impl->device->capabilities().maxGrid;
  // A GPU gets ready while the compiler works. What fails then fails again, and is reported, when the code is loaded.
  std::jthread preparing;
  if (impl->device != nullptr && impl->device->kind() != DeviceKind::Host)
    preparing = std::jthread([device = impl->device] {
      try {
        device->prepare();
      } catch (const Error& error) {
        log::write(log::Level::Debug, error.what());
      }
    });
  auto [binary, recompile, keep] = compile_(resolved);
  if (preparing.joinable()) preparing.join();
  bool fromCache = recompile != nullptr;
  try {
    useBinary(*impl, binary);
  } catch (const Error& error) {
    if (!fromCache) throw;
    log::write(log::Level::Info, "a binary from the cache is compiled anew: " + error.constraint());
    fromCache = false;
    binary = recompile();
    useBinary(*impl, binary);
  }
  if (!fromCache && keep) keep(binary);
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  impl->info = {.config = resolved,
                .tile = *resolved.tile,
                .device = impl->device != nullptr ? impl->device->description() : "none",
                .entry = binary.entry,
                .from_cache = fromCache,
                .compile_ms = time.count(),
                .binary_bytes = static_cast<std::int64_t>(binary.bytes.size()),
                .scratch_bytes = binary.scratchBytes,
                .shared_bytes = binary.sharedBytes,
                .threads = binary.threads,
                .registers = binary.registers,
                .spill_bytes = binary.spillBytes};
  if (log::enabled(log::Level::Info))
    log::write(log::Level::Info,
               (fromCache ? "found in the cache: " : "compiled ") + nameOf(resolved) + " in " + std::to_string(time.count()) + " ms");
  report({.config = resolved, .done = true, .ms = time.count()});
  return impl;
}

}  // namespace kernels
}  // namespace fattn
