// SPDX-License-Identifier: Apache-2.0
// The public face of attention: from a configuration to its template, and from the operands of a launch to its slots.
#include "fattn/Attention.h"

#include <array>
#include <vector>

#include "fattn/Handles.h"
#include "kernels/attention/AttentionTemplate.h"
#include "kernels/attention/KernelCache.h"

namespace fattn {
namespace {

[[noreturn]] void failEmpty() {
  throw Error(ErrorCode::InvalidArgument, "this Kernel is empty", "assign the result of fattn::compile to it");
}

constinit Undestroyed<kernels::KernelCache> kernelCache;  // objects that outlive main may launch

}  // namespace

/// The checks take as long as all else that a launch does here, and what they say of operands, they say again.
const kernels::AttentionLaunch& Kernel::Impl::packed(const AttentionArgs& args) const {
  struct Packed {
    std::uint64_t kernel = 0;  ///< none
    AttentionArgs args{};
    kernels::AttentionLaunch launch{};
  };
  constinit thread_local std::array<Packed, 4> recent{};
  Packed& place = recent[reinterpret_cast<std::uintptr_t>(args.q.data) * 0x9e3779b97f4a7c15ull >> 62];
  if (place.kernel == number && place.args == args) return place.launch;
  place.launch = kernels::packAttention(kind, slots, args, limits);
  place.args = args, place.kernel = number;
  return place.launch;
}

void Kernel::launch(Stream stream, const AttentionArgs& args) const {
  if (!impl_) failEmpty();
  const Impl& own = *impl_;
  if (own.device == nullptr) own.kernel.device();  // throws
  const kernels::AttentionLaunch& launch = own.packed(args);
  own.kernel.launchSlots(stream, launch.extents, std::span(launch.slots).first(own.slots.count));
}

const KernelInfo& Kernel::info() const {
  if (!impl_) failEmpty();
  return impl_->info;
}

Kernel compile(const AttentionConfig& config) { return kernelCache.value.get(config); }

std::expected<Kernel, Error> try_compile(const AttentionConfig& config) try { return compile(config); } catch (const Error& error) {
  return std::unexpected(error);
}

std::expected<void, Error> supports(const AttentionConfig& config) try {
  const auto [parameters, how] = kernels::askedOf(config);
  return supports(kernels::forwardTemplate(), parameters, how);
} catch (const Error& error) {
  return std::unexpected(error);
}

std::string explain(const AttentionConfig& config) {
  if (std::expected<void, Error> verdict = supports(config); !verdict) return verdict.error().what();
  const auto [parameters, how] = kernels::askedOf(config);
  return "supported on " + resolveTarget(config.target) + " with " + explainTile(kernels::forwardTemplate(), parameters, how);
}

void warmup(std::span<const AttentionConfig> configs) {
  compileInParallel(configs.size(), [&](std::size_t i) { compile(configs[i]); });
}

void warmup(const AttentionConfig& config, std::span<const ShapeHint> shapes) {
  std::vector<AttentionConfig> configs = {config};
  for (const ShapeHint& shape : shapes) {
    configs.push_back(config);
    configs.back().shape = shape;
  }
  warmup(configs);
}

}  // namespace fattn
