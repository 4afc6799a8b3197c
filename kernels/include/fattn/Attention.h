// SPDX-License-Identifier: Apache-2.0
// Fused attention: O = softmax(scale * Q K^T + mask) V for every batch entry and head, compiled at run time.
#ifndef FATTN_ATTENTION_H
#define FATTN_ATTENTION_H

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fattn/DType.h"
#include "fattn/Device.h"
#include "fattn/Error.h"
#include "fattn/TensorView.h"
#include "fattn/TileConfig.h"

namespace fattn {

/// What launches will mostly look like; 0 = not known.
struct ShapeHint {
  std::int64_t batch = 0, heads = 0;  ///< of q
  std::int64_t seq_q = 0, seq_k = 0;  ///< lengths

  bool operator==(const ShapeHint&) const = default;
};

/// What shapes the code of a kernel. Everything else (batch, heads, lengths, strides, scale) is given at launch.
struct AttentionConfig {
  DType dtype = DType::F16;     ///< of q, k, v and o: f32, f16 or bf16; arithmetic accumulates in f32
  std::int64_t head_dim = 0;    ///< of q and k: a multiple of 8 from 8 to 256
  std::int64_t head_dim_v = 0;  ///< of v and o: same values; 0 = head_dim
  bool causal = false;          ///< row i of n sees the keys up to i + (m - n) of m: aligned at the bottom right
  /// As openDevice() takes it: "host", "host:avx2", "cuda", "cuda:1"; "" = the default device of this machine. "cuda@sm_80": that device
  /// with the code for a chip before it, which every NVIDIA GPU from that one on runs. Or a chip, "nvidia:sm_90": compile() works without a
  /// GPU then, and launch() throws.
  std::string target{};
  std::optional<TileConfig> tile{};  ///< none = what was tuned for this machine, else the defaults; unset members are filled from them
  /// Chooses among the configurations that were tuned for several shapes, where `tile` is none, and has no other effect: a kernel works
  /// for any shape, and a launch takes the one of those compiled that was tuned for its shape, else for the nearest (docs/tuning.md).
  std::optional<ShapeHint> shape{};
  /// What all data pointers of q, k, v and o, and their strides of heads, rows and batch entries (where there are several), are multiples
  /// of, in bytes: a power of two from the element's size to 16; 0 = 16. More lets a GPU move more at once; the host ignores it. Operands
  /// that are aligned to less work as well: their first launch finds or compiles the kernel for the least alignment.
  std::int32_t alignment = 0;

  bool operator==(const AttentionConfig&) const = default;
};

/// The operands of one launch. Shapes are logical, whatever the layout in memory: B batch entries, H heads, S rows, D columns.
/// The head dimension is contiguous (stride 1); the other strides are free, so that [B, H, S, D], [B, S, H, D] and slices of a
/// packed QKV tensor all work. o and lse share memory with no
/// other operand, except that o may be exactly q (the same pointer and strides): other overlaps are refused.
struct AttentionArgs {
  TensorView q;                     ///< [B, Hq, Sq, head_dim]
  TensorView k;                     ///< [B, Hkv, Skv, head_dim]; Hq is a multiple of Hkv (grouped-query attention)
  TensorView v;                     ///< [B, Hkv, Skv, head_dim_v]
  TensorView o;                     ///< [B, Hq, Sq, head_dim_v], written
  std::optional<TensorView> lse{};  ///< f32 [B, Hq, Sq], written where given: natural logarithm of each row's sum of exponentials
  std::optional<float> scale{};     ///< factor of Q K^T; none = 1 / sqrt(head_dim)
};

/// What became of a configuration.
struct KernelInfo {
  AttentionConfig config;                           ///< as compiled: head_dim_v, target and tile are filled in, shape is none
  TileConfig tile;                                  ///< the choices in use
  std::string device;                               ///< Device::description()
  std::string entry;                                ///< name of the function in the binary
  bool from_cache = false;                          ///< whether the code came from the cache on disk
  double compile_ms = 0;                            ///< trace, compile or read, and load
  std::int64_t binary_bytes = 0;                    ///< size of the machine code's file
  std::int64_t scratch_bytes = 0;                   ///< memory each thread of the host sets aside
  std::int64_t shared_bytes = 0;                    ///< shared memory of one program
  int threads = 0, registers = 0, spill_bytes = 0;  ///< of one program; 0 on the host
  int resident = 0;                                 ///< programs that a multiprocessor holds at once; 0 on the host and for a chip
};

/// A compiled kernel. A cheap handle: copies share the code, which is unloaded with the last of them and with the process's
/// cache of kernels. All members but assignment may be called from any number of threads at once.
class Kernel {
 public:
  /// An empty handle; launch() and info() throw.
  Kernel() = default;
  explicit operator bool() const { return impl_ != nullptr; }

  /// Checks the operands, then launches. Locks and allocates nothing, compiles nothing but for `alignment`, and does not wait for the
  /// result, except on the host, where launches are synchronous. B, Hq or Sq = 0: does nothing. Rows that see no key (Skv = 0,
  /// or causal with Sq > Skv) get o = 0 and lse = -infinity. Throws Error{InvalidArgument} naming tensor and dimension.
  void launch(Stream stream, const AttentionArgs& args) const;
  const KernelInfo& info() const;

  struct Impl;
  explicit Kernel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Compiles a kernel, or finds it in the process's cache, which takes well below 5 microseconds, or in the cache on disk, which takes
/// milliseconds and never fails the call (docs/cache-format.md). Threads that ask for the same
/// configuration at once compile it once; different ones compile in parallel. Throws Error: Unsupported as supports() says,
/// NoDevice, InvalidArgument for a bad tile configuration, CompileError.
Kernel compile(const AttentionConfig& config);
/// The same, with the error as a value.
std::expected<Kernel, Error> try_compile(const AttentionConfig& config);
/// Compiles several kernels, in parallel, so that later calls of compile() find them. Throws the first error after all ended.
void warmup(std::span<const AttentionConfig> configs);
/// Compiles `config` and the kernels that were tuned for these shapes, as many as there are different ones, in parallel. Every kernel that
/// was or will be compiled for `config` has them at hand for its launches then. Throws the first error after all ended.
void warmup(const AttentionConfig& config, std::span<const ShapeHint> shapes);

/// Whether compile() would accept a configuration; if not, the rule that failed and the nearest configuration that works. Takes
/// microseconds, or, where the caller chose a tile configuration for a GPU, a part of a compilation: whether that fits is the compiler's to
/// say.
std::expected<void, Error> supports(const AttentionConfig& config);
/// supports() in words: "supported on host with BLOCK_M=64,BLOCK_N=64" and, where `tile` is none, who chose that; or the error's text.
std::string explain(const AttentionConfig& config);

/// Called when a compilation begins (done = false, ms = 0) and when it has ended (done = true), on the compiling thread.
struct CompileProgress {
  const AttentionConfig& config;
  bool done;
  double ms;
};
/// Sets the process's progress callback, an empty one for none. Finding a kernel in the cache does not call it.
void setCompileCallback(std::function<void(const CompileProgress&)> callback);

}  // namespace fattn

#endif
