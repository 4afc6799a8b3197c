// SPDX-License-Identifier: Apache-2.0
// Attention of a few query rows against a long cache of keys and values, as serving engines need it for every token: the keys of a sequence
// are divided among programs (split-KV), whose results a second kernel merges. Whatever changes from step to step (lengths, page tables) is
// device data, so that a captured graph can be replayed. The same inputs always give the same bits.
//   DecodeKernel kernel = compile(DecodeConfig{.dtype = DType::BF16, .head_dim = 128, .rows = 4});
//   kernel.launch(stream, {.q = q, .k = keys, .v = values, .o = o, .lengths = lengths, .workspace = memory, .workspace_bytes = bytes});
#ifndef FATTN_DECODE_H
#define FATTN_DECODE_H

#include <concepts>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fattn/DType.h"
#include "fattn/Device.h"
#include "fattn/Error.h"
#include "fattn/Kernel.h"
#include "fattn/TensorView.h"
#include "fattn/TileConfig.h"

namespace fattn {

/// What shapes the code of a decode kernel. Everything else is given at launch.
struct DecodeConfig {
  DType dtype = DType::F16;     ///< of q, k, v and o: f32, f16 or bf16; arithmetic accumulates in f32
  std::int64_t head_dim = 0;    ///< of q and k: a multiple of 8 from 8 to 256
  std::int64_t head_dim_v = 0;  ///< of v and o: same values; 0 = head_dim
  /// The most rows that share a key head, query heads of a group times query rows: 1 to 16. Launches with fewer work as well; a kernel for
  /// fewer may be faster. For more there is AttentionConfig.
  std::int64_t rows = 16;
  bool causal = false;         ///< query row i of n sees the keys up to i + (m - n) of the m of its sequence; needless for one row
  std::int64_t page_size = 0;  ///< keys of a page of the cache, from 1; 0 = each sequence lies in one piece
  bool window = false;         ///< a sliding window: rows see as many keys as DecodeArgs::window says, and no more
  bool append = false;         ///< rows of the launch, DecodeArgs::new_k and new_v, become the last keys of the cache
  /// A promise: the launch in front of one of this kernel in its stream writes nothing of k, v, lengths and pages. Launches before that one
  /// may. A call of launch() is one launch here, although it may have two kernels. A launch in front that writes the new keys to the cache
  /// breaks the promise; with `append` no such launch is needed. GPUs that let launches overlap (NVIDIA's from sm_90 on) then read the
  /// first keys while the launch in front still runs.
  bool settled_cache = false;
  /// Programs take equal shares of all keys of the batch, whatever the lengths, and one kernel does it all: what programs share is merged
  /// by the one that comes last, in the order of the keys. Launches need DecodeArgs::counters.
  bool balanced = false;
  std::string target{};  ///< as in AttentionConfig
  /// BLOCK_N, STAGES, WARPS; none = what was tuned, else the defaults; what is unset is taken from them. Pages whose size is a multiple of
  /// BLOCK_N are read fastest.
  std::optional<TileConfig> tile{};
  /// What the data pointers of q, k, v and o, and their strides, are multiples of, in bytes: a power of two from the element's size to 16;
  /// 0 = 16. The host ignores it. Launches with less are refused.
  std::int32_t alignment = 0;

  bool operator==(const DecodeConfig&) const = default;
};

/// The operands of one launch: B sequences, Hq query heads, Hkv key heads, Sq query rows. Shapes are logical: strides are free, but the
/// elements of a row lie side by side. What is written shares memory with nothing else.
struct DecodeArgs {
  TensorView q;                        ///< [B, Hq, Sq, head_dim]; Hq is a multiple of Hkv
  TensorView k;                        ///< [B, Hkv, T, head_dim]; with pages [pages, Hkv, page_size, head_dim]
  TensorView v;                        ///< the same of head_dim_v
  TensorView o;                        ///< [B, Hq, Sq, head_dim_v], written
  std::optional<TensorView> lse{};     ///< f32 [B, Hq, Sq], written where given: natural logarithm of each row's sum of exponentials
  std::optional<std::int64_t> keys{};  ///< about how long the longest sequence is: chooses `splits`, no more; none = T
  /// i32 [B], device data: the keys of each sequence, its query rows' own among them; none = T. One below 0 counts as 0, one beyond the
  /// cache as all of it. Nothing beyond a length is read: neither keys and values, nor page numbers.
  std::optional<TensorView> lengths{};
  /// i32 [B, P], device data, of caches with pages: key t of sequence b is row t % page_size of page pages[b, t / page_size].
  std::optional<TensorView> pages{};
  /// [B, Hkv, Sn, head_dim] and [B, Hkv, Sn, head_dim_v], of kernels that append: new row j of a sequence of m keys is its key m - Sn + j,
  /// so that `lengths` count the new rows. They are written to k and v, and read from here: what k and v hold there before does not matter.
  /// Of a sequence of fewer keys than Sn the first rows are neither read nor written. Lengths beyond the cache count as its end, as above:
  /// then its last rows are overwritten. k and v are written, and so share memory with nothing else; no two sequences may have a new key on
  /// the same row of a page.
  std::optional<TensorView> new_k{}, new_v{};
  /// Of kernels with a window, from 1: query row i of n, which stands where key p = i + (m - n) of the m of its sequence does, sees no key
  /// below p - window + 1. What no row of a sequence sees is not read, as beyond lengths; new rows are written all the same.
  std::int64_t window = 0;
  std::optional<float> scale{};  ///< factor of Q K^T; none = 1 / sqrt(head_dim)
  /// Programs that share a sequence; 0 = as many as fill the device, or on a GPU some times as many where `lengths` of several sequences
  /// are given, as they may differ. Of balanced kernels: the same on average.
  int splits = 0;
  /// Of balanced kernels: i32, device memory of the caller, zero before the first launch that uses it. Every launch leaves it zero.
  /// Launches that may run at the same time need counters of their own.
  void* counters = nullptr;
  std::int64_t counter_bytes = 0;    ///< at least counterBytes(): 4 for each sequence and key head
  void* workspace = nullptr;         ///< device memory of the caller, 16-byte aligned; its contents do not matter
  std::int64_t workspace_bytes = 0;  ///< at least workspaceBytes()
};

/// A compiled decode kernel. A cheap handle, as a Kernel.
class DecodeKernel {
 public:
  /// An empty handle; all other members throw.
  DecodeKernel() = default;
  explicit operator bool() const { return impl_ != nullptr; }

