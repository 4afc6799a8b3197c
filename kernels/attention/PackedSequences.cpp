// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/PackedSequences.h"

namespace fattn::kernels {

using namespace dsl;

Sequence packedSequence(const TensorArg& cumulative, const Scalar& rows, const Scalar& batch) {
  const Ptr here = cumulative.base + cast(batch, DType::I64) * cumulative.stride[0];
  const Scalar most = cast(rows, DType::I32), first = max(min(load(here), most), 0);
  return {first, max(min(load(here + cumulative.stride[0]), most) - first, 0)};
}

}  // namespace fattn::kernels
