// SPDX-License-Identifier: Apache-2.0
// Devices: one interface over the host, CUDA, HIP and simulated chips. An engine author needs it only to allocate memory, to time, or to
// ask what there is; fattn::compile and Kernel::launch find their device by themselves.
#ifndef FATTN_DEVICE_H
#define FATTN_DEVICE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fattn {

namespace compiler {
struct Binary;
}

enum class DeviceKind : std::uint8_t { Host, Cuda, Hip, Simulated };
/// "host", "cuda", "hip", "simulated".
std::string_view name(DeviceKind kind);

/// A queue of work of a device: a CUstream, a hipStream_t, or nothing for the device's default stream. A plain value; whoever
/// created the native stream destroys it. The host and simulated chips have the default stream only, and are done with its work when the
/// call returns.
struct Stream {
  void* native = nullptr;
};

/// Number of programs of a launch in each dimension. A launch with a 0 in it does nothing.
struct Grid {
  std::int64_t x = 1, y = 1, z = 1;
};

/// What a device can do, in numbers.
struct Capabilities {
  std::array<std::int64_t, 3> maxGrid{};  ///< largest grid extent in each dimension
  std::int64_t memoryBytes = 0;           ///< memory a program can address: the RAM of the host, the DRAM of a GPU
  std::int64_t sharedBytes = 0;           ///< shared memory one program can have; 0 where there is none
  std::int64_t cacheBytes = 0;            ///< of the largest cache all programs share; 0 where the system does not tell
  int multiprocessors = 0;                ///< programs that run at once at the least: threads of the host, SMs or CUs of a GPU
  bool asynchronous = false;              ///< whether launch returns before the programs have run
  bool modelled = false;                  ///< whether times are a model's, and launches run only samples of their programs
};

/// Loaded code, ready to be launched by the device that loaded it. Unloads on destruction, which must come after the
/// last launch has finished. Immutable: any number of threads may launch it at once.
class Module {
 public:
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Number of 8-byte argument slots a launch has to give.
  std::size_t slots() const { return slots_; }
  /// Whether a launch with these argument slots is possible: some code reads arrays in ways that not all strides, sizes and addresses
  /// allow (on NVIDIA's GPUs tensor maps, whose strides are positive multiples of 16 bytes). Where it is not, launch() throws Unsupported,
  /// or InvalidArgument where their number is wrong.
  virtual bool accepts(std::span<const std::uint64_t> arguments) const { return arguments.size() == slots_; }
  /// The code that runs, where loading made it from what the compiler wrote: loading it again is quicker. "" where it is the same.
  virtual std::string_view machineCode() const { return {}; }
  /// What that code takes, of each thread: registers, and bytes of memory for what does not fit them. 0 where the device has no such
  /// figure.
  virtual int registers() const { return 0; }
  virtual std::int64_t localBytes() const { return 0; }
  /// What the device's assembler warned about, a line each; nothing where it has not assembled the code.
  virtual std::span<const std::string> warnings() const { return {}; }
  /// How many of its blocks a multiprocessor holds at once. 0 where the device has no such figure.
  virtual int residentBlocks() const { return 0; }

 protected:
  explicit Module(std::size_t slots) : slots_(slots) {}

 private:
  std::size_t slots_;
};

/// A point in a stream's time.
class Event {
 public:
  virtual ~Event() = default;
  /// Marks the end of all work given to the stream so far.
  virtual void record(Stream stream) = 0;
  /// Waits for that work.
  virtual void synchronize() = 0;
};

