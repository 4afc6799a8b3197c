// SPDX-License-Identifier: Apache-2.0
// fattn::compile for attention: the traced program through the compiler, behind the process's cache of kernels.
#include <memory>
#include <string>
#include <vector>

#include "fattn/Attention.h"
#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/attention/KernelCache.h"
#include "kernels/attention/TunedAttention.h"
#include "kernels/core/CompileProgram.h"
#include "kernels/core/Target.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/base/TargetName.h"

namespace fattn {
namespace {

std::string folderOf(const AttentionConfig& config) {
  std::string folder = "attention-" + std::string(name(config.dtype)) + "-d" + std::to_string(config.head_dim);
  if (config.head_dim_v != config.head_dim) folder += "-v" + std::to_string(config.head_dim_v);
  return folder + (config.causal ? "-causal-" : "-") + config.target + "-" + config.tile->toString();
}

kernels::ProgramJob jobOf(const AttentionConfig& resolved) {
  return {.target = resolved.target, .tile = *resolved.tile, .folder = folderOf(resolved), .trace = [resolved] {
            return traceAttentionForward(resolved, *resolved.tile);
          }};
}

kernels::Compiled compileForward(const AttentionConfig& resolved) { return kernels::compileProgram(jobOf(resolved)); }

}  // namespace

kernels::KernelCache& kernels::kernelCache() {
  static constinit Immortal<kernels::KernelCache> kernels;  // objects that outlive main may launch
  return kernels.get([] {
    auto made = std::make_unique<kernels::KernelCache>(
        compileForward, [](const AttentionConfig& config) { return kernels::tunedChoice(kernels::problemOf(config)); });
    made->lockAcrossForks();
    return made.release();
  });
}

Kernel compile(const AttentionConfig& config) {
  Kernel kernel;
  kernels::asErrors([&] { kernel = kernels::kernelCache().get(config); });
  return kernel;
}

std::expected<void, Error> supports(const AttentionConfig& config) try {
  kernels::requireSupported(config);
  const AttentionConfig resolved = kernels::resolve(config);
  const TargetKind kind = parseTarget(kernels::codeTarget(resolved.target)).kind;
  // Whatever the host is asked for fits, and so do the defaults for NVIDIA's chips. Some of AMD's have no dots of some types.
  if (kind == TargetKind::Host || (kind == TargetKind::Nvidia && kernels::leavesTileOpen(config))) return {};
  kernels::asErrors([&] { kernels::requireFit(jobOf(resolved)); });
  return {};
} catch (const Error& error) {
  return std::unexpected(error);
}

std::expected<Kernel, Error> try_compile(const AttentionConfig& config) try { return compile(config); } catch (const Error& error) {
  return std::unexpected(error);
}

void warmup(std::span<const AttentionConfig> configs) {
  kernels::inParallel(configs.size(), [&](std::size_t i) { compile(configs[i]); });
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
