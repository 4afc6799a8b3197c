// SPDX-License-Identifier: Apache-2.0
// The kernels of this process, by configuration.
#ifndef FATTN_KERNELS_KERNELCACHE_H
#define FATTN_KERNELS_KERNELCACHE_H

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "compiler/emit/Binary.h"
#include "fattn/Attention.h"

namespace fattn {

/// What a Kernel points to.
struct Kernel::Impl {
  KernelInfo info;
  std::array<std::int64_t, 3> maxGrid{};
  Device* device = nullptr;  // none where the target is a chip
  std::unique_ptr<Module> module;
  /// The cache's get(), for operands that this kernel does not take.
  std::function<Kernel(const AttentionConfig&)> get;
};

namespace kernels {

/// A binary. `recompile` is set where it was not made but found, and makes it, should the one that was found turn out unusable. `keep`,
/// where it is set, takes a binary that was made, as the device loaded it: with the machine code that its text became.
struct Compiled {
  Compiled(compiler::Binary made, std::function<compiler::Binary()> again = {}, std::function<void(const compiler::Binary&)> keeper = {})
      : binary(std::move(made)), recompile(std::move(again)), keep(std::move(keeper)) {}

  compiler::Binary binary;
  std::function<compiler::Binary()> recompile;
  std::function<void(const compiler::Binary&)> keep;
};

/// Makes or finds the binary of a resolved configuration.
using CompileFunction = std::function<Compiled(const AttentionConfig& resolved)>;
/// Whom to ask for the tile configuration, before the defaults, where the caller left it open.
using ChooseFunction = std::function<std::optional<TileConfig>(const AttentionConfig& config)>;

/// Thread-safe. A configuration that left choices open and the one it resolves to share one kernel.
class KernelCache {
 public:
  explicit KernelCache(CompileFunction compile, ChooseFunction choose = {}) : compile_(std::move(compile)), choose_(std::move(choose)) {}

  Kernel get(const AttentionConfig& config);

 private:
  // A configuration, with the target as a view so that a look-up copies nothing.
  struct KeyView {
    DType dtype;
    bool causal, hasTile, hasShape;
    std::int64_t headDim, headDimV;
    std::int32_t alignment;
    TileConfig tile;
    ShapeHint shape;
    std::string_view target;
    bool operator==(const KeyView&) const = default;
  };
  struct Key {
    KeyView view;  // its target points into the string below
    std::unique_ptr<std::string> target;
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
  struct Entry {
    std::mutex compiling;
    std::atomic<bool> ready{false};
    std::shared_ptr<const Kernel::Impl> kernel;  // written once, before ready
  };

  static KeyView keyOf(const AttentionConfig& config);
  std::shared_ptr<Entry> entryOf(const KeyView& key);
  std::shared_ptr<Entry> built(const AttentionConfig& resolved);
  std::shared_ptr<Entry> builtByChoice(const AttentionConfig& config);
  AttentionConfig choose(const AttentionConfig& config) const;
  std::shared_ptr<const Kernel::Impl> build(const AttentionConfig& resolved);

  CompileFunction compile_;
  ChooseFunction choose_;
  std::shared_mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<Entry>, Hash, Equal> entries_;
};

}  // namespace kernels
}  // namespace fattn

#endif
