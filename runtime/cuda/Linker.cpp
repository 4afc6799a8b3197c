// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/Linker.h"

#include <cstring>
#include <memory>

#include "fattn/Error.h"

namespace fattn::cuda {
namespace {

constexpr std::size_t kLogBytes = 64 << 10;

// What follows a directive (".version", ".target") on its line, without blanks and comments; "" where PTX has no such line.
std::string_view directive(std::string_view ptx, std::string_view name) {
  for (std::size_t at = ptx.find(name); at != std::string_view::npos; at = ptx.find(name, at + 1)) {
    if (at != 0 && ptx[at - 1] != '\n') continue;
    std::string_view value = ptx.substr(at + name.size());
    value = value.substr(0, value.find_first_of("\r\n/,"));
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    return value;
  }
  return "";
}

// The buffers that the driver writes while a link lives. It zeroes nothing, so they begin as empty strings.
struct LinkOptions {
  std::unique_ptr<char[]> info = std::make_unique<char[]>(kLogBytes), error = std::make_unique<char[]>(kLogBytes);
  int names[6] = {kJitWallTime, kJitInfoLog, kJitInfoLogBytes, kJitErrorLog, kJitErrorLogBytes, kJitLogVerbose};
  void* values[6] = {
      nullptr, info.get(), reinterpret_cast<void*>(kLogBytes), error.get(), reinterpret_cast<void*>(kLogBytes), reinterpret_cast<void*>(1)};

  double milliseconds() const {
    float time = 0;
    std::memcpy(&time, static_cast<const void*>(values), sizeof(time));
    return time;
  }
  std::string infoText() const { return {info.get(), strnlen(info.get(), kLogBytes)}; }
  std::string errorText() const { return {error.get(), strnlen(error.get(), kLogBytes)}; }
};

struct Link {
  const Driver& driver;
  LinkState state = nullptr;
  ~Link() {
    if (state != nullptr) driver.api().LinkDestroy(state);
  }
};

[[noreturn]] void tooOld(const Driver& driver, std::string_view ptx, std::string_view entry, Result result) {
  std::string version(directive(ptx, ".version"));
  int needed = cudaVersionOfPtx(version);
  std::string driverVersion = cudaVersion(driver.version());
  throw Error(ErrorCode::Unsupported,
              "the NVIDIA driver is too old for kernel '" + std::string(entry) + "': its PTX is of version " + version +
                  ", which needs a driver for CUDA " +
                  (needed != 0 ? cudaVersion(needed) + " or newer" : std::string("newer than any this fattn knows")) +
                  ", and this driver is for CUDA " + driverVersion + " (" + driver.text(result) + ")",
              "update the NVIDIA driver");
}

[[noreturn]] void explain(const Driver& driver, Result result, const LinkOptions& options, std::string_view ptx, std::string_view entry,
                          std::string_view gpu) {
  std::string log = options.errorText(), kernel = "kernel '" + std::string(entry) + "'";
  if (result == kUnsupportedPtxVersion || log.find("Unsupported .version") != std::string::npos) tooOld(driver, ptx, entry, result);
  if (result == kJitCompilerNotFound)
    throw Error(ErrorCode::NoDevice, "the NVIDIA driver cannot assemble " + kernel + ": " + driver.text(result),
                "the driver's library libnvidia-ptxjitcompiler.so.1 is missing: install the whole driver, in a container pass it in");
  if (result == kNoBinaryForGpu || log.find("SM version specified by .target") != std::string::npos)
    throw Error(ErrorCode::Unsupported, kernel + " is PTX for " + std::string(directive(ptx, ".target")) + ", which does not run on " +
                                            std::string(gpu) + ": " + driver.text(result) + (log.empty() ? "" : "\n" + log));
  if (result == kOutOfMemory || isSticky(result)) driver.fail(result, "assemble " + kernel);
  throw Error(ErrorCode::CompileError, "the NVIDIA driver could not assemble " + kernel + " for " + std::string(gpu) + ": " +
                                           driver.text(result) + (log.empty() ? "" : "\n" + log));
}

}  // namespace

int cudaVersionOfPtx(std::string_view version) {
  static constexpr struct {
    std::string_view ptx;
    int cuda;
  } kVersions[] = {{"7.0", 11000}, {"7.1", 11010}, {"7.2", 11020}, {"7.3", 11030}, {"7.4", 11040}, {"7.5", 11050}, {"7.6", 11060},
                   {"7.7", 11070}, {"7.8", 11080}, {"8.0", 12000}, {"8.1", 12010}, {"8.2", 12020}, {"8.3", 12030}, {"8.4", 12040},
                   {"8.5", 12050}, {"8.6", 12070}, {"8.7", 12080}, {"8.8", 12090}, {"9.0", 13000}, {"9.1", 13010}};
  for (const auto& known : kVersions)
    if (known.ptx == version) return known.cuda;
  return 0;
}

namespace {

Linked linkedOf(const LinkOptions& options) {
  Linked linked{.cubin = {}, .milliseconds = options.milliseconds(), .text = options.infoText(), .log = {}};
  linked.log = parseLinkLog(linked.text);
  return linked;
}

}  // namespace

bool mustNotBeLinked(std::string_view ptx) { return ptx.contains("setmaxnreg."); }

Linked loadPtx(const Driver& driver, std::string_view ptx, std::string_view entry, std::string_view gpu, ModuleHandle* module) {
  LinkOptions options;
  std::string text(ptx.substr(0, ptx.find('\0')));
  Result result = driver.api().ModuleLoadDataEx(module, text.c_str(), 6, options.names, options.values);
  if (result != kSuccess) explain(driver, result, options, text, entry, gpu);
  return linkedOf(options);
}

Linked linkPtx(const Driver& driver, std::string_view ptx, std::string_view entry, std::string_view gpu) {
  const DriverApi& api = driver.api();
  LinkOptions options;
  Link link{driver};
  std::string text(ptx.substr(0, ptx.find('\0')));  // the driver wants a zero at the end, and counts it
  Result result = api.LinkCreate(6, options.names, options.values, &link.state);
  if (result == kSuccess) result = api.LinkAddData(link.state, kInputPtx, text.data(), text.size() + 1, "kernel.ptx", 0, nullptr, nullptr);
  void* cubin = nullptr;
  std::size_t bytes = 0;
  if (result == kSuccess) result = api.LinkComplete(link.state, &cubin, &bytes);
  if (result != kSuccess) explain(driver, result, options, text, entry, gpu);
  Linked linked = linkedOf(options);
  linked.cubin.assign(static_cast<const char*>(cubin), bytes);
  return linked;
}

}  // namespace fattn::cuda
