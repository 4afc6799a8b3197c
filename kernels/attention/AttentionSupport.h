// SPDX-License-Identifier: Apache-2.0
// What a user asks of attention, what shapes its code, and the way from the one to the other.
#ifndef FATTN_KERNELS_ATTENTIONSUPPORT_H
#define FATTN_KERNELS_ATTENTIONSUPPORT_H

#include <cstdint>
#include <optional>
#include <string>

#include "fattn/Attention.h"
#include "fattn/Target.h"
#include "fattn/Template.h"

namespace fattn::kernels {

/// What shapes the code of the forward pass beside target and tile: the parameters of its template. 0 is a choice that a user left open;
/// behind complete() nothing is open.
struct ForwardKind {
  DType dtype = DType::F16;
  std::int64_t head_dim = 0, head_dim_v = 0;
  bool causal = false;
  std::int32_t alignment = 0;  ///< of data pointers and strides, in bytes

  bool operator==(const ForwardKind&) const = default;
};
ForwardKind kindOf(const Parameters& parameters);
Parameters parametersOf(const ForwardKind& kind);
/// With what is open as a machine has it: head_dim_v is head_dim; the host needs no more than the elements' alignment, a GPU 16 bytes.
ForwardKind complete(const ForwardKind& asked, const Machine& machine);
/// "attention f16 head_dim 64 causal": a complete kind for people.
std::string textOf(const ForwardKind& kind);

/// Of a configuration what shapes the code.
ForwardKind askedKind(const AttentionConfig& config);
/// The configuration that stands for compiled code.
AttentionConfig configOf(const ForwardKind& kind, const std::string& target, const TileConfig& tile);

/// These throw what supports() returns: of the kind, open or complete; of a tile configuration, which has to be valid; of a shape.
void requireKind(const ForwardKind& asked);
void requireChoices(const TileConfig& tile);
void requireShape(const std::optional<ShapeHint>& shape);
/// All of them and the target: everything but what the compiler alone can say, whether a tile configuration fits a GPU.
void requireSupported(const AttentionConfig& config);

/// A configuration with nothing left open: what compiles without the layer of templates, and tools that look inside. The layer resolves by
/// the same functions (Instance). The tile's open choices are the defaults, not what was tuned.
struct ResolvedAttention {
  ForwardKind kind;
  std::string target;
  TileConfig tile;

  bool operator==(const ResolvedAttention&) const = default;
};
ResolvedAttention resolve(const AttentionConfig& config);

/// The bytes of shared memory of a block on a GPU that holds Q and a ring of K and V, which is nearly all there is. What moves between
/// layouts comes on top, in f32 above all; supports() asks the compiler.
std::int64_t plainSharedBytes(const ForwardKind& kind, const TileConfig& tile);

/// The tile configuration of a complete kind where nobody chose one and nothing is tuned.
/// `isUneven`: programs differ in length, as under a causal mask or where sequences do. `queries`: rows of a head, 0: not known.
TileConfig defaultTile(const ForwardKind& kind, const Machine& machine, bool isUneven, std::int64_t queries = 0);
inline TileConfig defaultTile(const ForwardKind& kind, const Machine& machine) { return defaultTile(kind, machine, kind.causal); }

}  // namespace fattn::kernels

#endif
