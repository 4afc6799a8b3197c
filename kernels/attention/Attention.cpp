// SPDX-License-Identifier: Apache-2.0
// The public face of attention: a handle to a compiled kernel.
#include "fattn/Attention.h"

#include "kernels/attention/AttentionLaunch.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/attention/KernelCache.h"

namespace fattn {
namespace {

[[noreturn]] void failEmpty() {
  throw Error(ErrorCode::InvalidArgument, "this Kernel is empty", "assign the result of fattn::compile to it");
}

}  // namespace

void Kernel::launch(Stream stream, const AttentionArgs& args) const {
  if (!impl_) failEmpty();
  const kernels::LoadedCode* code = impl_->code.get();
  Device& device = code->requireDevice();
  if (impl_->variants) {
    const auto& q = args.q.shape;
    code = impl_->variants->pick(kernels::attentionBucket(q[0], q[1], q[2], args.k.shape[2]), code);
  }
  const kernels::AttentionCode* own = &kernels::attentionOf(*code);
  kernels::AttentionLaunch launch = kernels::packAttention(own->info.config, own->slots, args, code->maxGrid);
  auto slots = [&] { return std::span(launch.slots).first(own->slots.count); };
  bool empty = launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0;
  if (!launch.aligned || (!empty && !code->module->accepts(slots()))) {
    code = &own->forAnyAlignment();
    own = &kernels::attentionOf(*code);
    launch = kernels::packAttention(own->info.config, own->slots, args, code->maxGrid);
  }
  device.launch(*code->module, launch.grid, slots(), stream);
}

const KernelInfo& Kernel::info() const {
  if (!impl_) failEmpty();
  return kernels::attentionOf(*impl_->code).info;
}

}  // namespace fattn
