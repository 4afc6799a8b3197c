// SPDX-License-Identifier: Apache-2.0
// What a user leaves open of a backward pass, and the parameters of its templates.
#ifndef FATTN_KERNELS_ATTENTION_BACKWARDCONFIGS_H
#define FATTN_KERNELS_ATTENTION_BACKWARDCONFIGS_H

#include "fattn/Backward.h"
#include "fattn/Template.h"

namespace fattn::kernels::backward {

/// The configuration with what was left open. Throws Error{InvalidArgument} for one that nothing is compiled for.
BackwardConfig legalBackward(const BackwardConfig& given);

/// Of a template, which has the parameters `causal` and `sums` or not.
Parameters parametersOf(const BackwardConfig& config, bool hasCausal, bool hasSums);

}  // namespace fattn::kernels::backward

#endif
