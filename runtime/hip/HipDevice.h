// SPDX-License-Identifier: Apache-2.0
// AMD's GPUs as devices, through HIP. No such GPU was at hand when this was written: tests run it on a stand-in for HIP's library that
// executes kernels by the simulator.
#ifndef FATTN_RUNTIME_HIP_HIPDEVICE_H
#define FATTN_RUNTIME_HIP_HIPDEVICE_H

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fattn/Device.h"
#include "runtime/hip/HipRuntime.h"

namespace fattn::hip {

/// One GPU. No call changes which GPU is current in the calling thread.
class HipDevice final : public Device {
 public:
  /// `runtime` must outlive the device.
  HipDevice(const HipRuntime& runtime, int ordinal);

  DeviceKind kind() const override { return DeviceKind::Hip; }
  std::string name() const override { return "hip:" + std::to_string(ordinal_); }
  std::string description() const override;
  std::string driverVersion() const override;
  std::string chip() const override { return "amd:" + architecture_; }
  Capabilities capabilities() const override;

  void* allocate(std::size_t bytes) override;
  void free(void* memory) override;
  void copy(void* destination, const void* source, std::size_t bytes, Stream stream) override;
  void fill(void* destination, std::uint8_t value, std::size_t bytes, Stream stream) override;

  std::unique_ptr<Module> load(const compiler::Binary& binary) override;
  void launch(const Module& module, Grid grid, std::span<const std::uint64_t> arguments, Stream stream) override;

  Stream createStream() override;
  void destroyStream(Stream stream) override;
  void synchronize(Stream stream) override;
  std::unique_ptr<Event> createEvent() override;
  double elapsedMs(Event& begin, Event& end) override;

  const HipRuntime& runtime() const { return runtime_; }
  int ordinal() const { return ordinal_; }

 private:
  const HipRuntime& runtime_;
  int ordinal_;
  std::string product_, architecture_;  ///< "AMD Instinct MI300X", "gfx942"
  std::size_t memoryBytes_ = 0;
  int multiprocessors_ = 0;
};

/// HIP and its GPUs.
class System {
 public:
  /// Throws Error{NoDevice} where there is no HIP or no GPU; see HipRuntime.
  explicit System(const std::vector<std::string>& libraries);
  /// The one of this process, made at the first call and never destroyed, from the library that FATTN_HIP_LIBRARY names, else from
  /// libamdhip64.so of version 7, 6 or 5. A call that throws tries again at the next.
  static System& instance();
  /// The GPU of a target, "hip" (the first) or "hip:N". Throws Error{InvalidArgument} where it is no such name, Error{NoDevice} where the
  /// machine has no such GPU.
  HipDevice& open(std::string_view target);
  const std::vector<std::unique_ptr<HipDevice>>& devices() const { return devices_; }

 private:
  HipRuntime runtime_;
  std::vector<std::unique_ptr<HipDevice>> devices_;
};

/// The number in "hip:N"; 0 for "hip". Throws Error{InvalidArgument}.
int ordinalOf(std::string_view target);

}  // namespace fattn::hip

#endif
