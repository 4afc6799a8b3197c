// SPDX-License-Identifier: Apache-2.0
#include "kernels/core/CodeCache.h"

#include <new>

#include "fattn/Error.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/base/Log.h"

namespace fattn::kernels {

void CodeCache::lockAcrossForks() {
  // A lock may know the thread that took it, which has another number in the child: there it begins anew.
  atFork([this] { mutex_.lock(); }, [this] { mutex_.unlock(); }, [this] { new (&mutex_) std::mutex; });
}

static std::string entryKey(const Source& source, const TileConfig& tile) { return source.key + "\n" + tile.toString(); }

bool CodeCache::has(const Source& source, const TileConfig& tile) {
  std::lock_guard lock(mutex_);
  auto found = entries_.find(entryKey(source, tile));
  return found != entries_.end() && found->second->ready.load(std::memory_order_acquire);
}

std::shared_ptr<const LoadedCode> CodeCache::built(const Source& source, const TileConfig& tile) {
  const std::string key = entryKey(source, tile);
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Entry>& found = entries_[key];
    if (!found) found = std::make_shared<Entry>();
    entry = found;
  }
  std::lock_guard compiling(entry->compiling);
  if (!entry->ready.load(std::memory_order_relaxed)) {
    entry->code = loadCode(source, tile);
    entry->ready.store(true, std::memory_order_release);
  }
  return entry->code;
}

KernelHandle CodeCache::open(const Source& source, TileChoice choice) {
  const TileConfig chosen = choice.tile ? choice.tile->withDefaults(source.safe) : source.safe;
  std::shared_ptr<const LoadedCode> code = builtOrSafe(source, chosen);
  std::shared_ptr<Variants> variants;
  {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Variants>& found = variants_[source.key];
    if (!found) found = std::make_shared<Variants>();
    variants = found;
  }
  variants->learn(std::move(choice.shapes));
  variants->add(chosen, code);
  return {.code = std::move(code), .variants = std::move(variants)};
}

KernelHandle CodeCache::closed(const Source& source, const TileConfig& asked) {
  const TileConfig tile = asked.withDefaults(source.safe);
  if (tile.schedule.empty() || !asked.schedule.empty()) return {.code = built(source, tile)};
  Source fixed = source;
  fixed.safe = tile;
  return {.code = builtOrSafe(fixed, tile)};
}

// What was tuned with another compiler or driver may not work with this one: its schedule may not fit the loop any more, or all of it may
// be too much. The compiler's own order, and then the defaults, do; a file never fails a compilation.
std::shared_ptr<const LoadedCode> CodeCache::builtOrSafe(const Source& source, const TileConfig& chosen) {
  if (chosen == source.safe && chosen.schedule.empty()) return built(source, chosen);
  TileConfig unordered = chosen;
  unordered.schedule.clear();
  std::string failure;
  auto tried = [&](const TileConfig& tile) -> std::shared_ptr<const LoadedCode> {
    try {
      return built(source, tile);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::CompileError && tile == source.safe) throw;
      failure = error.constraint();
      return nullptr;
    }
  };
  if (auto code = tried(chosen)) return code;
  if (!chosen.schedule.empty())
    if (auto code = tried(unordered)) {
      log::write(log::Level::Warning,
                 "the schedule of the configuration does not fit the loop, and the compiler's first choice takes its "
                 "place: " +
                     describe(source, chosen) + ": " + failure);
      return code;
    }
  if (chosen == source.safe) return built(source, unordered);  // fails again, and says why
  log::write(log::Level::Warning, "the tuned configuration does not compile, and the default " + source.safe.toString() +
                                      " takes its place: " + describe(source, chosen) + ": " + failure);
  return builtOrSafe(source, source.safe);
}

std::shared_ptr<const Variants> CodeCache::variants(const Source& source) {
  std::lock_guard lock(mutex_);
  auto found = variants_.find(source.key);
  return found == variants_.end() ? nullptr : found->second;
}

}  // namespace fattn::kernels
