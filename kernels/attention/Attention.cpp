// SPDX-License-Identifier: Apache-2.0
// The public face of attention: from a configuration to its template, and from the operands of a launch to its slots.
#include "fattn/Attention.h"

#include <cstdint>
#include <vector>

#include "fattn/Handles.h"
#include "fattn/Relaunch.h"
#include "kernels/attention/AttentionTemplate.h"
#include "kernels/attention/KernelCache.h"
#include "kernels/attention/OperandChecks.h"
#include "kernels/attention/RecentLaunches.h"

namespace fattn {
namespace {

[[noreturn]] void failEmpty() {
  throw Error(ErrorCode::InvalidArgument, "this Kernel is empty", "assign the result of fattn::compile to it");
}

constinit Undestroyed<kernels::KernelCache> kernelCache;  // objects that outlive main may launch

/// A recent launch. For operands of the same shapes the checks of shapes, the code and what the device has made of the arguments stay; only
/// addresses change.
class RecentForward {
 public:
  bool isLike(std::uint64_t kernel, const AttentionArgs& args) const {
    using kernels::isMoved;
    return kernel == kernel_ && isMoved(args_.q, args.q) && isMoved(args_.k, args.k) && isMoved(args_.v, args.v) &&
           isMoved(args_.o, args.o) && isMoved(args_.lse, args.lse) && args_.scale == args.scale;
  }
  /// For operands that are like those of before.
  void again(const Kernel::Impl& own, Stream stream, const AttentionArgs& args) {
    kernels::AddressChanges changes;
    changes.compare(own.slots.q.base, args_.q.data, args.q.data);
    changes.compare(own.slots.k.base, args_.k.data, args.k.data);
    changes.compare(own.slots.v.base, args_.v.data, args.v.data);
    changes.compare(own.slots.o.base, args_.o.data, args.o.data);
    if (args.lse) changes.compare(own.slots.lse.base, args_.lse->data, args.lse->data);
    if (!changes.list().empty()) {
      kernels::checkApart(args, packed_.bytes);
      kernel_ = 0;  // until it is launched
      for (const NewAddress& change : changes.list()) packed_.slots[change.slot] = change.address;
      args_ = args;
    }
    if (!launch_.again(own.kernel, changes.list(), stream)) launch(own, stream);
    kernel_ = own.number;
  }
  void first(const Kernel::Impl& own, Stream stream, const AttentionArgs& args) {
    kernel_ = 0;
    packed_ = kernels::packAttention(own.kind, own.slots, args, own.limits);
    args_ = args;
    launch(own, stream);
    kernel_ = own.number;
  }

 private:
  void launch(const Kernel::Impl& own, Stream stream) {
    launch_.launch(own.kernel, stream, packed_.extents, std::span(packed_.slots).first(own.slots.count));
  }

  std::uint64_t kernel_ = 0;  ///< none
  AttentionArgs args_{};
  kernels::AttentionLaunch packed_{};
  TemplateRelaunch launch_;
};

}  // namespace

void Kernel::launch(Stream stream, const AttentionArgs& args) const {
  if (!impl_) failEmpty();
  const Impl& own = *impl_;
  auto& recent = kernels::recentLaunch<RecentForward>(args.q.data);
  if (recent.isLike(own.number, args)) return recent.again(own, stream, args);
  if (own.device == nullptr) own.kernel.device();  // throws
  recent.first(own, stream, args);
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
