// SPDX-License-Identifier: Apache-2.0
// The door of the backward pass: checks of a launch's operands, and its kernels.
#include "fattn/Backward.h"

#include "kernels/attention/AttentionBackward.h"
#include "kernels/attention/BackwardConfigs.h"
#include "kernels/attention/BackwardLaunch.h"
#include "kernels/attention/OperandChecks.h"

namespace fattn {
namespace {

using namespace kernels;
using namespace kernels::backward;

void checkLikeQ(const BackwardArgs& args, const char* tensor, const TensorView& view) {
  for (int d = 0; d < 3; ++d) checkExtent(tensor, view, d, args.q.shape[d], " as in q");
}

void checkBackwardOperands(const BackwardConfig& config, const BackwardArgs& args) {
  for (const Named& one : tensorsOf(config, args)) {
    const std::int64_t bytes = checkView(one.name, one.view, config.dtype, 4, kDimensions, kOtherType);
    checkHeadDim(one.name, one.view, bytes, one.width);
  }
  checkExtent("k", args.k, 0, args.q.shape[0], " as in q");
  for (const Named& one : tensorsOf(config, args)) {
    if (!one.ofKeys)
      checkLikeQ(args, one.name, one.view);
    else
      for (int d = 0; d < 3; ++d) checkExtent(one.name, one.view, d, args.k.shape[d], " as in k");
    if (one.isWritten) checkDistinct(one.name, one.view);
    checkAligned(one.name, one.view, config.alignment);
  }
  checkGroups(args.q, args.k);
  checkView("lse", args.lse, DType::F32, 3);
  checkLikeQ(args, "lse", args.lse);
  if (!args.dlse) return;
  checkView("dlse", *args.dlse, DType::F32, 3);
  checkLikeQ(args, "dlse", *args.dlse);
}

}  // namespace

void BackwardKernel::launch(Stream stream, const BackwardArgs& args) const {
  const Impl& kernel = required(impl_, /*packed=*/false);
  checkBackwardOperands(kernel.config, args);
  if (args.q.shape[0] > 0 && args.q.shape[1] > 0) launchAll(kernel, stream, args, {});
}

std::int64_t BackwardKernel::workspaceBytes(const BackwardArgs& args) const {
  const BackwardConfig& config = required(impl_, /*packed=*/false).config;
  checkShape("q", args.q, 4);
  return workspaceBytesOf(config, args.q.shape[0], args.q.shape[1], statisticsRows(args.q.shape[2]));
}

const BackwardConfig& BackwardKernel::config() const { return required(impl_).config; }
const KernelCode& BackwardKernel::info() const { return required(impl_).keys.info(); }
const KernelCode& BackwardKernel::infoDq() const { return required(impl_).dq.info(); }

BackwardKernel compile_backward(const BackwardConfig& given) {
  auto made = std::make_shared<BackwardKernel::Impl>();
  made->config = legalBackward(given);
  const BackwardConfig& config = made->config;
  const auto compiled = [&](const KernelTemplate& dense, const KernelTemplate& packed, const Parameters& parameters,
                            const std::optional<TileConfig>& tile) {
    return compile(config.packed ? packed : dense, parameters, {.target = config.target, .tile = tile});
  };
  made->keys = compiled(backwardKeysTemplate(), packedBackwardKeysTemplate(), parametersOf(config, true, true), config.tile);
  made->rows = compiled(backwardRowsTemplate(), packedBackwardRowsTemplate(), parametersOf(config, false, true), {});
  made->dq = config.deterministic
                 ? compiled(backwardQueriesTemplate(), packedBackwardQueriesTemplate(), parametersOf(config, true, false), config.tile_dq)
                 : compiled(backwardRoundTemplate(), packedBackwardRoundTemplate(), parametersOf(config, false, false), {});
  return BackwardKernel(std::move(made));
}

std::expected<BackwardKernel, Error> try_compile_backward(const BackwardConfig& config) try {
  return compile_backward(config);
} catch (const Error& error) {
  return std::unexpected(error);
}

std::expected<void, Error> supports_backward(const BackwardConfig& config) try {
  backwardKeysTemplate().check(parametersOf(legalBackward(config), true, true));
  return {};
} catch (const Error& error) {
  return std::unexpected(error);
}

}  // namespace fattn
