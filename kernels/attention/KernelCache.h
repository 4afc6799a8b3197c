// SPDX-License-Identifier: Apache-2.0
// The attention kernels of this process, by configuration.
#ifndef FATTN_KERNELS_ATTENTION_KERNELCACHE_H
#define FATTN_KERNELS_ATTENTION_KERNELCACHE_H

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "fattn/Attention.h"
#include "fattn/Handles.h"
#include "fattn/Template.h"
#include "kernels/attention/AttentionLaunch.h"
#include "kernels/attention/AttentionSupport.h"

namespace fattn {

/// What a Kernel points to.
struct Kernel::Impl {
  /// Throws Error{Internal} where the program declared other arguments than a launch packs.
  explicit Impl(TemplateKernel compiled);

  TemplateKernel kernel;
  kernels::ForwardKind kind;
  kernels::AttentionSlots slots;
  KernelInfo info;
  Device* device;  ///< none where the target is a chip
  kernels::LaunchLimits limits;
  std::uint64_t number;  ///< no other one has had it
};

namespace kernels {

/// Thread-safe. A configuration that left choices open and the one it resolves to have handles of their own, which share the code.
class KernelCache {
 public:
  constexpr KernelCache() noexcept = default;
  /// For another template with the arguments of attention's, which lives longer.
  explicit KernelCache(const KernelTemplate& from) : from_(&from) {}

  const Kernel& get(const AttentionConfig& config);

 private:
  // A configuration, with its texts as views so that a look-up copies nothing.
  struct KeyView {
    DType dtype;
    bool causal, hasTile, hasShape;
    std::int64_t headDim, headDimV;
    std::int32_t alignment;
    std::array<std::int32_t, 5> tile;  // the numbers
    ShapeHint shape;
    std::string_view target, schedule;
    bool operator==(const KeyView&) const = default;
  };
  struct Key {
    explicit Key(const KeyView& from) : view(from), texts(new std::array{std::string(from.target), std::string(from.schedule)}) {
      view.target = (*texts)[0];
      view.schedule = (*texts)[1];
    }
    KeyView view;  // its texts are those below
    std::unique_ptr<std::array<std::string, 2>> texts;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const KeyView& key) const;
    std::size_t operator()(const Key& key) const { return (*this)(key.view); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Key& a, const Key& b) const { return a.view == b.view; }
    bool operator()(const Key& a, const KeyView& b) const { return a.view == b; }
    bool operator()(const KeyView& a, const Key& b) const { return a == b.view; }
  };

  static KeyView keyOf(const AttentionConfig& config);

  const KernelTemplate* from_ = nullptr;  // none: attention's
  Handles<Key, Kernel, Hash, Equal> handles_;
};

}  // namespace kernels
}  // namespace fattn

#endif
