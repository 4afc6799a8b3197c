// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/CudaModule.h"

#include <algorithm>
#include <charconv>

#include "fattn/Error.h"
#include "runtime/base/Log.h"
#include "runtime/cuda/CudaDevice.h"

namespace fattn::cuda {
namespace {

constexpr int kDefaultSharedBytes = 48 << 10;  // what a block may have without opting in to more
constexpr std::string_view kTargetPrefix = "nvidia:sm_";

// The chip in "nvidia:sm_90a": its compute capability, and which others run PTX for it: none ('a'), its family ('f'), or all later ones.
struct Chip {
  int capability = 0;
  char suffix = 0;
};

Chip chipOf(const std::string& target, const CudaDevice& device) {
  Chip chip;
  std::string_view text = target;
  if (text.starts_with(kTargetPrefix)) {
    text.remove_prefix(kTargetPrefix.size());
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), chip.capability);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text == "a" || text == "f") chip.suffix = text.front();
    if (error == std::errc() && text.size() == (chip.suffix ? 1 : 0)) return chip;
  }
  throw Error(ErrorCode::InvalidArgument, device.name() + " cannot load code for target '" + target + "'",
              "compile it for 'nvidia:sm_" + std::to_string(device.attributes().capability) + "'");
}

// Of PTX, whose target decides. A cubin may be for this GPU whatever chip its PTX was made for; the driver looks at it.
void requireChip(Chip chip, const std::string& target, const CudaDevice& device) {
  int have = device.attributes().capability;
  bool sameMajor = have / 10 == chip.capability / 10;
  if (chip.suffix == 'a' ? have == chip.capability : have >= chip.capability && (sameMajor || chip.suffix == 0)) return;
  throw Error(ErrorCode::Unsupported,
              "code for target '" + target + "' does not run on " + device.name() + ", " + device.attributes().name + ", which is sm_" +
                  std::to_string(have),
              "compile it for 'nvidia:sm_" + std::to_string(have) + "'");
}

}  // namespace

std::string KernelName::text() const {
  return "'" + entry + "' (block " + std::to_string(threads) + ", " + std::to_string(sharedBytes) + " bytes of dynamic shared memory)";
}

CudaModule::CudaModule(CudaDevice& device, const compiler::Binary& binary)
    : Module(binary.args.size()),
      device_(device),
      layout_(binary.args, binary.tensorMaps.size(), binary.repeats || binary.cluster > 1, binary.counts),
      counts_(binary.counts),
      cluster_(binary.cluster),
      maps_(binary, device.driver().api()),
      kernel_(device.intern({binary.entry, static_cast<unsigned>(binary.threads), static_cast<unsigned>(binary.sharedBytes)})) {
  std::string kernel = "kernel '" + binary.entry + "'";
  if (binary.threads < 1 || binary.threads > device.attributes().maxThreadsPerBlock)
    throw Error(ErrorCode::InvalidArgument, kernel + " has blocks of " + std::to_string(binary.threads) + " threads; legal are 1 to " +
                                                std::to_string(device.attributes().maxThreadsPerBlock));
  if (layout_.bytes() > ArgumentLayout::kMaxBytes)
    throw Error(ErrorCode::Unsupported, kernel + " takes " + std::to_string(layout_.bytes()) + " bytes of arguments; the limit is " +
                                            std::to_string(ArgumentLayout::kMaxBytes));
  requireShared(binary.sharedBytes);
  constexpr int kOverlapsInGraphs = 12030;  // CUDA 12.3: such launches can be captured into a graph
  overlaps_ = binary.overlaps && device_.driver().api().LaunchKernelEx != nullptr && device_.driver().version() >= kOverlapsInGraphs;
  loadImage(binary);
  try {
    Result result = device_.driver().api().ModuleGetFunction(&function_, module_, binary.entry.c_str());
    if (result == kNotFound)
      throw Error(ErrorCode::CompileError, "the code for " + device_.name() + " has no " + kernel + ": " + device_.driver().text(result));
    if (result != kSuccess) device_.fail(result, "find " + kernel);
    requireResources();
    countResidentBlocks();
    if (counts_) device_.makeCounters();
    roleTrace_ = RoleTrace::find(device_.driver(), module_, binary.entry, binary.target, device_.attributes().name);
    if (binary.repeats)
      mostBlocks_ = std::int64_t{std::max(resources_.residentBlocks, 1)} * std::max(device_.attributes().multiprocessors, 1);
  } catch (...) {
    device_.driver().api().ModuleUnload(module_);
    throw;
  }
}

