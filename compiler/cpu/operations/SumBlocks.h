// SPDX-License-Identifier: Apache-2.0
// Products whose contraction runs along the lanes: where rows are few, no lane is left without work, and operands that are contiguous along
// the contraction are read as they lie.
//
//   for column step, row step:  acc[r][c] = 0       for k (vectors):  a[r] = A[row + r][k..], b[c] = B[column + c][k..]
//                                                                     acc[r][c] += a[r] * b[c]
//                               lanes of all acc[r][c] added up, in rounds that halve the number of vectors
//                               store R x C sums, which fill one vector
#ifndef FATTN_COMPILER_CPU_OPERATIONS_SUMBLOCKS_H
#define FATTN_COMPILER_CPU_OPERATIONS_SUMBLOCKS_H

#include "compiler/cpu/operations/Panel.h"

namespace fattn::cpu {

void multiplyAlongK(HostBuilder& b, const Panel& panel);

}  // namespace fattn::cpu

#endif
