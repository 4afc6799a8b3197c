// SPDX-License-Identifier: Apache-2.0
// What launches of the backward pass have in common, whether the batch is packed or not.
#ifndef FATTN_KERNELS_ATTENTION_BACKWARDLAUNCH_H
#define FATTN_KERNELS_ATTENTION_BACKWARDLAUNCH_H

#include <array>
#include <memory>
#include <optional>

#include "fattn/Backward.h"
#include "fattn/Template.h"

namespace fattn {

struct BackwardKernel::Impl {
  BackwardConfig config;
  TemplateKernel rows, keys;
  TemplateKernel dq;  ///< from keys, where it is deterministic, else from sums
};

namespace kernels::backward {

/// A tensor of the dtype.
struct Named {
  const char* name;
  const TensorView& view;
  std::int64_t width;
  bool ofKeys, isWritten;
};
/// Those of BackwardArgs or PackedBackwardArgs; what is written comes first.
template <typename Args>
std::array<Named, 8> tensorsOf(const BackwardConfig& config, const Args& args) {
  const std::int64_t D = config.head_dim, Dv = config.head_dim_v;
  return {Named{"dq", args.dq, D, false, true}, {"dk", args.dk, D, true, true},       {"dv", args.dv, Dv, true, true},
          {"q", args.q, D, false, false},       {"k", args.k, D, true, false},        {"v", args.v, Dv, true, false},
          {"o", args.o, Dv, false, false},      {"dout", args.dout, Dv, false, false}};
}

/// Throws Error{InvalidArgument}: the handle is empty; or it is for the other kind of batches.
const BackwardKernel::Impl& required(const std::shared_ptr<const BackwardKernel::Impl>& impl);
const BackwardKernel::Impl& required(const std::shared_ptr<const BackwardKernel::Impl>& impl, bool packed);

/// `rows`: of the statistics of one head.
std::int64_t workspaceBytesOf(const BackwardConfig& config, std::int64_t batch, std::int64_t heads, std::int64_t rows);

/// Where sequences lie: BackwardArgs has them all in its one batch entry.
struct Sequences {
  const TensorView &cuQ, &cuK;
  std::int64_t count, mostQ, mostK;  ///< how many; of the longest ones
};

/// Checks the workspace, and that what is written shares memory with nothing else. Then launches the kernels. The operands are right in
/// themselves.
void launchAll(const BackwardKernel::Impl& kernel, Stream stream, const BackwardArgs& args, const std::optional<Sequences>& packed);

}  // namespace kernels::backward
}  // namespace fattn

#endif
