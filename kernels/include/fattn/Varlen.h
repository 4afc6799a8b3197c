// SPDX-License-Identifier: Apache-2.0
// Attention of sequences of different lengths, packed behind each other without padding (cu_seqlens): prefill and training on ragged
// batches. Where sequences begin is device data, so that a captured graph can be replayed with other lengths.
//   VarlenKernel kernel = compile(VarlenConfig{.dtype = DType::BF16, .head_dim = 128, .causal = true});
//   kernel.launch(stream, {.q = q, .k = k, .v = v, .o = o, .cu_q = cu, .cu_k = cu, .max_q = 4096});
#ifndef FATTN_VARLEN_H
#define FATTN_VARLEN_H

#include <concepts>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "fattn/DType.h"
#include "fattn/Device.h"
#include "fattn/Error.h"
#include "fattn/Kernel.h"
#include "fattn/TensorView.h"
#include "fattn/TileConfig.h"

namespace fattn {

/// What shapes the code of a kernel for packed sequences. Its members mean what those of AttentionConfig do.
struct VarlenConfig {
  DType dtype = DType::F16;
  std::int64_t head_dim = 0, head_dim_v = 0;
  bool causal = false;  ///< row i of n of a sequence sees the keys up to i + (m - n) of its m
  std::string target{};
  std::optional<TileConfig> tile{};  ///< BLOCK_M, BLOCK_N, STAGES, WARPS, SCHEDULE; what is unset is attention's default
  std::int32_t alignment = 0;        ///< as DecodeConfig::alignment: launches with less are refused

  bool operator==(const VarlenConfig&) const = default;
};

/// The operands of one launch: B sequences of Tq query rows and Tk keys in all, Hq query heads, Hkv key heads. Shapes are logical: strides
/// are free, but the elements of a row lie side by side. o may be exactly q; what is written shares memory with nothing else.
struct VarlenArgs {
  TensorView q;                     ///< [Tq, Hq, head_dim]; Hq is a multiple of Hkv
  TensorView k;                     ///< [Tk, Hkv, head_dim]
  TensorView v;                     ///< [Tk, Hkv, head_dim_v]
  TensorView o;                     ///< [Tq, Hq, head_dim_v], written
  std::optional<TensorView> lse{};  ///< f32 [Tq, Hq], written where given: natural logarithm of each row's sum of exponentials
  /// i32 [B + 1], device data: sequence b has the query rows cu_q[b] to cu_q[b + 1] - 1, and keys likewise. They do not fall, and do
  /// not change while a launch runs. Rows that
  /// belong to no sequence are not written, keys that belong to none have no weight, whatever they are; numbers beyond the rows there are
  /// count as the nearest.
  TensorView cu_q, cu_k;
  /// The most query rows of a sequence, which the number of programs depends on; rows beyond it are not computed. None = Tq.
  std::optional<std::int64_t> max_q{};
  std::optional<float> scale{};  ///< factor of Q K^T; none = 1 / sqrt(head_dim)
};

/// A compiled kernel for packed sequences. A cheap handle, as a Kernel.
class VarlenKernel {
 public:
  /// An empty handle; all other members throw.
  VarlenKernel() = default;
  explicit operator bool() const { return impl_ != nullptr; }

  /// Checks the operands and launches. Locks, allocates and compiles nothing, and does not wait for the result, except on the host. B, Hq
  /// or Tq = 0: does nothing. Rows that see no key get o = 0 and lse = -infinity. Throws Error{InvalidArgument} naming tensor and
  /// dimension.
  void launch(Stream stream, const VarlenArgs& args) const;

  const VarlenConfig& config() const;  ///< as compiled: head_dim_v, target and alignment are filled in
  const KernelCode& info() const;
  /// The arguments of the template, in order.
  std::span<const dsl::Param> args() const;

  struct Impl;
  explicit VarlenKernel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Compiles a kernel for packed sequences, or finds it in the process's cache or in the one on disk; takes about a millisecond then: keep
/// the handle. Throws Error: Unsupported, NoDevice, InvalidArgument, CompileError. Template "attention_varlen".
VarlenKernel compile_varlen(const VarlenConfig& config);
std::expected<VarlenKernel, Error> try_compile_varlen(const VarlenConfig& config);
/// Whether compile_varlen() would accept a configuration; if not, the rule that failed.
std::expected<void, Error> supports_varlen(const VarlenConfig& config);

// The same by the names that every kernel has.
template <std::same_as<VarlenConfig> Config>
VarlenKernel compile(const Config& config) {
  return compile_varlen(config);
}
template <std::same_as<VarlenConfig> Config>
std::expected<VarlenKernel, Error> try_compile(const Config& config) {
  return try_compile_varlen(config);
}
template <std::same_as<VarlenConfig> Config>
std::expected<void, Error> supports(const Config& config) {
  return supports_varlen(config);
}

}  // namespace fattn

#endif