void CudaModule::loadImage(const compiler::Binary& binary) {
  const Driver& driver = device_.driver();
  bool isCubin = binary.bytes.starts_with("\177ELF"), isPtx = !isCubin && binary.bytes.find(".version") != std::string::npos;
  Chip chip = chipOf(binary.target, device_);
  const std::string gpu = device_.name() + ", " + device_.attributes().name;
  if (isPtx) requireChip(chip, binary.target, device_);
  if (isPtx && mustNotBeLinked(binary.bytes)) {
    linked_ = loadPtx(driver, binary.bytes, binary.entry, gpu, &module_);
    return;
  }
  if (isPtx)
    linked_ = linkPtx(driver, binary.bytes, binary.entry, gpu);
  else if (isCubin)
    linked_.cubin = binary.bytes;
  else
    throw Error(ErrorCode::CompileError, "the code of kernel '" + binary.entry + "' is neither PTX text nor a cubin");
  char log[4096] = "";
  int options[] = {kJitErrorLog, kJitErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof(log) - 1)};
  Result result = driver.api().ModuleLoadDataEx(&module_, linked_.cubin.data(), 2, options, values);
  if (result == kSuccess) return;
  std::string doing = "load kernel '" + binary.entry + "'";
  if (result == kNoBinaryForGpu)
    throw Error(ErrorCode::Unsupported, "the cubin of kernel '" + binary.entry + "' is for another chip than " + device_.name() + ", " +
                                            device_.attributes().name + ": " + driver.text(result));
  if (log[0] != 0) doing.append(" (").append(log).append(")");
  device_.fail(result, doing);
}

void CudaModule::requireShared(std::int64_t bytes) const {
  int limit = device_.attributes().sharedBytesPerBlock;
  if (bytes >= 0 && bytes <= limit) return;
  throw Error(ErrorCode::Unsupported,
              "kernel '" + kernel_->entry + "' takes " + std::to_string(bytes) + " bytes of shared memory; a block on " + device_.name() +
                  ", " + device_.attributes().name + ", can have at most " + std::to_string(limit),
              "smaller blocks or fewer stages take less");
}

void CudaModule::requireResources() {
  const DriverApi& api = device_.driver().api();
  std::string kernel = "kernel '" + kernel_->entry + "'";
  auto read = [&](int& value, int attribute) {
    if (Result result = api.FuncGetAttribute(&value, attribute, function_); result != kSuccess)
      device_.fail(result, "read the attributes of " + kernel);
  };
  read(resources_.registers, kFunctionRegisters);
  read(resources_.localBytes, kFunctionLocalBytes);
  read(resources_.staticSharedBytes, kFunctionStaticSharedBytes);
  read(resources_.maxThreads, kFunctionMaxThreadsPerBlock);
  if (static_cast<int>(kernel_->threads) > resources_.maxThreads)
    throw Error(ErrorCode::Unsupported, kernel + " has blocks of " + std::to_string(kernel_->threads) + " threads, but with its " +
                                            std::to_string(resources_.registers) + " registers a thread a block can have at most " +
                                            std::to_string(resources_.maxThreads));
  std::int64_t shared = static_cast<std::int64_t>(kernel_->sharedBytes) + resources_.staticSharedBytes;
  requireShared(shared);
  if (shared > kDefaultSharedBytes)
    if (Result result = api.FuncSetAttribute(function_, kFunctionMaxDynamicSharedBytes, static_cast<int>(kernel_->sharedBytes));
        result != kSuccess)
      device_.fail(result, "give " + kernel + " " + std::to_string(kernel_->sharedBytes) + " bytes of dynamic shared memory");
  // The driver may load code at its first launch only, which waits and cannot be captured into a graph: have it done now.
  if (api.FuncLoad != nullptr)
    if (Result result = api.FuncLoad(function_); result != kSuccess) device_.fail(result, "load " + kernel);
}

void CudaModule::countResidentBlocks() {
  Result result = device_.driver().api().OccupancyMaxActiveBlocksPerMultiprocessor(
      &resources_.residentBlocks, function_, static_cast<int>(kernel_->threads), kernel_->sharedBytes);
  if (result != kSuccess) device_.fail(result, "count the blocks of kernel '" + kernel_->entry + "' that fit on a multiprocessor");
}

CudaModule::~CudaModule() {
  // Nothing can be done about an error here: the process is ending, or the context is lost and its modules with it.
  try {
    ContextScope scope(device_.driver(), device_.context());
    device_.driver().api().ModuleUnload(module_);
  } catch (const Error& error) {
    log::write(log::Level::Debug, error.what());
  }
}

}  // namespace fattn::cuda
