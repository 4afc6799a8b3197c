// SPDX-License-Identifier: Apache-2.0
// Sequences that lie behind each other without padding.
#ifndef FATTN_KERNELS_ATTENTION_PACKEDSEQUENCES_H
#define FATTN_KERNELS_ATTENTION_PACKEDSEQUENCES_H

#include "fattn/dsl/Dsl.h"

namespace fattn::kernels {

/// Where a sequence lies among all rows. Numbers that no packed batch has count as the nearest ones, so that nothing beyond the rows is
/// reached.
struct Sequence {
  dsl::Scalar first, length;  ///< i32
};

/// `cumulative`: i32 [batch + 1], where each sequence begins and the last one ends; `rows`: how many there are in all.
Sequence packedSequence(const dsl::TensorArg& cumulative, const dsl::Scalar& rows, const dsl::Scalar& batch);

}  // namespace fattn::kernels

#endif
