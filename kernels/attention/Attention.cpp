// SPDX-License-Identifier: Apache-2.0
// The public face of attention: a handle to a compiled kernel.
#include "fattn/Attention.h"

#include "kernels/attention/AttentionLaunch.h"
#include "kernels/attention/KernelCache.h"

namespace fattn {
namespace {

[[noreturn]] void failEmpty() {
  throw Error(ErrorCode::InvalidArgument, "this Kernel is empty", "assign the result of fattn::compile to it");
}

}  // namespace

void Kernel::launch(Stream stream, const AttentionArgs& args) const {
  if (!impl_) failEmpty();
  const kernels::LoadedKernel* code = impl_->code.get();
  if (code->device == nullptr)
    throw Error(ErrorCode::InvalidArgument, "this Kernel is code for '" + code->info.config.target + "', which no device is opened for",
                "compile it for a device of this machine to launch it, for example target 'cuda'");
  if (impl_->variants) {
    const auto& q = args.q.shape;
    code = impl_->variants->pick(kernels::ShapeBucket::of(q[0], q[1], q[2], args.k.shape[2]), code);
  }
  kernels::AttentionLaunch launch = kernels::packAttention(code->info.config, args, code->maxGrid);
  if (!launch.aligned) {
    code = &code->forAnyAlignment();
    launch = kernels::packAttention(code->info.config, args, code->maxGrid);
  }
  code->device->launch(*code->module, launch.grid, launch.slots, stream);
}

const KernelInfo& Kernel::info() const {
  if (!impl_) failEmpty();
  return impl_->code->info;
}

}  // namespace fattn
