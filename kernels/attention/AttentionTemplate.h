// SPDX-License-Identifier: Apache-2.0
// The template behind fattn/Attention.h.
#ifndef FATTN_KERNELS_ATTENTION_ATTENTIONTEMPLATE_H
#define FATTN_KERNELS_ATTENTION_ATTENTIONTEMPLATE_H

#include <array>
#include <cstdint>

#include "fattn/Attention.h"
#include "fattn/Template.h"

namespace fattn::kernels {

/// Attention forward, as "attention_forward". Parameters: dtype; head_dim; head_dim_v (0: head_dim); causal; alignment (bytes; 0: 16, on
/// the host the element's). Extents: seq_q; seq_k; heads (query heads of all batch entries); and more, batch. Arguments: declareForward().
/// Arguments that are aligned to less than `alignment` take the kernel for the elements' alignment.
const KernelTemplate& forwardTemplate();

/// What a configuration asks of the template: nothing is resolved yet.
struct AskedOfTemplate {
  Parameters parameters;
  TemplateFor how;
};
/// Throws Error{InvalidArgument} for a shape that is none.
AskedOfTemplate askedOf(const AttentionConfig& config);
/// What a configuration tells of its shape as the template's extents, 0 where nothing is told; as many keys as queries where only these are
/// told.
std::array<std::int64_t, 4> extentsOf(const AttentionConfig& config);

}  // namespace fattn::kernels

#endif
