// SPDX-License-Identifier: Apache-2.0
#include "tools/fattn-dump/Time.h"

#include <fmt/format.h>

#include <array>

#include "fattn/Device.h"
#include "fattn/Error.h"
#include "kernels/attention/AttentionForward.h"
#include "kernels/attention/AttentionTemplate.h"
#include "kernels/core/Bench.h"
#include "kernels/template/Instance.h"
#include "runtime/base/TargetName.h"
#include "runtime/cache/Tuned.h"
#include "runtime/simulated/Modelled.h"

namespace fattn::dump {
namespace {

std::shared_ptr<const kernels::Instance> instanceOf(const Options& options, const std::string& target) {
  if (!options.fromTemplate.empty()) {
    const auto from = findTemplate(options.fromTemplate);
    return std::make_shared<const kernels::Instance>(*from, parseParameters(*from, options.parameters), target);
  }
  const AttentionConfig config{
      .dtype = options.dtype, .head_dim = options.headDim, .head_dim_v = options.headDimV, .causal = options.causal};
  return std::make_shared<const kernels::Instance>(kernels::forwardTemplate(), kernels::parametersOf(kernels::askedKind(config)), target);
}

std::string share(double part) { return fmt::format("{:.1f} %", part * 100); }

std::string textOf(const simulated::ModelledLaunch& launch, const std::string& title, const std::string& device, const std::string& shape) {
  std::string text = fmt::format("{} on {}\nnothing is measured; docs/simulator.md says what the model leaves out\n\n", title, device);
  const auto row = [&](std::string_view name, const std::string& value) { text += fmt::format("{:<16}{}\n", name, value); };
  row("shape", shape);
  row("time", fmt::format("{:.1f} us; memory takes {:.1f} us at least", launch.us, launch.memoryUs));
  row("a workgroup", fmt::format("{} waves of {} vector registers, {} bytes of LDS, {} bytes a lane of scratch", launch.waves,
                                 launch.registers, launch.ldsBytes, launch.scratchBytes));
  row("a compute unit", fmt::format("holds {} workgroup{} at once", launch.resident, launch.resident == 1 ? "" : "s"));
  row("busy", fmt::format("matrix unit {}, vector unit {}, LDS {}, global memory {}", share(launch.matrix), share(launch.vector),
                          share(launch.local), share(launch.global)));
  text += "\nwaves of a compute unit that stand at an instruction, on average: they wait for operands, a unit, memory, or each other\n";
  text += fmt::format("{:>7}  {:<8}  {}\n", "waves", "address", "instruction");
  for (const simulated::Stall& stall : launch.stalls)
    if (stall.waves >= 0.005) text += fmt::format("{:>7.2f}  {:#08x}  {}\n", stall.waves, stall.address, stall.text);
  return text;
}

}  // namespace

Stage timeStage(const Options& options, const Compilation& compilation) {
  if (!options.file.empty())
    throw Error(ErrorCode::Unsupported, "--emit time needs operands, and nobody knows those of a kernel from a file",
                "dump attention's forward or a template (--template)");
  const std::string target = fmt::format("modelled:{}", parseTarget(options.target).part);
  const kernels::TuneProblem problem = kernels::problemOf(instanceOf(options, target), {});
  if (!problem.bench)
    throw Error(ErrorCode::Unsupported, fmt::format("--emit time needs operands, and the template {} names none", options.fromTemplate));
  const std::unique_ptr<kernels::Bench> bench = problem.bench();
  std::array<double, 1> us{};
  bench->trial(compilation.config)->measure(us);
  Device& device = openDevice(target);
  const std::shared_ptr<const simulated::ModelledLaunch> launch = simulated::lastModelled(device);
  return {std::string(kTimeStage),
          "txt",
          textOf(*launch, compilation.title + ", " + compilation.config.toString(), device.description(), cache::bucketName(problem.shape)),
          {}};
}

}  // namespace fattn::dump
