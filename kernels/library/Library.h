// SPDX-License-Identifier: Apache-2.0
// The templates behind the calls of fattn/Library.h.
#ifndef FATTN_KERNELS_LIBRARY_LIBRARY_H
#define FATTN_KERNELS_LIBRARY_LIBRARY_H

#include "fattn/Template.h"

namespace fattn::kernels {

/// Parameters: dtype and out (types), a_columns, b_columns (whether a's, b's columns lie side by side), bias, residual, activation ("none",
/// "gelu", "silu"), alignment (bytes). Extents m, n, k. Arguments: tensors a [m, k], or [k, m] where a_columns; b [k, n], or [n, k] where
/// b_columns; bias [n]; residual [m, n]; out [m, n].
const KernelTemplate& gemmTemplate();
/// Whether blocks of 128 x 256 of an m x n result are too few to occupy a large GPU: its tile is smaller then.
bool isSmallProduct(std::int64_t m, std::int64_t n);

/// The power of two that kernels of rows choose their tile by: the least that is not below the number of columns, within the limits of what
/// blocks hold.
std::int64_t rowsWidth(std::int64_t columns);

/// Parameters: dtype, alignment. Extents rows, columns. Arguments: tensors x, out [rows, columns].
const KernelTemplate& rowSoftmaxTemplate();

/// Parameters: dtype, alignment, weight, bias (whether there is one). Extents rows, columns. Arguments: tensors x [rows, columns], weight,
/// bias [columns], out [rows, columns]; f32 eps.
const KernelTemplate& layerNormTemplate();
/// The same without bias.
const KernelTemplate& rmsNormTemplate();

/// "none", "gelu", "silu": the values of gemm's parameter activation.
inline constexpr const char* kActivations[] = {"none", "gelu", "silu"};

}  // namespace fattn::kernels

#endif
