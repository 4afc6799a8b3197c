// SPDX-License-Identifier: Apache-2.0
// The backward pass of attention: from dO = dL/dO to dQ, dK and dV, with what the forward wrote (o and lse). With the row sums
// P = exp(scale * Q K^T - lse), dP = dO V^T, delta = rowsum(dO * O) - dlse and dS = P * (dP - delta) the gradients are
//   dV = P^T dO    dK = scale * dS^T Q    dQ = scale * dS K
// (Dao et al., "FlashAttention", arXiv 2205.14135, appendix B.4; Dao, "FlashAttention-2", arXiv 2307.08691, section 3.1).
//   BackwardKernel kernel = compile(BackwardConfig{.dtype = DType::BF16, .head_dim = 128, .causal = true});
//   kernel.launch(stream, {.q = q, .k = k, .v = v, .o = o, .lse = lse, .dout = dout, .dq = dq, .dk = dk, .dv = dv,
//                          .workspace = memory, .workspace_bytes = bytes});
#ifndef FATTN_BACKWARD_H
#define FATTN_BACKWARD_H

#include <concepts>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "fattn/DType.h"
#include "fattn/Device.h"
#include "fattn/Error.h"
#include "fattn/Kernel.h"
#include "fattn/TensorView.h"
#include "fattn/TileConfig.h"

namespace fattn {

/// What shapes the code of a backward kernel. Everything else (batch, heads, lengths, strides, scale) is given at launch.
struct BackwardConfig {
  DType dtype = DType::F16;     ///< of all tensors but lse and dlse: f32, f16 or bf16; arithmetic accumulates in f32
  std::int64_t head_dim = 0;    ///< of q and k: a multiple of 8 from 8 to 256
  std::int64_t head_dim_v = 0;  ///< of v and o: same values; 0 = head_dim
  bool causal = false;          ///< as in AttentionConfig: row i of n sees the keys up to i + (m - n) of m
  /// The same inputs give the same bits: dQ has a kernel of its own, which computes the scores again. Else dQ may be added up by atomic
  /// additions, whose order differs from launch to launch, where that is faster (docs/backward.md): on NVIDIA's chips, of f32, and of
  /// 16-bit types up to 128 columns with Hopper's instructions, else of 16, 32 and 64 and, not causal, 128. On GPUs a `tile` that is told,
  /// also an empty one, has it added up anywhere. dK and dV are always the same bits.
  bool deterministic = false;
  bool packed = false;   ///< for sequences of different lengths, packed behind each other: PackedBackwardArgs
  std::string target{};  ///< as in AttentionConfig
  /// BLOCK_N, the keys of a program, and BLOCK_M, the queries of a step, STAGES, WARPS and SCHEDULE of the kernel for dK and dV; none =
  /// what was tuned, else the defaults; what is unset is taken from them. Where it is not deterministic, or packed, BLOCK_M divides 128.
  std::optional<TileConfig> tile{};
  /// The same of the deterministic mode's kernel for dQ: BLOCK_M, the queries of a program, and BLOCK_N, the keys of a step.
  std::optional<TileConfig> tile_dq{};
  /// What the data pointers of all tensors of `dtype`, and their strides, are multiples of, in bytes: a power of two from the element's
  /// size to 16; 0 = 16. The host ignores it. Launches with less are refused.
  std::int32_t alignment = 0;

