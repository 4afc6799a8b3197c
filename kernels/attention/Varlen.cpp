// SPDX-License-Identifier: Apache-2.0
// The door of attention on packed sequences: checks, and the launch of its template.
#include "fattn/Varlen.h"

#include <array>
#include <cmath>

#include "fattn/Attention.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/attention/AttentionVarlen.h"
#include "kernels/attention/OperandChecks.h"

namespace fattn {

struct VarlenKernel::Impl {
  VarlenConfig config;
  TemplateKernel kernel;
};

namespace {

using namespace kernels;

constexpr const char* kOwnMemory = "give it memory of its own; o may also be exactly q: the same pointer and strides";

VarlenConfig completedVarlen(VarlenConfig config) {
  config.target = resolveTarget(config.target);
  config.alignment = completedAlignment(config.target, config.dtype, config.alignment);
  if (config.head_dim_v == 0) config.head_dim_v = config.head_dim;
  return config;
}

void requireLegalVarlen(const VarlenConfig& config) {
  requireTarget(config.target);
  requireAlignment(config.dtype, config.alignment);
  if (config.tile) requireChoices(*config.tile);
}

Parameters varlenParameters(const VarlenConfig& config) {
  return {{"dtype", std::string(name(config.dtype))},
          {"head_dim", config.head_dim},
          {"head_dim_v", config.head_dim_v},
          {"causal", config.causal},
          {"alignment", std::int64_t{config.alignment}}};
}

void checkVarlenApart(const VarlenArgs& args) {
  const std::array<Spanned, 7> all = {
      Spanned{"o", args.o, args.o.checkedBytes()},  {"lse", args.lse ? *args.lse : args.o, args.lse ? args.lse->checkedBytes() : 0},
      {"q", args.q, args.q.checkedBytes()},         {"k", args.k, args.k.checkedBytes()},
      {"v", args.v, args.v.checkedBytes()},         {"cu_q", args.cu_q, args.cu_q.checkedBytes()},
      {"cu_k", args.cu_k, args.cu_k.checkedBytes()}};
  const bool inPlace = args.o.data == args.q.data && args.o.shape == args.q.shape && haveSameRows(args.o, args.q);
  for (std::size_t written = 0; written < 2; ++written)
    for (std::size_t other = written + 1; other < all.size(); ++other) {
      const bool isSame = written == 0 && other == 2 && inPlace;
      if (!isSame && all[written].bytes > 0 && all[other].bytes > 0) checkApart(all[written], all[other], kOwnMemory);
    }
}

/// Returns the number of sequences.
std::int64_t checkVarlen(const VarlenConfig& config, const VarlenArgs& args) {
  checkPackedRows("q", args.q, config.dtype, config.head_dim, config.alignment);
  checkPackedRows("k", args.k, config.dtype, config.head_dim, config.alignment);
  checkPackedRows("v", args.v, config.dtype, config.head_dim_v, config.alignment);
  checkPackedRows("o", args.o, config.dtype, config.head_dim_v, config.alignment);
  for (int d = 0; d < 2; ++d) {
    checkExtent("v", args.v, d, args.k.shape[d], " as in k", kPackedDimensions);
    checkExtent("o", args.o, d, args.q.shape[d], " as in q", kPackedDimensions);
  }
  checkGroups(args.q, args.k);
  checkDistinct("o", args.o);
  if (args.lse) {
    checkView("lse", *args.lse, DType::F32, 2, kPackedDimensions);
    for (int d = 0; d < 2; ++d) checkExtent("lse", *args.lse, d, args.q.shape[d], " as in q", kPackedDimensions);
    checkDistinct("lse", *args.lse);
  }
  const std::int64_t sequences = checkSequences(args.cu_q, args.cu_k);
  checkMost("max_q", args.max_q, args.q.shape[0]);
  checkVarlenApart(args);
  return sequences;
}

const VarlenKernel::Impl& requiredVarlen(const std::shared_ptr<const VarlenKernel::Impl>& impl) {
  if (!impl) [[unlikely]]
    throw Error(ErrorCode::InvalidArgument, "this VarlenKernel is empty", "assign the result of fattn::compile to it");
  return *impl;
}

}  // namespace

void VarlenKernel::launch(Stream stream, const VarlenArgs& args) const {
  const Impl& kernel = requiredVarlen(impl_);
  const std::int64_t batch = checkVarlen(kernel.config, args), heads = args.q.shape[1];
  const std::int64_t length = checkMost("max_q", args.max_q, args.q.shape[0]);
  if (batch == 0 || heads == 0 || length == 0) return;
  static const TensorView noLse(nullptr, DType::F32, {0, 0});
  const float scale = args.scale.value_or(1.0f / std::sqrt(static_cast<float>(kernel.config.head_dim)));
  const std::array<std::int64_t, 3> extents = {batch, heads, length};
  const Argument arguments[] = {{"q", args.q},
                                {"k", args.k},
                                {"v", args.v},
                                {"o", args.o},
                                {"lse", args.lse ? *args.lse : noLse},
                                {"cu_q", args.cu_q},
                                {"cu_k", args.cu_k},
                                {"scale", scale},
                                {"write_lse", args.lse ? 1 : 0}};
  kernel.kernel.launch(stream, extents, arguments);
}

const VarlenConfig& VarlenKernel::config() const { return requiredVarlen(impl_).config; }
const KernelCode& VarlenKernel::info() const { return requiredVarlen(impl_).kernel.info(); }
std::span<const dsl::Param> VarlenKernel::args() const { return requiredVarlen(impl_).kernel.args(); }

VarlenKernel compile_varlen(const VarlenConfig& given) {
  requireLegalVarlen(given);
  auto made = std::make_shared<VarlenKernel::Impl>();
  made->config = completedVarlen(given);
  made->kernel = compile(varlenTemplate(), varlenParameters(made->config), {.target = made->config.target, .tile = made->config.tile});
  return VarlenKernel(std::move(made));
}

std::expected<VarlenKernel, Error> try_compile_varlen(const VarlenConfig& config) try {
  return compile_varlen(config);
} catch (const Error& error) {
  return std::unexpected(error);
}

std::expected<void, Error> supports_varlen(const VarlenConfig& config) try {
  requireLegalVarlen(config);
  varlenTemplate().check(varlenParameters(completedVarlen(config)));
  if (config.tile) config.tile->validate();
  return {};
} catch (const Error& error) {
  return std::unexpected(error);
}

}  // namespace fattn
