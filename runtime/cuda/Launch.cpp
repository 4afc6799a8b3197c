// SPDX-License-Identifier: Apache-2.0
// The launch: packs the arguments, on the stack or where the caller keeps them, and makes one call to the driver. No allocation and no
// waiting, so that it can be captured into a graph.
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <typeinfo>

#include "fattn/Error.h"
#include "fattn/PreparedLaunch.h"
#include "runtime/cuda/CudaDevice.h"

namespace fattn::cuda {
namespace {

std::string text(Grid grid) { return std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " + std::to_string(grid.z); }

[[noreturn]] void failArguments(const CudaModule& module, std::size_t given) {
  throw Error(ErrorCode::InvalidArgument, "a launch gives " + std::to_string(given) + " arguments to kernel '" + module.kernel().entry +
                                              "', which takes " + std::to_string(module.slots()));
}

[[noreturn]] void failModule(const Module& module, const CudaDevice& device) {
  std::string owner =
      typeid(module) == typeid(CudaModule) ? static_cast<const CudaModule&>(module).device().name() : "a device of another kind";
  throw Error(ErrorCode::InvalidArgument, "a kernel that " + owner + " loaded was launched on " + device.name(),
              "load it on " + device.name() + " too");
}

[[noreturn]] void failSlot(const CudaModule& module, std::size_t slot) {
  throw Error(ErrorCode::InvalidArgument, "a launch that is repeated gives argument " + std::to_string(slot) + " of kernel '" +
                                              module.kernel().entry + "' another address; of its " + std::to_string(module.slots()) +
                                              " arguments that one is no pointer");
}

/// One call to the driver. What it does by default it is told in the way that every driver knows.
Result start(const DriverApi& api, const CudaModule& module, Grid grid, StreamHandle stream, void** each, void** extra) {
  const unsigned x = static_cast<unsigned>(grid.x), y = static_cast<unsigned>(grid.y), z = static_cast<unsigned>(grid.z);
  const KernelName& kernel = module.kernel();
  if (!module.overlaps())
    return api.LaunchKernel(module.function(), x, y, z, kernel.threads, 1, 1, kernel.sharedBytes, stream, each, extra);
  const LaunchAttribute overlaps{.id = kLaunchOverlaps, .value = {1}};
  const LaunchConfig config{.grid = {x, y, z},
                            .block = {kernel.threads, 1, 1},
                            .sharedBytes = kernel.sharedBytes,
                            .stream = stream,
                            .attributes = &overlaps,
                            .attributeCount = 1};
  return api.LaunchKernelEx(&config, module.function(), each, extra);
}

}  // namespace

void CudaDevice::requireGrid(Grid grid) const {
  auto [x, y, z] = attributes_.maxGrid;
  if (grid.x >= 0 && grid.x <= x && grid.y >= 0 && grid.y <= y && grid.z >= 0 && grid.z <= z) [[likely]]
    return;
  throw Error(ErrorCode::InvalidArgument, "the grid is " + text(grid) + "; on " + name() + " legal extents are 0 to " + text({x, y, z}));
}

/// Hands the kernel its numbers of programs. Gives the grid of the blocks that take them: as many as the GPU holds at once, or with some
/// more where neighbours share copies.
Grid CudaDevice::shareOut(const CudaModule& module, Grid programs, std::byte* block) const {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t count = programs.x * programs.y, cluster = module.cluster();
  if (cluster == 1 && count > kMost / programs.z)
    throw Error(ErrorCode::Unsupported,
                "kernel '" + module.kernel().entry + "' was compiled so that a block takes one program after another, which are at most " +
                    std::to_string(kMost) + " a launch; the grid is " + text(programs),
                "a schedule without 'persistent' and 'dynamic' takes any grid");
  const std::int32_t extents[] = {static_cast<std::int32_t>(programs.x), static_cast<std::int32_t>(programs.y),
                                  static_cast<std::int32_t>(programs.z)};
  static_assert(sizeof(extents) == ArgumentLayout::kAxes * sizeof(std::int32_t));
  std::memcpy(block + module.layout().programsOffset(), extents, sizeof(extents));
  if (cluster > 1) return {(programs.x + cluster - 1) / cluster * cluster, programs.y, programs.z};
  return {std::min(count * programs.z, module.mostBlocks()), 1, 1};
}

void CudaDevice::launch(const Module& module, Grid grid, std::span<const std::uint64_t> arguments, Stream stream) {
  if (tryLaunch(module, grid, arguments, stream, nullptr)) [[likely]]
    return;
  throw Error(ErrorCode::Unsupported,
              "kernel '" + static_cast<const CudaModule&>(module).kernel().entry + "' on " + name() +
                  " reads arrays by tensor maps, which take sizes of at least 1, strides of positive multiples of 16 bytes and addresses "
                  "that are multiples of 16; an argument of this launch gives another one",
              "Module::accepts() says beforehand; code for arguments of a lower alignment takes any");
}

bool CudaDevice::tryLaunch(const Module& module, Grid grid, std::span<const std::uint64_t> arguments, Stream stream, PreparedLaunch* keep) {
  if (typeid(module) != typeid(CudaModule) || &static_cast<const CudaModule&>(module).device() != this) failModule(module, *this);
  const auto& loaded = static_cast<const CudaModule&>(module);
  const ArgumentLayout& layout = loaded.layout();
  if (arguments.size() != loaded.slots()) failArguments(loaded, arguments.size());
  requireGrid(grid);
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return true;
  alignas(ArgumentLayout::kMapAlignment) std::byte ownBlock[ArgumentLayout::kMaxBytes];
  const bool keeps = keep && layout.bytes() <= PreparedLaunch::kBytes;
  std::byte* block = keeps ? keep->block.data() : ownBlock;
  layout.pack(arguments, block);
  if (loaded.mostBlocks() > 0 || loaded.cluster() > 1) grid = shareOut(loaded, grid, block);
  ContextScope scope(driver_, context());
  if (!loaded.maps().empty() && !encodeMaps(loaded, arguments, block)) return false;  // they take a context to be made
  send(loaded, grid, block, stream);
  if (keeps) keep->module = &module, keep->grid = grid;
  return true;
}

bool CudaDevice::repeat(PreparedLaunch& launch, std::span<const NewAddress> changed, Stream stream) {
  const auto& module = static_cast<const CudaModule&>(*launch.module);
  std::byte* block = launch.block.data();
  ContextScope scope(driver_, context());
  for (const NewAddress& change : changed)
    if (!module.layout().isPointer(change.slot)) [[unlikely]]
      failSlot(module, change.slot);
  for (const NewAddress& change : changed)
    std::memcpy(block + module.layout().offset(change.slot), &change.address, sizeof(change.address));
  if (!changed.empty() && !module.maps().replaceAddresses(changed, block + module.layout().mapOffset(0))) {
    launch.module = nullptr;
    return false;
  }
  send(module, launch.grid, block, stream);
  return true;
}

/// Hands a launch to the driver. The context is current. With tensor maps all arguments are one parameter, to whose alignment the driver
/// sees only where it is handed each parameter by itself.
void CudaDevice::send(const CudaModule& module, Grid blocks, std::byte* block, Stream stream) {
  const auto native = static_cast<StreamHandle>(stream.native);
  // Two threads that count at the same time may count once: messages are all that reads it, and a locked instruction would be dear.
  const unsigned number = launches_.load(std::memory_order_relaxed);
  launches_.store(number + 1, std::memory_order_relaxed);
  recent_[number % recent_.size()].store(&module.kernel(), std::memory_order_relaxed);
  if (module.counts()) {
    const Address counter = counters_.of(native);
    std::memcpy(block + module.layout().counterOffset(), &counter, sizeof(counter));
  }
  std::size_t bytes = module.layout().bytes();
  void* extra[] = {reinterpret_cast<void*>(kLaunchBlock), block, reinterpret_cast<void*>(kLaunchBlockBytes), &bytes,
                   reinterpret_cast<void*>(kLaunchBlockEnd)};
  void* each[] = {block, nullptr};
  const bool maps = !module.maps().empty();
  const Result result = start(driver_.api(), module, blocks, native, maps ? each : nullptr, bytes == 0 || maps ? nullptr : extra);
  if (result != kSuccess) [[unlikely]]
    failLaunch(result, module, blocks);
  if (RoleTrace* trace = module.roleTrace()) [[unlikely]]
    trace->launched(native);
}

/// False where the engine cannot read what the arguments say.
bool CudaDevice::encodeMaps(const CudaModule& module, std::span<const std::uint64_t> arguments, std::byte* block) const {
  const std::optional<Result> result = module.maps().encode(arguments, block + module.layout().mapOffset(0));
  if (result && *result != kSuccess) fail(*result, "make the tensor maps of kernel '" + module.kernel().entry + "'");
  return result.has_value();
}

void CudaDevice::failLaunch(Result result, const CudaModule& module, Grid grid) const {
  std::string doing = "launch kernel '" + module.kernel().entry + "' (grid " + text(grid) + ", block " +
                      std::to_string(module.kernel().threads) + ", " + std::to_string(module.kernel().sharedBytes) +
                      " bytes of dynamic shared memory)";
  if (result != kInvalidHandle && result != kInvalidContext) fail(result, doing);
  throw Error(ErrorCode::DeviceError, "could not " + doing + " on " + name() + ", " + attributes_.name + ": " + driver_.text(result),
              "a stream has to be of this GPU's primary context, which is the one that the CUDA runtime uses");
}

std::string CudaDevice::recentLaunches() const {
  std::string names;
  std::set<const KernelName*> seen;
  unsigned count = launches_.load(std::memory_order_relaxed);
  for (unsigned i = 1; i <= std::min<std::size_t>(count, recent_.size()); ++i) {
    const KernelName* kernel = recent_[(count - i) % recent_.size()].load(std::memory_order_relaxed);
    if (kernel != nullptr && seen.insert(kernel).second) names.append(names.empty() ? "" : ", ").append(kernel->text());
  }
  return names.empty() ? "fattn has launched nothing on it" : "launched last, newest first: " + names;
}

}  // namespace fattn::cuda
