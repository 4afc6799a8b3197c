// SPDX-License-Identifier: Apache-2.0
// What tuning has to know of a kernel and a shape.
#ifndef FATTN_KERNELS_CORE_TUNEPROBLEM_H
#define FATTN_KERNELS_CORE_TUNEPROBLEM_H

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fattn/TileConfig.h"
#include "fattn/dsl/Trace.h"
#include "kernels/core/Target.h"
#include "runtime/cache/TunedBuckets.h"

namespace fattn::kernels {

class Bench;

/// Functions that are empty say: nothing.
struct TuneProblem {
  std::string name;  ///< of the kernel, as people and folders call it: "attention_forward-bf16-d128-v128-causal"
  ResolvedTarget target;
  TileConfig safe;                   ///< the default: complete
  std::vector<std::string> extents;  ///< the names of a shape's extents, at most kMostExtents, in the order of a ShapeBucket
  std::string decisive;              ///< the extent without which nothing was told of lengths: no bucket is that of the shape then
  cache::Shape told;                 ///< what the caller says of the shape; may lack extents
  cache::Shape shape;                ///< with what is typical where nothing is told
  /// The text of a program depends on its tile. What stands for the kernel itself is its text with this one.
  TileConfig reference;
  std::function<dsl::Program(const TileConfig&)> trace;
  /// Why the kernel cannot be compiled with a tile, in one sentence.
  std::function<std::optional<std::string>(const TileConfig&)> refusal{};
  /// Whether a bucket that is near may decide.
  std::function<bool(const cache::TunedBucket&)> hasSay{};

  /// What is searched: candidates, the promising ones first; why one of them cannot work or only waste; and of a good one the same with the
  /// choices that matter less.
  std::function<std::vector<TileConfig>()> space{};
  std::function<std::optional<std::string>(const TileConfig&)> misfit{};
  std::function<std::vector<TileConfig>(const TileConfig&)> variants{};
  /// Operands of `shape`, and whatever launches a tile's kernel on them.
  std::function<std::unique_ptr<Bench>()> bench{};
};

}  // namespace fattn::kernels

#endif
