// SPDX-License-Identifier: Apache-2.0
// A source's binary onto its device, with progress reported.
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include "fattn/Error.h"
#include "kernels/core/LoadedCode.h"
#include "kernels/core/Target.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/base/Log.h"
#include "runtime/base/Threads.h"
#include "runtime/cache/Settings.h"

namespace fattn {
namespace {

struct ProgressCallback {
  std::mutex mutex;
  std::shared_ptr<const std::function<void(const KernelProgress&)>> function;
};
ProgressCallback& progressCallback() {
  static auto* callback = new ProgressCallback;  // never destroyed: objects that outlive main may compile
  return *callback;
}

void reportProgress(const kernels::Source& source, const TileConfig& tile, bool done, double ms) {
  if (source.progress) source.progress(tile, done, ms);
  std::unique_lock lock(progressCallback().mutex);
  auto held = progressCallback().function;
  lock.unlock();
  if (held && *held) (*held)({.kernel = kernels::describe(source, tile), .done = done, .ms = ms});
}

}  // namespace

void setProgressCallback(std::function<void(const KernelProgress&)> function) {
  auto held = std::make_shared<const std::function<void(const KernelProgress&)>>(std::move(function));
  const Busy busy;
  std::lock_guard lock(progressCallback().mutex);
  progressCallback().function = std::move(held);
}

namespace kernels {

std::string describe(const Source& source, const TileConfig& tile) {
  const std::string choices = tile.toString();
  return choices.empty() ? source.text : source.text + " with " + choices;
}

Device& LoadedCode::requireDevice() const {
  if (device != nullptr) [[likely]]
    return *device;
  throw Error(ErrorCode::InvalidArgument, "this Kernel is code for '" + info.target + "', which no device is opened for",
              "compile it for a device of this machine to launch it, for example target 'cuda'");
}

void LoadedCode::launch(Stream stream, Grid grid, std::span<const std::uint64_t> slots, PreparedLaunch* keep) const {
  Device& on = requireDevice();
  if (on.tryLaunch(*module, grid, slots, stream, keep)) [[likely]]
    return;
  if (!plain || !on.tryLaunch(*withoutMaps().module, grid, slots, stream, keep)) on.launch(*module, grid, slots, stream);  // throws
}

const LoadedCode& LoadedCode::withoutMaps() const {
  if (const LoadedCode* found = plainCode_.load(std::memory_order_acquire)) return *found;
  std::lock_guard lock(compiling_);
  if (!plainOwner_) {
    Source source{.key = {}, .text = info.entry + " without tensor maps for " + info.target, .target = target};
    source.compile = [this](const TileConfig&) { return plain(); };
    plainOwner_ = loadCode(source, info.tile);
    plainCode_.store(plainOwner_.get(), std::memory_order_release);
  }
  return *plainOwner_;
}

namespace {

// An assembler may make asynchronous dots wait for each other: C7510 to C7515 of NVIDIA's. A configuration that somebody chose among others
// is an error then. What has no other is slower than it could be: the default, and programs that bring their own sizes. A watchdog calls
// functions, which always has that price.
void requireAsynchronousDots(const Source& source, const TileConfig& tile, const Module& module) {
  if (cache::watchdogMilliseconds() != 0) return;
  for (const std::string& line : module.warnings()) {
    if (!line.contains("(C751")) continue;
    const std::string what =
        "the driver's assembler makes asynchronous dots of " + describe(source, tile) + " wait for each other: " + line;
    const bool hasOther = !source.safe.toString().empty() && tile != source.safe;
    if (hasOther) throw Error(ErrorCode::CompileError, what, "smaller blocks, more warps, or another SCHEDULE leave it registers");
    log::write(log::Level::Warning, what);
    return;
  }
}

void useBinary(const Source& source, const TileConfig& tile, LoadedCode& code, compiler::Binary& binary) {
  if (source.accept) source.accept(binary);
  if (binary.args.size() > kMostSlots)
    throw Error(ErrorCode::Unsupported, "kernel '" + binary.entry + "' has " + std::to_string(binary.args.size()) +
                                            " arguments; a launch takes up to " + std::to_string(kMostSlots));
  if (code.device == nullptr) return;
  code.module = code.device->load(binary);
  requireAsynchronousDots(source, tile, *code.module);
  if (!code.module->machineCode().empty()) binary.bytes = code.module->machineCode();
  binary.registers = code.module->registers();
  binary.spillBytes = static_cast<int>(code.module->localBytes());
}

// A GPU gets ready while the compiler works. What fails then fails again, and is reported, when the code is loaded.
std::optional<std::jthread> prepareBeside(Device* device) {
  if (device == nullptr || device->kind() == DeviceKind::Host) return std::nullopt;
  return tryThread([device] {
    try {
      device->prepare();
    } catch (const std::exception& error) {
      log::write(log::Level::Debug, error.what());
    }
  });
}

KernelCode infoOf(const Source& source, const TileConfig& tile, const LoadedCode& code, const compiler::Binary& binary) {
  return {.target = source.target.name,
          .tile = tile,
          .device = code.device != nullptr ? code.device->description() : "none",
          .entry = binary.entry,
          .binary_bytes = static_cast<std::int64_t>(binary.bytes.size()),
          .scratch_bytes = binary.scratchBytes,
          .shared_bytes = binary.sharedBytes,
          .threads = source.target.isHost() ? 0 : binary.threads,
          .registers = binary.registers,
          .spill_bytes = binary.spillBytes,
          .resident = code.module != nullptr ? code.module->residentBlocks() : 0};
}

}  // namespace

std::shared_ptr<const LoadedCode> loadCode(const Source& source, const TileConfig& tile) {
  auto begin = std::chrono::steady_clock::now();
  reportProgress(source, tile, false, 0);
  auto code = std::make_shared<LoadedCode>();
  code->target = source.target;
  code->device = source.target.device;
  if (code->device != nullptr) code->maxGrid = code->device->capabilities().maxGrid;
  std::optional<std::jthread> preparing = prepareBeside(code->device);
  auto [binary, recompile, keep, plain] = source.compile(tile);
  preparing.reset();  // joins it
  bool fromCache = recompile != nullptr;
  try {
    useBinary(source, tile, *code, binary);
  } catch (const Error& error) {
    if (!fromCache) throw;
    log::write(log::Level::Info, "a binary from the cache is compiled anew: " + error.constraint());
    fromCache = false;
    binary = recompile();
    useBinary(source, tile, *code, binary);
  }
  if (!fromCache && keep) keep(binary);
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  code->info = infoOf(source, tile, *code, binary);
  code->info.from_cache = fromCache;
  code->info.compile_ms = time.count();
  code->args = std::move(binary.args);
  code->plain = std::move(plain);
  if (source.client) code->client = source.client(*code);
  if (log::enabled(log::Level::Info))
    log::write(log::Level::Info,
               (fromCache ? "found in the cache: " : "compiled ") + describe(source, tile) + " in " + std::to_string(time.count()) + " ms");
  reportProgress(source, tile, true, time.count());
  return code;
}

}  // namespace kernels
}  // namespace fattn
