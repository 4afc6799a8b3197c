// SPDX-License-Identifier: Apache-2.0
// The door of the backward pass on packed sequences. The kernels have all rows in one batch entry.
#include "fattn/Backward.h"
#include "kernels/attention/AttentionBackward.h"
#include "kernels/attention/BackwardLaunch.h"
#include "kernels/attention/OperandChecks.h"

namespace fattn {
namespace {

using namespace kernels;
using namespace kernels::backward;

void checkLikeRows(const char* tensor, const TensorView& view, const TensorView& rows, const char* because) {
  for (int d = 0; d < 2; ++d) checkExtent(tensor, view, d, rows.shape[d], because, kPackedDimensions);
}

/// Returns the number of sequences.
std::int64_t checkPackedOperands(const BackwardConfig& config, const PackedBackwardArgs& args) {
  for (const Named& one : tensorsOf(config, args)) {
    checkPackedRows(one.name, one.view, config.dtype, one.width, config.alignment);
    if (one.isWritten) checkDistinct(one.name, one.view);
  }
  for (const Named& one : tensorsOf(config, args))
    checkLikeRows(one.name, one.view, one.ofKeys ? args.k : args.q, one.ofKeys ? " as in k" : " as in q");
  checkGroups(args.q, args.k);
  const auto checkNumbers = [&](const char* tensor, const TensorView& view) {
    checkView(tensor, view, DType::F32, 2, kPackedDimensions);
    checkLikeRows(tensor, view, args.q, " as in q");
  };
  checkNumbers("lse", args.lse);
  if (args.dlse) checkNumbers("dlse", *args.dlse);
  return checkSequences(args.cu_q, args.cu_k);
}

/// [rows, heads, width] as [1, heads, rows, width], and without the last dimension.
TensorView oneEntry(const TensorView& view) {
  const std::int64_t all = view.shape[0] * view.strides[0];
  if (view.rank == 2) return {view.data, view.dtype, {1, view.shape[1], view.shape[0]}, {all, view.strides[1], view.strides[0]}};
  return {
      view.data, view.dtype, {1, view.shape[1], view.shape[0], view.shape[2]}, {all, view.strides[1], view.strides[0], view.strides[2]}};
}

}  // namespace

void BackwardKernel::launchPacked(Stream stream, const PackedBackwardArgs& args) const {
  const Impl& kernel = required(impl_, /*packed=*/true);
  const std::int64_t count = checkPackedOperands(kernel.config, args);
  const Sequences sequences{args.cu_q, args.cu_k, count, checkMost("max_q", args.max_q, args.q.shape[0]),
                            checkMost("max_k", args.max_k, args.k.shape[0])};
  if (count == 0 || args.q.shape[1] == 0) return;
  BackwardArgs all{.q = oneEntry(args.q),
                   .k = oneEntry(args.k),
                   .v = oneEntry(args.v),
                   .o = oneEntry(args.o),
                   .lse = oneEntry(args.lse),
                   .dout = oneEntry(args.dout),
                   .dq = oneEntry(args.dq),
                   .dk = oneEntry(args.dk),
                   .dv = oneEntry(args.dv),
                   .scale = args.scale,
                   .workspace = args.workspace,
                   .workspace_bytes = args.workspace_bytes};
  if (args.dlse) all.dlse = oneEntry(*args.dlse);
  launchAll(kernel, stream, all, sequences);
}

std::int64_t BackwardKernel::workspaceBytesPacked(const PackedBackwardArgs& args) const {
  const BackwardConfig& config = required(impl_, /*packed=*/true).config;
  checkShape("q", args.q, 3, kPackedDimensions);
  checkShape("cu_q", args.cu_q, 1, kSequenceDimensions);
  const std::int64_t sequences = args.cu_q.shape[0] > 0 ? args.cu_q.shape[0] - 1 : 0;
  return workspaceBytesOf(config, 1, args.q.shape[1], packedStatisticsRows(args.q.shape[0], sequences));
}

}  // namespace fattn
