// SPDX-License-Identifier: Apache-2.0
// Attention's template with other programs behind its arguments: for tests of what is between a configuration and a launch.
#ifndef FATTN_TESTS_UNIT_KERNELS_STANDIN_H
#define FATTN_TESTS_UNIT_KERNELS_STANDIN_H

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionTemplate.h"
#include "kernels/core/TunedLookup.h"
#include "kernels/template/Instance.h"

namespace fattn::test {

/// What attention's program declares.
inline std::vector<dsl::Param> attentionArgs(DType dtype) {
  const kernels::ForwardKind kind{
      .dtype = dtype, .head_dim = 8, .head_dim_v = 8, .alignment = static_cast<std::int32_t>(sizeInBytes(dtype))};
  const dsl::Program program = dsl::trace("arguments", [&](dsl::Params& params) { static_cast<void>(declareForward(params, kind)); });
  return {program.args().begin(), program.args().end()};
}
inline std::size_t attentionSlot(std::string_view name) {
  static const std::vector<dsl::Param> args = attentionArgs(DType::F32);
  return static_cast<std::size_t>(std::ranges::find(args, name, &dsl::Param::name) - args.begin());
}

/// A template with attention's arguments and choices. Nothing else has its name, so that nothing is compiled or tuned for it yet.
inline KernelTemplate standIn(std::function<void(const ForwardArguments&, const TileConfig&)> program) {
  static std::int64_t next = std::chrono::steady_clock::now().time_since_epoch().count();
  KernelTemplate what = kernels::forwardTemplate();
  what.name = "stand_in_" + std::to_string(getpid()) + "_" + std::to_string(next++ % 1'000'000'000);
  what.names = [](const Parameters& parameters) {
    TemplateNames names = kernels::forwardTemplate().names(parameters);
    names.tuned.clear();  // its own
    return names;
  };
  what.program = [program = std::move(program)](dsl::Params& params, const Parameters& parameters, const TileConfig& tile) {
    program(declareForward(params, kernels::kindOf(parameters)), tile);
  };
  return what;
}

/// Keeps a configuration as what tuning a template found for a shape.
inline void recordTuned(const KernelTemplate& from, const AttentionConfig& config, const TileConfig& tile) {
  const auto told = kernels::extentsOf(config);
  const auto instance =
      std::make_shared<const kernels::Instance>(from, kernels::parametersOf(kernels::askedKind(config)), config.target, told);
  kernels::tunedStore().record(kernels::tuneKey(kernels::problemOf(instance, told)), {}, cache::TuneWinner{tile, 10, 0, 1, ""});
}

}  // namespace fattn::test

#endif
