// SPDX-License-Identifier: Apache-2.0
// What the warp groups of a kernel's first block did and when, for debugging: kernels that are compiled while FATTN_TRACE names a folder
// note it in their module's memory (compiler/nvidia/Marks.cpp). A file in that folder has it, ENTRY.json, or ENTRY-2.json where a process
// loads several kernels of that name; `fattn-dump --trace FILE` draws it.
//
// The file: {"kernel", "target", "device", "launch": which launch of the kernel it was, "roles": [{"name": "group 0", "full": whether
// there was no room for more, "events": [["begin wait k", 1234], ...]}]}; cycles of the multiprocessor since the first event.
#ifndef FATTN_RUNTIME_CUDA_ROLETRACE_H
#define FATTN_RUNTIME_CUDA_ROLETRACE_H

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/Driver.h"

namespace fattn::cuda {

/// Of each role, from a multiple of them on.
inline constexpr std::size_t kRoleTraceBytes = 32768;

/// What a file says first.
struct TracedLaunch {
  std::string kernel, target, device;
  std::uint64_t number = 0;  ///< which of the kernel's launches, from 1 on
};

/// The text of the file, from what the two symbols of a module hold: `words` from the first role's on. Empty where they do not fit each
/// other.
std::string roleTraceText(const TracedLaunch& launch, std::string_view names, const std::vector<std::uint32_t>& words);

/// All calls need the context current. Thread-safe.
class RoleTrace {
 public:
  /// Null where the module notes nothing, or FATTN_TRACE names no folder. `what`: the kernel's entry, its target, and the device.
  static std::unique_ptr<RoleTrace> find(const Driver& driver, ModuleHandle module, const std::string& entry, const std::string& target,
                                         const std::string& device);

  /// Behind a launch into the stream: waits for it, and writes the file, for the first, second, fourth, eighth ... launch. A stream that is
  /// being captured is left alone.
  void launched(StreamHandle stream);

 private:
  RoleTrace(const Driver& driver, Address memory, std::size_t bytes, std::string names, TracedLaunch launch, std::string file)
      : driver_(driver), memory_(memory), bytes_(bytes), names_(std::move(names)), launch_(std::move(launch)), file_(std::move(file)) {}

  const Driver& driver_;
  Address memory_;
  std::size_t bytes_;
  std::string names_;
  TracedLaunch launch_;  ///< but for its number
  std::string file_;
  std::atomic<std::uint64_t> launches_ = 0;
};

}  // namespace fattn::cuda

#endif