/// One device. Devices live until the process ends; every member function may be called from any thread at any time, and
/// throws fattn::Error (OutOfMemory, DeviceError, NoDevice, InvalidArgument, Unsupported).
struct NewAddress;  // fattn/PreparedLaunch.h
struct PreparedLaunch;

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual DeviceKind kind() const = 0;
  /// The target string that selects this device: "host", "cuda:0".
  virtual std::string name() const = 0;
  /// What a person calls it: "AMD EPYC 9B14, 8 threads".
  virtual std::string description() const = 0;
  /// The version of what drives it: "CUDA 12.8, 570.86.15"; "none" on the host.
  virtual std::string driverVersion() const = 0;
  /// The target that code for it is compiled for, without the extensions that only some code uses: "host", "nvidia:sm_90", "amd:gfx942".
  virtual std::string chip() const = 0;
  virtual Capabilities capabilities() const = 0;

  /// Does now what the first call that needs the device would do otherwise: on a GPU it creates the context, about 100 ms.
  virtual void prepare() {}

  /// At least 64-byte aligned; nullptr for 0 bytes. Contents undefined.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Accepts nullptr. The memory must no longer be in use by unfinished work.
  virtual void free(void* memory) = 0;
  /// Between any two of: this device's memory, host memory. In stream order; host memory must stay valid until then. What is copied and
  /// where it goes do not overlap. 0 bytes of anything, nullptr included, are nothing to copy or to fill.
  virtual void copy(void* destination, const void* source, std::size_t bytes, Stream stream = {}) = 0;
  virtual void fill(void* destination, std::uint8_t value, std::size_t bytes, Stream stream = {}) = 0;

  /// Loads the code of one kernel; the binary may go then. Code for what the device is not is InvalidArgument or Unsupported, with both
  /// named. Internal: what a Binary holds is not part of the installed interface.
  virtual std::unique_ptr<Module> load(const compiler::Binary& binary) = 0;
  /// Runs grid.x * grid.y * grid.z programs in the stream. `arguments`: one 8-byte slot each, the value at the slot's start.
  /// Allocates nothing and does not wait (the host and simulated chips return when all programs have run). Throws InvalidArgument, and runs
  /// nothing, for another device's module, another number of slots than the module's, and a grid beyond Capabilities::maxGrid.
  virtual void launch(const Module& module, Grid grid, std::span<const std::uint64_t> arguments, Stream stream = {}) = 0;
  /// As launch(), but returns false, and runs nothing, for arguments that the module does not accept (Module::accepts). `keep` is null, or
  /// has no launch yet: a device that can repeat this one writes it there. Internal, as repeat() is.
  virtual bool tryLaunch(const Module& module, Grid grid, std::span<const std::uint64_t> arguments, Stream stream,
                         PreparedLaunch* /*keep*/) {
    launch(module, grid, arguments, stream);
    return true;
  }
  /// Makes a launch again that this device has kept and whose module is alive. The addresses that changed are written to `launch`. False,
  /// and nothing runs, where the launch has to be prepared anew. Throws InvalidArgument for a slot that is no pointer's.
  virtual bool repeat(PreparedLaunch& /*launch*/, std::span<const NewAddress> /*changed*/, Stream /*stream*/) { return false; }

  /// A stream beside the others, or the default stream where that is the only one.
  virtual Stream createStream() = 0;
  /// Accepts the default stream, which stays.
  virtual void destroyStream(Stream stream) = 0;
  /// Waits until all work of the stream has finished, and reports what went wrong in it.
  virtual void synchronize(Stream stream = {}) = 0;
  virtual std::unique_ptr<Event> createEvent() = 0;
  /// Milliseconds between two recorded events; waits for both. Throws InvalidArgument for events of another device, and for one that was
  /// not recorded.
  virtual double elapsedMs(Event& begin, Event& end) = 0;

 protected:
  Device() = default;
};

/// The device a target string names: "" = the default: what FATTN_TARGET in the environment names, else the first NVIDIA GPU if
/// there is one whose driver works, else the first GPU of AMD's that HIP works for, else the host; "host", also
/// with an instruction set below what the processor has: "host:sse2", "host:avx2", "host:avx512", "host:avx512bf16"; "cuda", the first
/// NVIDIA GPU, or "cuda:N", and with an @ and a chip behind it, "cuda@sm_80", the same device (kernels get code for that chip); "hip" and
/// "hip:N", AMD's through HIP 5 to 7; "simulated:gfx942" and the like, a chip of AMD's whose code the CPU executes instruction by
/// instruction, with errors where a kernel does what the chip leaves undefined (docs/simulator.md); "modelled:gfx942" and the like, the
/// same with times of a model, for which only samples of a launch's programs run. Throws Error{NoDevice} naming what is there,
/// Error{InvalidArgument} for names that no machine has, and for "nvidia:sm_90" and the like, which name a chip to compile for.
Device& openDevice(std::string_view target = "");
/// All devices of this machine, the default first. Never empty: the host is always there. GPUs whose driver does not work are left out;
/// openDevice("cuda") says why. Simulated chips are not of this machine, and not among them.
std::vector<Device*> listDevices();

}  // namespace fattn

#endif
