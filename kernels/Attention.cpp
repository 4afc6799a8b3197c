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
  kernels::AttentionLaunch launch = kernels::packAttention(impl_->info.config, args, impl_->maxGrid);
  impl_->device->launch(*impl_->module, launch.grid, launch.slots, stream);
}

const KernelInfo& Kernel::info() const {
  if (!impl_) failEmpty();
  return impl_->info;
}

}  // namespace fattn
