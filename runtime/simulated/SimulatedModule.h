// SPDX-License-Identifier: Apache-2.0
// A code object that a simulated chip has loaded.
#ifndef FATTN_RUNTIME_SIMULATED_SIMULATEDMODULE_H
#define FATTN_RUNTIME_SIMULATED_SIMULATEDMODULE_H

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "fattn/Device.h"
#include "runtime/base/Binary.h"
#include "runtime/simulated/Modelled.h"
#include "simulator/CodeObject.h"
#include "simulator/Estimate.h"

namespace fattn::simulated {

class SimulatedModule final : public Module {
 public:
  /// Throws Error{InvalidArgument} where the code takes other arguments than its binary says.
  SimulatedModule(const compiler::Binary& binary, std::shared_ptr<const simulator::CodeObject> object);

  const simulator::Kernel& kernel() const { return object_->kernel(binary_.entry); }
  const simulator::CodeObject& object() const { return *object_; }
  const compiler::Binary& binary() const { return binary_; }
  int waves() const { return (binary_.threads + kernel().lanes - 1) / kernel().lanes; }
  /// What the model of time has to know of the code.
  const std::vector<simulator::TimedInstruction>& timed() const {
    std::call_once(timedOnce_, [&] { timed_ = simulator::timedCode(object_->code(), object_->chip()); });
    return timed_;
  }
  /// A launch that has been modelled before; null for others. A launch with other arguments is another one.
  std::shared_ptr<const ModelledLaunch>& modelled(const Grid& grid, std::span<const std::uint64_t> arguments) const {
    std::vector<std::uint64_t> key(arguments.begin(), arguments.end());
    for (std::int64_t extent : {grid.x, grid.y, grid.z}) key.push_back(static_cast<std::uint64_t>(extent));
    return launches_[key];
  }
  int registers() const override { return binary_.registers; }
  int residentBlocks() const override { return simulator::residentGroups(object_->chip(), kernel(), waves()); }
  std::int64_t localBytes() const override { return kernel().scratchBytes; }

  std::vector<std::byte> pack(std::span<const std::uint64_t> slots) const {
    std::vector<std::byte> bytes(kernel().explicitBytes());
    for (std::size_t i = 0; i < slots.size(); ++i) std::memcpy(bytes.data() + places_[i].first, &slots[i], places_[i].second);
    return bytes;
  }

 private:
  compiler::Binary binary_;
  std::shared_ptr<const simulator::CodeObject> object_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places_;  // of each argument: offset and bytes
  mutable std::once_flag timedOnce_;
  mutable std::vector<simulator::TimedInstruction> timed_;
  mutable std::map<std::vector<std::uint64_t>, std::shared_ptr<const ModelledLaunch>> launches_;  // guarded by the device's mutex
};

/// What tools show of a launch, but for its time.
ModelledLaunch describe(const SimulatedModule& module, const simulator::Estimate& estimate);

}  // namespace fattn::simulated

#endif