  bool operator==(const BackwardConfig&) const = default;
};

/// The operands of one launch: B batch entries, Hq query heads, Hkv key heads, Sq query rows, Skv keys. Shapes are logical: strides are
/// free, but the elements of a row lie side by side. All of it is memory of the kernel's device, and the caller's. What is written shares
/// memory with nothing else; its elements are distinct. The rest is only read, and may overlap and repeat (stride 0).
struct BackwardArgs {
  TensorView q;                      ///< [B, Hq, Sq, head_dim]; Hq is a multiple of Hkv
  TensorView k;                      ///< [B, Hkv, Skv, head_dim]
  TensorView v;                      ///< [B, Hkv, Skv, head_dim_v]
  TensorView o;                      ///< [B, Hq, Sq, head_dim_v], as the forward wrote it
  TensorView lse;                    ///< f32 [B, Hq, Sq], as the forward wrote it: natural logarithms, -infinity where a row sees no key
  TensorView dout;                   ///< [B, Hq, Sq, head_dim_v]: dL/dO
  TensorView dq;                     ///< [B, Hq, Sq, head_dim], written
  TensorView dk;                     ///< [B, Hkv, Skv, head_dim], written: summed over the query heads of a key head
  TensorView dv;                     ///< [B, Hkv, Skv, head_dim_v], written: likewise
  std::optional<TensorView> dlse{};  ///< f32 [B, Hq, Sq]: dL/dlse, where lse is used as a result, too; none = zeros
  std::optional<float> scale{};      ///< the forward's; none = 1 / sqrt(head_dim)
  void* workspace = nullptr;         ///< device memory of the caller, 16-byte aligned; its contents do not matter
  std::int64_t workspace_bytes = 0;  ///< at least workspaceBytes()
};

/// The operands of one launch on packed sequences: B sequences of Tq query rows and Tk keys in all, as VarlenArgs has them. What
/// BackwardArgs says of strides and memory holds here.
struct PackedBackwardArgs {
  TensorView q;     ///< [Tq, Hq, head_dim]; Hq is a multiple of Hkv
  TensorView k;     ///< [Tk, Hkv, head_dim]
  TensorView v;     ///< [Tk, Hkv, head_dim_v]
  TensorView o;     ///< [Tq, Hq, head_dim_v], as the forward wrote it
  TensorView lse;   ///< f32 [Tq, Hq], as the forward wrote it
  TensorView dout;  ///< [Tq, Hq, head_dim_v]: dL/dO
  TensorView dq;    ///< [Tq, Hq, head_dim], written
  TensorView dk;    ///< [Tk, Hkv, head_dim], written: summed over the query heads of a key head
  TensorView dv;    ///< [Tk, Hkv, head_dim_v], written: likewise
  /// i32 [B + 1], device data, as VarlenArgs::cu_q and cu_k. Rows that belong to no sequence are not written, and add nothing. With
  /// Hopper's instructions (sm_90a, 16-bit types, alignment 16) rows of q, k, v and dout that follow a sequence, of the next one or of
  /// none, are read with its last block: fewer than a block has, up to 127 with the default tiles. They have to be finite numbers.
  /// Elsewhere they may be anything.
  TensorView cu_q, cu_k;
  /// The most query rows and keys of a sequence, which the numbers of programs depend on. A longer sequence counts as one of so many. None
  /// = Tq, Tk.
  std::optional<std::int64_t> max_q{}, max_k{};
  std::optional<TensorView> dlse{};  ///< f32 [Tq, Hq]: dL/dlse; none = zeros
  std::optional<float> scale{};      ///< the forward's; none = 1 / sqrt(head_dim)
  void* workspace = nullptr;         ///< device memory of the caller, 16-byte aligned; its contents do not matter
  std::int64_t workspace_bytes = 0;  ///< at least workspaceBytesPacked()
};

/// Compiled backward kernels. A cheap handle, as a Kernel. All members but assignment may be called from any number of threads at once.
class BackwardKernel {
 public:
  /// An empty handle; all other members throw.
  BackwardKernel() = default;
  explicit operator bool() const { return impl_ != nullptr; }

  /// Checks the operands, then launches three kernels on the stream, one after the other. Locks, allocates and compiles nothing, and does
  /// not wait for the result, except on the host. B or Hq = 0: does nothing. Rows that see no key get dq = 0 and add nothing to dk and dv.
  /// Keys that no row sees get dk = 0 and dv = 0. Values that are not finite reach all gradients of their head, also those of rows and keys
  /// that the causal mask keeps from seeing them. Launches that may run at the same time need workspaces of their own. Throws
  /// Error{InvalidArgument} naming tensor and dimension.
  void launch(Stream stream, const BackwardArgs& args) const;

  /// The bytes of workspace that such a launch needs; only the shape of q is looked at: 8 bytes for each query row of each head, of which
  /// there are counted a multiple of 128, and 4 head_dim more where the mode is not deterministic. Refuses shapes as launch() does.
  std::int64_t workspaceBytes(const BackwardArgs& args) const;

  /// The same for packed sequences. B or Hq = 0: does nothing. launch() and workspaceBytes() are for other batches; each throws where the
  /// kernel was not compiled for its kind.
  void launchPacked(Stream stream, const PackedBackwardArgs& args) const;
  /// As workspaceBytes(), for Tq + 128 B rows, rounded down to a multiple of 128. Only the shapes of q and cu_q are looked at.
  std::int64_t workspaceBytesPacked(const PackedBackwardArgs& args) const;

  const BackwardConfig& config() const;  ///< as compiled: head_dim_v, target, alignment and deterministic are filled in
  const KernelCode& info() const;        ///< of the kernel for dK and dV, which takes most of the time
  const KernelCode& infoDq() const;      ///< of the one that writes dQ

  struct Impl;
  explicit BackwardKernel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Compiles backward kernels, or finds them in the process's cache or in the one on disk; takes a few milliseconds then: keep the handle.
/// Throws Error: Unsupported, NoDevice, InvalidArgument, CompileError. Templates "attention_backward_rows", "attention_backward_keys",
/// "attention_backward_queries" (deterministic) and "attention_backward_round" (else), packed "packed_backward_rows" and so on.
BackwardKernel compile_backward(const BackwardConfig& config);
std::expected<BackwardKernel, Error> try_compile_backward(const BackwardConfig& config);
/// Whether compile_backward() would accept a configuration; if not, the rule that failed.
std::expected<void, Error> supports_backward(const BackwardConfig& config);

// The same by the names that every kernel has. They are templates so that compile({...}), which names no type, is attention's.
template <std::same_as<BackwardConfig> Config>
BackwardKernel compile(const Config& config) {
  return compile_backward(config);
}
template <std::same_as<BackwardConfig> Config>
std::expected<BackwardKernel, Error> try_compile(const Config& config) {
  return try_compile_backward(config);
}
template <std::same_as<BackwardConfig> Config>
std::expected<void, Error> supports(const Config& config) {
  return supports_backward(config);
}

}  // namespace fattn

#endif
