// SPDX-License-Identifier: Apache-2.0
// The kernels that calls have compiled: a call without a handle of its own finds its kernel here.
#ifndef FATTN_KERNELS_LIBRARY_HANDLES_H
#define FATTN_KERNELS_LIBRARY_HANDLES_H

#include <cstdint>
#include <deque>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>

#include "fattn/Template.h"

namespace fattn::kernels {

/// By template, target and a number that says which parameters. Thread-safe; get() of what is there allocates nothing.
class Handles {
 public:
  using Make = Parameters (*)(std::uint32_t);

  /// Compiles the template for make(kind) and these extents where no call has before: kinds differ where the tiles for their extents do
  /// (KernelTemplate::tileFor).
  const TemplateKernel& get(const KernelTemplate& from, std::uint32_t kind, std::string_view target, Make make,
                            std::span<const std::int64_t> extents = {});
  void lockAcrossForks();

 private:
  struct Entry {
    const KernelTemplate* from;
    std::uint32_t kind;
    std::string target;
    TemplateKernel kernel;
  };
  const Entry* find(const KernelTemplate& from, std::uint32_t kind, std::string_view target) const;

  std::shared_mutex mutex_;
  std::deque<Entry> entries_;  // only grows, and nothing in it moves
};

/// The process's.
Handles& handles();

}  // namespace fattn::kernels

#endif
