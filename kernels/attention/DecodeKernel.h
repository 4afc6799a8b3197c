// SPDX-License-Identifier: Apache-2.0
// What a DecodeKernel points to, and what its launches check.
#ifndef FATTN_KERNELS_ATTENTION_DECODEKERNEL_H
#define FATTN_KERNELS_ATTENTION_DECODEKERNEL_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "fattn/Decode.h"
#include "fattn/Template.h"

namespace fattn {
namespace kernels {

/// The pointers among the arguments of decode's kernels.
enum class DecodePointer : std::uint8_t { Q, K, V, O, Lse, Lengths, PartO, PartLse, Pages, NewK, NewV, Counters };
inline constexpr std::size_t kDecodePointers = 12;
/// For each of them the slot that it has in a kernel; -1: none.
using DecodeSlots = std::array<int, kDecodePointers>;
DecodeSlots pointerSlotsOf(const TemplateKernel& kernel);

}  // namespace kernels

struct DecodeKernel::Impl {
  DecodeConfig config;
  TemplateKernel decode, merge;  ///< no merge where the kernel is balanced
  Device* device;                ///< none where the target is a chip
  std::uint64_t number;          ///< no other one has had it
  kernels::DecodeSlots decodeSlots, mergeSlots;
};

namespace kernels {

/// Throws where the handle is empty.
const DecodeKernel::Impl& required(const std::shared_ptr<const DecodeKernel::Impl>& impl);

/// How a launch is divided, and the workspace for that.
struct Division {
  std::int64_t count = 1;  ///< splits, or programs of a balanced launch
  std::int64_t needed = 0;
};
/// Throws where shapes or `splits` are not legal.
Division divisionOf(const DecodeKernel::Impl& kernel, const DecodeArgs& args);

inline constexpr std::int64_t kWidestWindow = INT32_MAX - 1024;  ///< so that differences to it are no overflow; no cache has more keys

/// The most keys that a sequence of the cache can have.
std::int64_t cachedKeys(const DecodeConfig& config, const DecodeArgs& args);
std::int64_t counterBytesOf(const DecodeConfig& config, const DecodeArgs& args);

/// What does not depend on addresses, but for null pointers and alignment. Throws Error{InvalidArgument}.
void checkOperands(const DecodeConfig& config, const DecodeArgs& args);
/// Workspace and counters are there and large enough.
void checkMemory(const DecodeKernel::Impl& kernel, const DecodeArgs& args, const Division& division);
/// What is written is apart from everything else.
void checkDecodeApart(const DecodeConfig& config, const DecodeArgs& args, const TensorView& workspace, const TensorView& counters);

}  // namespace kernels
}  // namespace fattn

#endif
