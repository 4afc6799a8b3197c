// SPDX-License-Identifier: Apache-2.0
// The choices a kernel leaves open: block sizes, pipeline depth, warps. One value is one point of the tuner's space.
#ifndef FATTN_TILE_CONFIG_H
#define FATTN_TILE_CONFIG_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fattn {

/// Named choices. 0, or an empty text, always means "not chosen": the kernel's defaults or the compiler decide.
/// The text form is "BLOCK_M=128,BLOCK_N=64,STAGES=2,SCHEDULE=A B1 a": the names in capitals, in any order, each at most once.
struct TileConfig {
  std::int32_t block_m = 0;  ///< rows of the result one program computes: 1, 2, 4 or a multiple of 8 up to 1024
  std::int32_t block_n = 0;  ///< columns one step of the main loop takes in: same values, up to 16384
  std::int32_t block_k = 0;  ///< depth of one step, in kernels with a third block size: as block_m
  std::int32_t stages = 0;   ///< buffers of the load pipeline: 1 to 8; 1 = no overlap of loads and arithmetic
  std::int32_t warps = 0;    ///< warps (AMD: waves) of one program: 1 to 32; the host ignores it
  /// The order of the main loop's work, one line as docs/schedule.md explains it: names of nodes, each with its stage where that is not 0;
  /// behind them, or alone, words as docs/tuning.md lists them, such as persistent or waves2.
  /// The host ignores it; a GPU's compiler refuses one that does not fit the loop.
  std::string schedule{};

  /// Parses the text form. Blanks around names and values are allowed; an empty text is all unset. The result is valid.
  /// Throws Error{InvalidArgument} naming the bad item and listing the legal names or values.
  static TileConfig parse(std::string_view text);
  /// The text form of the choices that are set, in declaration order; "" where none is.
  std::string toString() const;
  /// Throws Error{InvalidArgument} naming the first choice that is out of its range, and the range.
  void validate() const;
  /// This configuration with every unset choice taken from `defaults`; the schedule only where all others agree with them then, as it
  /// was chosen for that one configuration.
  TileConfig withDefaults(const TileConfig& defaults) const;

  bool operator==(const TileConfig&) const = default;
};

}  // namespace fattn

#endif
