// SPDX-License-Identifier: Apache-2.0
// A configuration's binary onto its device, with progress reported.
#include <chrono>
#include <thread>

#include "kernels/attention/AttentionLaunch.h"
#include "kernels/attention/AttentionSupport.h"
#include "kernels/attention/KernelCache.h"
#include "runtime/base/Lifecycle.h"
#include "runtime/base/Log.h"
#include "runtime/base/Threads.h"

namespace fattn {
namespace {

struct Callback {
  std::mutex mutex;
  std::shared_ptr<const std::function<void(const CompileProgress&)>> function;
};
Callback& callback() {
  static auto* callback = new Callback;  // never destroyed: objects that outlive main may compile
  return *callback;
}

void report(const CompileProgress& progress) {
  std::unique_lock lock(callback().mutex);
  auto held = callback().function;
  lock.unlock();
  if (held && *held) (*held)(progress);
}

// The kernel's function and packAttention() are written apart; a difference between them must not become a crash.
void checkSignature(const compiler::Binary& binary) {
  bool agrees = binary.args.size() == kernels::kAttentionSlots;
  for (std::size_t i = 0; agrees && i < binary.args.size(); ++i) {
    const compiler::ArgInfo& arg = binary.args[i];
    DType expected = i < 20 ? DType::I64 : i == 24 ? DType::F32 : DType::I32;
    agrees = arg.isPointer == (i < 5) && (arg.isPointer || arg.type == expected);
  }
  if (!agrees) throw Error(ErrorCode::Internal, "the attention kernel's arguments are not the ones its launch packs");
}

}  // namespace

void setCompileCallback(std::function<void(const CompileProgress&)> function) {
  auto held = std::make_shared<const std::function<void(const CompileProgress&)>>(std::move(function));
  const Busy busy;
  std::lock_guard lock(callback().mutex);
  callback().function = std::move(held);
}

namespace kernels {

std::string describe(const AttentionConfig& config) {
  std::string text = "attention " + std::string(name(config.dtype)) + " head_dim " + std::to_string(config.head_dim);
  if (config.head_dim_v != config.head_dim) text += "/" + std::to_string(config.head_dim_v);
  return text + (config.causal ? " causal" : "") + " for " + config.target + " with " + config.tile->toString();
}

namespace {

void useBinary(LoadedKernel& kernel, compiler::Binary& binary) {
  checkSignature(binary);
  if (kernel.device == nullptr) return;
  kernel.module = kernel.device->load(binary);
  if (!kernel.module->machineCode().empty()) binary.bytes = kernel.module->machineCode();
  binary.registers = kernel.module->registers();
  binary.spillBytes = static_cast<int>(kernel.module->localBytes());
}

}  // namespace

std::shared_ptr<LoadedKernel> loadKernel(const AttentionConfig& resolved, const CompileFunction& compile) {
  auto begin = std::chrono::steady_clock::now();
  report({.config = resolved, .done = false, .ms = 0});
  auto kernel = std::make_shared<LoadedKernel>();
  if (!namesChip(resolved.target)) kernel->device = &openDevice(resolved.target);
  if (kernel->device != nullptr) kernel->maxGrid = kernel->device->capabilities().maxGrid;
  // A GPU gets ready while the compiler works. What fails then fails again, and is reported, when the code is loaded.
  std::optional<std::jthread> preparing;
  if (kernel->device != nullptr && kernel->device->kind() != DeviceKind::Host)
    preparing = tryThread([device = kernel->device] {
      try {
        device->prepare();
      } catch (const std::exception& error) {
        log::write(log::Level::Debug, error.what());
      }
    });
  auto [binary, recompile, keep] = compile(resolved);
  preparing.reset();  // joins it
  bool fromCache = recompile != nullptr;
  try {
    useBinary(*kernel, binary);
  } catch (const Error& error) {
    if (!fromCache) throw;
    log::write(log::Level::Info, "a binary from the cache is compiled anew: " + error.constraint());
    fromCache = false;
    binary = recompile();
    useBinary(*kernel, binary);
  }
  if (!fromCache && keep) keep(binary);
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  kernel->info = {.config = resolved,
                  .tile = *resolved.tile,
                  .device = kernel->device != nullptr ? kernel->device->description() : "none",
                  .entry = binary.entry,
                  .from_cache = fromCache,
                  .compile_ms = time.count(),
                  .binary_bytes = static_cast<std::int64_t>(binary.bytes.size()),
                  .scratch_bytes = binary.scratchBytes,
                  .shared_bytes = binary.sharedBytes,
                  .threads = binary.threads,
                  .registers = binary.registers,
                  .spill_bytes = binary.spillBytes};
  if (log::enabled(log::Level::Info))
    log::write(log::Level::Info,
               (fromCache ? "found in the cache: " : "compiled ") + describe(resolved) + " in " + std::to_string(time.count()) + " ms");
  report({.config = resolved, .done = true, .ms = time.count()});
  return kernel;
}

const LoadedKernel& LoadedKernel::forAnyAlignment() const {
  if (const LoadedKernel* found = anyAlignment_.load(std::memory_order_acquire)) return *found;
  AttentionConfig any = info.config;
  any.alignment = sizeInBytes(any.dtype);
  const Busy busy;
  std::shared_ptr<const LoadedKernel> made = get(any);
  std::lock_guard lock(mutex_);
  if (!anyAlignmentOwner_) anyAlignmentOwner_ = std::move(made);
  anyAlignment_.store(anyAlignmentOwner_.get(), std::memory_order_release);
  return *anyAlignmentOwner_;
}

}  // namespace kernels
}  // namespace fattn
