// SPDX-License-Identifier: Apache-2.0
// The public face of attention: a handle to a compiled kernel.
#include "fattn/Attention.h"

#include "kernels/AttentionLaunch.h"
#include "kernels/KernelCache.h"

namespace fattn {
namespace {

[[noreturn]] void failEmpty() {
  throw Error(ErrorCode::InvalidArgument, "this Kernel is empty", "assign the result of fattn::compile to it");
}

}  // namespace

void Kernel::launch(Stream stream, const AttentionArgs& args) const {
  if (!impl_) failEmpty();
  const AttentionConfig& config = impl_->info.config;
  if (impl_->device == nullptr)
    throw Error(ErrorCode::InvalidArgument, "this Kernel is code for '" + config.target + "', which no device is opened for",
                "compile it for a device of this machine to launch it, for example target 'cuda'");
  kernels::AttentionLaunch launch = kernels::packAttention(config, args, impl_->maxGrid);
  if (!launch.aligned) {
    AttentionConfig any = config;
    any.alignment = sizeInBytes(config.dtype);
    return impl_->get(any).launch(stream, args);
  }
  impl_->device->launch(*impl_->module, launch.grid, launch.slots, stream);
}

const KernelInfo& Kernel::info() const {
  if (!impl_) failEmpty();
  return impl_->info;
}

}  // namespace fattn
