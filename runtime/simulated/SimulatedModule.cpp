// SPDX-License-Identifier: Apache-2.0
#include "runtime/simulated/SimulatedModule.h"

#include <fmt/format.h>

#include "fattn/Error.h"

namespace fattn::simulated {

SimulatedModule::SimulatedModule(const compiler::Binary& binary, std::shared_ptr<const simulator::CodeObject> object)
    : Module(binary.args.size()), binary_(binary), object_(std::move(object)) {
  binary_.bytes.clear();
  for (const simulator::KernelArgument& argument : kernel().arguments)
    if (!argument.isHidden()) places_.emplace_back(argument.offset, std::min(argument.size, 8U));
  if (places_.size() != slots())
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("the code of kernel '{}' takes {} arguments, and its binary lists {}", binary.entry, places_.size(), slots()));
}

ModelledLaunch describe(const SimulatedModule& module, const simulator::Estimate& estimate) {
  constexpr std::size_t kMostStalls = 40;
  const simulator::Timing& timing = estimate.timing();
  const auto clocks = static_cast<double>(std::max<std::int64_t>(timing.clocks, 1));
  ModelledLaunch launch{.kernel = module.binary().entry,
                        .registers = module.registers(),
                        .waves = module.waves(),
                        .ldsBytes = module.kernel().ldsBytes,
                        .scratchBytes = module.localBytes(),
                        .resident = estimate.resident(),
                        .matrix = timing.matrix / clocks,
                        .vector = timing.vector / clocks,
                        .local = timing.local / clocks,
                        .global = timing.global / clocks,
                        .stalls = {}};
  const std::vector<simulator::Instruction>& code = module.object().code();
  for (std::size_t i = 0; i < timing.waited.size(); ++i)
    if (timing.waited[i] > 0)
      launch.stalls.push_back({code[i].address - module.kernel().entry, code[i].text, static_cast<double>(timing.waited[i]) / clocks});
  std::ranges::sort(launch.stalls,
                    [](const Stall& a, const Stall& b) { return a.waves != b.waves ? a.waves > b.waves : a.address < b.address; });
  if (launch.stalls.size() > kMostStalls) launch.stalls.resize(kMostStalls);
  return launch;
}

}  // namespace fattn::simulated
