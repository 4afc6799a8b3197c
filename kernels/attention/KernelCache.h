// SPDX-License-Identifier: Apache-2.0
// The attention kernels of this process, by configuration.
#ifndef FATTN_KERNELS_ATTENTION_KERNELCACHE_H
#define FATTN_KERNELS_ATTENTION_KERNELCACHE_H

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "fattn/Attention.h"
#include "kernels/attention/AttentionLaunch.h"
#include "kernels/core/CodeCache.h"

namespace fattn {

/// What a Kernel points to.
struct Kernel::Impl : kernels::KernelHandle {};

namespace kernels {

/// What launches of attention need of its code, beside the code.
struct AttentionCode {
  KernelInfo info;
  AttentionSlots slots;

  /// The same kernel for operands that are aligned to nothing but their elements. The first call finds or compiles it.
  const LoadedCode& forAnyAlignment() const;
  /// The cache's get(), for that.
  std::function<std::shared_ptr<const LoadedCode>(const AttentionConfig&)> get;

  AttentionCode(KernelInfo what, const AttentionSlots& where) : info(std::move(what)), slots(where) {}

 private:
  mutable std::atomic<const LoadedCode*> anyAlignment_{nullptr};
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const LoadedCode> anyAlignmentOwner_;
};
inline const AttentionCode& attentionOf(const LoadedCode& code) { return *static_cast<const AttentionCode*>(code.client.get()); }

/// The bucket of a shape: batch entries times heads, rows of q, rows of k.
inline ShapeBucket attentionBucket(std::int64_t batch, std::int64_t heads, std::int64_t seqQ, std::int64_t seqK) {
  const auto all = static_cast<std::uint64_t>(batch) * static_cast<std::uint64_t>(heads);  // of what is illegal as well
  return ShapeBucket::of({static_cast<std::int64_t>(all), seqQ, seqK});
}

/// Makes or finds the binary of a resolved configuration.
using CompileFunction = std::function<Compiled(const AttentionConfig& resolved)>;
/// Whom to ask for the tile configuration, before the defaults, where the caller left it open.
using ChooseFunction = std::function<TileChoice(const AttentionConfig& config)>;

/// Thread-safe. A configuration that left choices open and the one it resolves to share one kernel.
class KernelCache {
 public:
  explicit KernelCache(CompileFunction compile, ChooseFunction choose = {}) : compile_(std::move(compile)), choose_(std::move(choose)) {}

  Kernel get(const AttentionConfig& config);
  /// Has a forked child find this cache unlocked. The cache then must live as long as the process.
  void lockAcrossForks();
  /// The kernels for different shapes of an open configuration; none before its first get().
  std::shared_ptr<const Variants> variants(const AttentionConfig& config) { return codes_.variants(sourceOf(config)); }

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
  Source sourceOf(const AttentionConfig& config);
  std::shared_ptr<const AttentionCode> attentionCode(const AttentionConfig& resolved, const LoadedCode& code);

  CompileFunction compile_;
  ChooseFunction choose_;
  CodeCache codes_;
  std::shared_mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<const Kernel::Impl>, Hash, Equal> handles_;
};

/// The cache behind fattn::compile; in CompileAttention.cpp.
KernelCache& kernelCache();

}  // namespace kernels
}  // namespace fattn

#endif