  /// Checks the operands, then launches one kernel, or two where sequences are split and the kernel is not balanced. Locks, allocates and
  /// compiles nothing, and does not wait for the result, except on the host. B, Hq or Sq = 0: does nothing. Rows that see no key get o = 0
  /// and lse = -infinity. Values that are not finite reach every row of their sequence, also those that the causal mask keeps from seeing
  /// them. Launches that may run at the same time need workspaces of their own. Throws Error{InvalidArgument} naming tensor and dimension.
  void launch(Stream stream, const DecodeArgs& args) const;

  /// How many programs share a sequence in such a launch; only shapes, and whether lengths are given, are looked at. Shapes are refused as
  /// by launch().
  int splits(const DecodeArgs& args) const;
  /// The workspace that such a launch needs; 0 where sequences are not split. Shapes are refused as by launch().
  std::int64_t workspaceBytes(const DecodeArgs& args) const;
  /// Enough for every launch that leaves `splits` open.
  std::int64_t workspaceBytes() const;
  /// The counters that such a launch needs; 0 where the kernel is not balanced.
  std::int64_t counterBytes(const DecodeArgs& args) const;

  const DecodeConfig& config() const;  ///< as compiled: head_dim_v, target and alignment are filled in
  const KernelCode& info() const;
  /// The arguments of the template, in order.
  std::span<const dsl::Param> args() const;

  struct Impl;
  explicit DecodeKernel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Compiles a decode kernel, or finds it in the process's cache or in the one on disk; takes about a millisecond then: keep the handle.
/// Throws Error: Unsupported, NoDevice, InvalidArgument, CompileError. Template "attention_decode".
DecodeKernel compile_decode(const DecodeConfig& config);
std::expected<DecodeKernel, Error> try_compile_decode(const DecodeConfig& config);
/// Whether compile_decode() would accept a configuration; if not, the rule that failed.
std::expected<void, Error> supports_decode(const DecodeConfig& config);

// The same by the names that every kernel has. They are templates so that compile({...}), which names no type, is attention's.
template <std::same_as<DecodeConfig> Config>
DecodeKernel compile(const Config& config) {
  return compile_decode(config);
}
template <std::same_as<DecodeConfig> Config>
std::expected<DecodeKernel, Error> try_compile(const Config& config) {
  return try_compile_decode(config);
}
template <std::same_as<DecodeConfig> Config>
std::expected<void, Error> supports(const Config& config) {
  return supports_decode(config);
}

/// Attention over some keys and over others, made into attention over all of them. B entries, H heads, S rows, D columns.
struct MergeArgs {
  TensorView part_o;                ///< [parts, B, H, S, D]: f32, f16 or bf16; each part as attention writes its o
  TensorView part_lse;              ///< f32 [parts, B, H, S]: each part's lse; where it is -infinity, part_o is not looked at
  TensorView o;                     ///< [B, H, S, D], written: f32, f16 or bf16
  std::optional<TensorView> lse{};  ///< f32 [B, H, S], written where given
};
/// o = the parts' results, weighted by exp(lse); for caches that lie in several places, and for engines that divide a context among
/// devices. The order of the sum is that of the parts. A row without any key in any part, or without parts, gets o = 0 and lse = -infinity.
/// D is a multiple of 8 up to 256. The first call for a kind of operands compiles; later ones allocate nothing. Threads may call at the
/// same time. Throws Error{InvalidArgument} naming the tensor, Error{Unsupported}. Template "attention_merge".
void merge_states(Stream stream, const MergeArgs& args, std::string_view target = "");

}  // namespace fattn

#endif
