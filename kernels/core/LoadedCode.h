// SPDX-License-Identifier: Apache-2.0
// Code on its device, and what it is made from: what every kernel has in common, whatever it computes.
#ifndef FATTN_KERNELS_CORE_LOADEDCODE_H
#define FATTN_KERNELS_CORE_LOADEDCODE_H

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "fattn/Device.h"
#include "fattn/Kernel.h"
#include "kernels/core/Target.h"
#include "runtime/base/Binary.h"

namespace fattn::kernels {

/// Slots that a launch can have: what the largest block of arguments of a GPU holds.
inline constexpr std::size_t kMostSlots = 512;

/// A binary. `recompile` is set where it was not made but found, and makes it, should the one that was found turn out unusable. `keep`,
/// where it is set, takes a binary that was made, as the device loaded it: with the machine code that its text became.
struct Compiled {
  Compiled(compiler::Binary made, std::function<compiler::Binary()> again = {}, std::function<void(const compiler::Binary&)> keeper = {})
      : binary(std::move(made)), recompile(std::move(again)), keep(std::move(keeper)) {}

  compiler::Binary binary;
  std::function<compiler::Binary()> recompile;
  std::function<void(const compiler::Binary&)> keep;
  /// Where the binary reads arrays by tensor maps: makes one that does not, for arguments that no map fits. It owns what it needs.
  std::function<Compiled()> plain = {};
};

/// Code on its device, ready to be launched.
struct LoadedCode {
  KernelCode info;
  ResolvedTarget target;
  std::vector<compiler::ArgInfo> args;
  std::array<std::int64_t, 3> maxGrid{};
  Device* device = nullptr;  ///< none where the target is a chip
  std::unique_ptr<Module> module;
  std::shared_ptr<const void> client;  ///< what Source::client made

  std::function<Compiled()> plain;  ///< Compiled::plain

  /// Launches this code, or where it cannot read what these argument slots say (Module::accepts), the same kernel without tensor maps. The
  /// first such launch finds or compiles that. `keep` is as in Device::tryLaunch().
  void launch(Stream stream, Grid grid, std::span<const std::uint64_t> slots, PreparedLaunch* keep = nullptr) const;
  /// The device; throws where there is none to launch on.
  Device& requireDevice() const;

 private:
  const LoadedCode& withoutMaps() const;

  mutable std::mutex compiling_;
  mutable std::shared_ptr<const LoadedCode> plainOwner_;
  mutable std::atomic<const LoadedCode*> plainCode_{nullptr};
};

/// A kernel for a target, but for its tile configuration.
struct Source {
  std::string key;   ///< everything that shapes the code, but the tile
  std::string text;  ///< for people: "attention f16 head_dim 64 for host"
  ResolvedTarget target;
  TileConfig safe{};                                          ///< the tile configuration that works everywhere
  std::function<Compiled(const TileConfig& tile)> compile{};  ///< makes or finds the binary
  std::function<void(const compiler::Binary&)> accept{};      ///< throws where a binary is not one of this source's; may be empty
  std::function<std::shared_ptr<const void>(const LoadedCode&)> client{};        ///< may be empty
  std::function<void(const TileConfig& tile, bool done, double ms)> progress{};  ///< may be empty
};
/// "attention f16 head_dim 64 for host with BLOCK_M=64,BLOCK_N=64".
std::string describe(const Source& source, const TileConfig& tile);

/// The binary of a source on its device, with progress reported. Throws Error.
std::shared_ptr<const LoadedCode> loadCode(const Source& source, const TileConfig& tile);

}  // namespace fattn::kernels

#endif
