// SPDX-License-Identifier: Apache-2.0
// Kernels beside attention that engines ask for, each a call. The first call for a kind of operands compiles a kernel, or finds it on disk;
// later ones find it in well below a microsecond, allocate nothing and may be captured. Threads may call at the same time. Operands are
// strided views of the target's memory; a call does not wait for its result, except on the host. Throws Error{InvalidArgument} naming the
// tensor, Error{Unsupported} naming what is supported. Behind each call is a template (fattn/Template.h) of the name given here.
#ifndef FATTN_LIBRARY_H
#define FATTN_LIBRARY_H

#include <optional>
#include <string_view>

#include "fattn/Device.h"
#include "fattn/TensorView.h"

namespace fattn {

enum class Activation : std::uint8_t {
  None,
  Gelu,  ///< x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  Silu,  ///< x / (1 + exp(-x))
};

struct GemmArgs {
  TensorView a;    ///< [m, k]: f32, f16, bf16 or i8; the elements of its rows or of its columns lie side by side
  TensorView b;    ///< [k, n]: as a, of the same type
  TensorView out;  ///< [m, n], written: rows side by side; of f32, f16 or bf16, or f32; of i8, i32 or f32. Shares no memory with a and b
  std::optional<TensorView> bias{};      ///< [n], of out's type
  std::optional<TensorView> residual{};  ///< [m, n], of out's type, rows side by side; may be exactly out
  Activation activation = Activation::None;
};
/// out = activation(a b + bias) + residual. Sums are f32 (f32 products are exact to f32), of i8 i32; there is no activation into i32.
/// Template "gemm".
void gemm(Stream stream, const GemmArgs& args, std::string_view target = "");

/// out = exp(x) / sum(exp(x)) over the last dimension, for rows of any length; f32, f16 or bf16, arithmetic in f32. Both have the same
/// shape of 1 to 6 dimensions, whose leading ones can be seen as one; out may be exactly x. A row of -infinity only gives NaN. Template
/// "row_softmax".
void softmax(Stream stream, const TensorView& x, const TensorView& out, std::string_view target = "");

struct NormArgs {
  TensorView x;                        ///< [..., columns]: f32, f16 or bf16; arithmetic in f32
  TensorView out;                      ///< the same shape and type, written; may be exactly x
  std::optional<TensorView> weight{};  ///< [columns], of the same type; none = 1
  std::optional<TensorView> bias{};    ///< [columns]; none = 0; of layer_norm only
  float eps = 1e-5f;
};
/// out = (x - mean) / sqrt(variance + eps) * weight + bias over the last dimension. Template "layer_norm".
void layer_norm(Stream stream, const NormArgs& args, std::string_view target = "");
/// out = x / sqrt(mean(x^2) + eps) * weight over the last dimension. Template "rms_norm".
void rms_norm(Stream stream, const NormArgs& args, std::string_view target = "");

}  // namespace fattn

#endif
