// SPDX-License-Identifier: Apache-2.0
#include "kernels/library/Handles.h"

#include <memory>
#include <mutex>
#include <new>

#include "runtime/base/Lifecycle.h"

namespace fattn::kernels {

const TemplateKernel& Handles::get(const KernelTemplate& from, std::uint32_t kind, std::string_view target, Make make,
                                   std::span<const std::int64_t> extents) {
  {
    std::shared_lock lock(mutex_);
    if (const Entry* entry = find(from, kind, target)) return entry->kernel;
  }
  const Busy busy;
  TemplateKernel kernel =
      compile(from, make(kind), {.target = std::string(target), .tile = {}, .extents = {extents.begin(), extents.end()}});
  std::unique_lock lock(mutex_);
  if (const Entry* entry = find(from, kind, target)) return entry->kernel;
  return entries_.emplace_back(&from, kind, std::string(target), std::move(kernel)).kernel;
}

void Handles::lockAcrossForks() {
  // A lock of this kind knows the thread that took it, which has another number in the child: there it begins anew.
  atFork([this] { mutex_.lock(); }, [this] { mutex_.unlock(); }, [this] { new (&mutex_) std::shared_mutex; });
}

const Handles::Entry* Handles::find(const KernelTemplate& from, std::uint32_t kind, std::string_view target) const {
  for (const Entry& entry : entries_)
    if (entry.kind == kind && entry.from == &from && entry.target == target) return &entry;
  return nullptr;
}

Handles& handles() {
  static constinit Immortal<Handles> handles;
  return handles.get([] {
    auto made = std::make_unique<Handles>();
    made->lockAcrossForks();
    return made.release();
  });
}

}  // namespace fattn::kernels
