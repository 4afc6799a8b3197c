// SPDX-License-Identifier: Apache-2.0
// An NVIDIA GPU as a device, through the CUDA driver.
#ifndef FATTN_RUNTIME_CUDA_CUDADEVICE_H
#define FATTN_RUNTIME_CUDA_CUDADEVICE_H

#include <array>
#include <atomic>
#include <mutex>
#include <set>

#include "fattn/Device.h"
#include "runtime/cuda/CudaModule.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/WorkCounters.h"

namespace fattn::cuda {

/// What the driver says of a GPU, beyond what every device has (Capabilities).
struct Attributes {
  std::string name;    ///< "NVIDIA H200"
  int capability = 0;  ///< compute capability, 10 * major + minor: 90
  std::array<int, 3> maxGrid{};
  int maxThreadsPerBlock = 0;
  int multiprocessors = 0;
  int sharedBytesPerBlock = 0;           ///< the most that a block can opt in to
  int sharedBytesPerMultiprocessor = 0;  ///< shared by the blocks that run on it at once
  int l2Bytes = 0;
  int clockKHz = 0, memoryClockKHz = 0;  ///< 0 where the driver does not tell
  int memoryBusBits = 0;
  std::size_t memoryBytes = 0;
  bool memoryPools = false;
};

/// One GPU. It works in the GPU's primary context, the one that the CUDA runtime and every library on top of it use, which is retained at
/// the first call that needs it and not before. No call changes which context is current in the calling thread.
class CudaDevice final : public Device {
 public:
  /// Reads the attributes. `driver` must outlive the device.
  CudaDevice(const Driver& driver, int ordinal);
  ~CudaDevice() override;

  DeviceKind kind() const override { return DeviceKind::Cuda; }
  std::string name() const override { return "cuda:" + std::to_string(ordinal_); }
  std::string description() const override;
  std::string driverVersion() const override;
  std::string chip() const override { return "nvidia:sm_" + std::to_string(attributes_.capability); }
  Capabilities capabilities() const override;
  const Attributes& attributes() const { return attributes_; }
  const Driver& driver() const { return driver_; }

  void* allocate(std::size_t bytes) override;
  void free(void* memory) override;
  void copy(void* destination, const void* source, std::size_t bytes, Stream stream) override;
  void fill(void* destination, std::uint8_t value, std::size_t bytes, Stream stream) override;

  void prepare() override { context(); }
  std::unique_ptr<Module> load(const compiler::Binary& binary) override;
  void launch(const Module& module, Grid grid, std::span<const std::uint64_t> arguments, Stream stream) override;
  bool tryLaunch(const Module& module, Grid grid, std::span<const std::uint64_t> arguments, Stream stream, PreparedLaunch* keep) override;
  bool repeat(PreparedLaunch& launch, std::span<const NewAddress> changed, Stream stream) override;

  Stream createStream() override;
  void destroyStream(Stream stream) override;
  void synchronize(Stream stream) override;
  std::unique_ptr<Event> createEvent() override;
  double elapsedMs(Event& begin, Event& end) override;

  /// The primary context; retains it at the first call.
  Context context();
  /// Throws what a driver call's result means: the GPU's context is lost, it has too little memory, or `doing` could not be done.
  [[noreturn]] void fail(Result result, const std::string& doing) const;
  /// Of what gives something back: throws only where it was never there.
  void finish(Result result, const char* doing) const;
  template <typename Call>
  Result inContext(Call call);
  /// For a kernel whose blocks count programs: at the first call. The context must be current.
  void makeCounters();
  /// Keeps a description of a kernel for messages; lives as long as the device.
  const KernelName* intern(KernelName kernel);

 private:
  [[noreturn]] void failLaunch(Result result, const CudaModule& module, Grid grid) const;
  bool encodeMaps(const CudaModule& module, std::span<const std::uint64_t> arguments, std::byte* block) const;
  void send(const CudaModule& module, Grid blocks, std::byte* block, Stream stream);
  void requireGrid(Grid grid) const;
  Grid shareOut(const CudaModule& module, Grid programs, std::byte* block) const;
  Result allocateOnce(Address& memory, std::size_t bytes);
  void makePool();
  std::string recentLaunches() const;

  const Driver& driver_;
  int ordinal_;
  Ordinal device_ = 0;
  Attributes attributes_;
  std::mutex mutex_;  // for what is made once: context, pool, names
  std::atomic<Context> context_ = nullptr;
  std::atomic<MemoryPool> pool_ = nullptr;
  StreamHandle poolStream_ = nullptr;
  std::set<KernelName> kernels_;
  WorkCounters counters_;
  // The kernels launched last, for the message when the context is lost: the driver does not tell which of them did it.
  std::array<std::atomic<const KernelName*>, 8> recent_{};
  std::atomic<unsigned> launches_ = 0;
};

}  // namespace fattn::cuda

#endif
