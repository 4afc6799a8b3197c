// SPDX-License-Identifier: Apache-2.0
// The kernels of this process, by configuration.
#ifndef FATTN_KERNELS_KERNELCACHE_H
#define FATTN_KERNELS_KERNELCACHE_H

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/emit/Binary.h"
#include "fattn/Attention.h"
#include "kernels/core/Variants.h"

namespace fattn {

namespace kernels {

/// Code on its device, ready to be launched.
struct LoadedKernel {
  KernelInfo info;
  std::array<std::int64_t, 3> maxGrid{};
  Device* device = nullptr;  // none where the target is a chip
  std::unique_ptr<Module> module;

  /// The same kernel for operands that are aligned to nothing but their elements. The first call finds or compiles it.
  const LoadedKernel& forAnyAlignment() const;
  /// The cache's get(), for that.
  std::function<std::shared_ptr<const LoadedKernel>(const AttentionConfig&)> get;

 private:
  mutable std::atomic<const LoadedKernel*> anyAlignment_{nullptr};
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const LoadedKernel> anyAlignmentOwner_;
};

}  // namespace kernels

/// What a Kernel points to.
struct Kernel::Impl {
  std::shared_ptr<const kernels::LoadedKernel> code;
  /// Where the tile configuration was left open: the kernels for other shapes. A launch takes `code` where none of them is near.
  std::shared_ptr<const kernels::Variants> variants{};
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
/// What tuning says about a configuration whose tile is open.
struct TileChoice {
  TileChoice(std::optional<TileConfig> chosen, std::vector<TunedShape> known = {}) : tile(std::move(chosen)), shapes(std::move(known)) {}
  TileChoice(TileConfig chosen) : tile(std::move(chosen)) {}

  std::optional<TileConfig> tile;  ///< none: the default
  std::vector<TunedShape> shapes;  ///< the buckets that have one of their own
};
/// Whom to ask for the tile configuration, before the defaults, where the caller left it open.
using ChooseFunction = std::function<TileChoice(const AttentionConfig& config)>;

/// The binary of a resolved configuration on its device; in LoadKernel.cpp.
std::shared_ptr<LoadedKernel> loadKernel(const AttentionConfig& resolved, const CompileFunction& compile);
/// "attention f16 head_dim 64 for host with BLOCK_M=64,BLOCK_N=64".
std::string describe(const AttentionConfig& resolved);

/// Thread-safe. A configuration that left choices open and the one it resolves to share one kernel.
class KernelCache {
 public:
  explicit KernelCache(CompileFunction compile, ChooseFunction choose = {}) : compile_(std::move(compile)), choose_(std::move(choose)) {}

  Kernel get(const AttentionConfig& config);
  /// Has a forked child find this cache unlocked. The cache then must live as long as the process.
  void lockAcrossForks();
  /// The kernels for different shapes of an open configuration; none before its first get().
  std::shared_ptr<const Variants> variants(const AttentionConfig& config);

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
  struct Entry {
    std::mutex compiling;
    std::atomic<bool> ready{false};
    std::shared_ptr<const Kernel::Impl> kernel;  // written once, before ready
  };

  static std::shared_ptr<Entry> entryWith(std::shared_ptr<const LoadedKernel> code, std::shared_ptr<const Variants> variants);
  static KeyView keyOf(const AttentionConfig& config);
  std::shared_ptr<Entry> entryOf(const KeyView& key);
  std::shared_ptr<Entry> built(const AttentionConfig& resolved);
  std::shared_ptr<Entry> builtOpen(const AttentionConfig& config);
  std::shared_ptr<Entry> builtClosed(const AttentionConfig& config);
  std::shared_ptr<const LoadedKernel> builtOrSafe(const AttentionConfig& chosen, const AttentionConfig& safe);
  std::shared_ptr<Variants> variantsOf(const AttentionConfig& resolved);

  CompileFunction compile_;
  ChooseFunction choose_;
  std::shared_mutex mutex_;
  std::unordered_map<Key, std::shared_ptr<Entry>, Hash, Equal> entries_;
  std::unordered_map<Key, std::shared_ptr<Variants>, Hash, Equal> variants_;  // by what is resolved, but for the tile
};

/// The cache behind fattn::compile; in CompileAttention.cpp.
KernelCache& kernelCache();

}  // namespace kernels
}  // namespace fattn

#endif
