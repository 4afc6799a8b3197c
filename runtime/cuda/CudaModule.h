// SPDX-License-Identifier: Apache-2.0
// One kernel, loaded by a GPU.
#ifndef FATTN_RUNTIME_CUDA_CUDAMODULE_H
#define FATTN_RUNTIME_CUDA_CUDAMODULE_H

#include <compare>
#include <string>

#include "fattn/Device.h"
#include "runtime/cuda/Linker.h"
#include "runtime/cuda/RoleTrace.h"
#include "runtime/cuda/TensorMaps.h"
#include "runtime/gpu/ArgumentLayout.h"

namespace fattn::cuda {

class CudaDevice;

/// What messages say of a kernel.
struct KernelName {
  std::string entry;
  unsigned threads = 0, sharedBytes = 0;
  auto operator<=>(const KernelName&) const = default;
  /// "'add' (block 128, 0 bytes of dynamic shared memory)".
  std::string text() const;
};

/// What the driver says of the machine code that it loaded. Local memory, which is in DRAM, holds spilled registers and arrays.
struct Resources {
  int registers = 0, localBytes = 0, staticSharedBytes = 0, maxThreads = 0;
  int residentBlocks = 0;  ///< on a multiprocessor
};

class CudaModule final : public Module {
 public:
  /// Loads a binary for an nvidia target: PTX text, which the driver assembles, or a cubin. The primary context must be current.
  CudaModule(CudaDevice& device, const compiler::Binary& binary);
  ~CudaModule() override;

  /// The machine code. To skip the assembler another time, keep it, and load the binary with it in place of the PTX; it fits this GPU's
  /// compute capability alone.
  const std::string& cubin() const { return linked_.cubin; }
  std::string_view machineCode() const override { return linked_.cubin; }
  bool accepts(std::span<const std::uint64_t> arguments) const override { return arguments.size() == slots() && maps_.fit(arguments); }
  int registers() const override { return resources_.registers; }
  std::int64_t localBytes() const override { return resources_.localBytes; }
  std::span<const std::string> warnings() const override { return linked_.log.warnings; }
  int residentBlocks() const override { return resources_.residentBlocks; }
  /// What the assembler said and how long it took; empty for a binary that was a cubin.
  const Linked& linked() const { return linked_; }
  const Resources& resources() const { return resources_; }

  const CudaDevice& device() const { return device_; }
  Function function() const { return function_; }
  const ArgumentLayout& layout() const { return layout_; }
  const TensorMaps& maps() const { return maps_; }
  const KernelName& kernel() const { return *kernel_; }
  /// Where a block takes one program after another: how many blocks the GPU holds at once, which are those of a launch; else 0.
  std::int64_t mostBlocks() const { return mostBlocks_; }
  /// Whether its blocks count the programs that they take.
  bool counts() const { return counts_; }
  /// Blocks along x that share copies: those of a launch are a multiple of it.
  int cluster() const { return cluster_; }
  /// Whether a launch lets it start before the kernel in front of it in its stream has ended.
  bool overlaps() const { return overlaps_; }
  /// What its warp groups note of their time, which a launch is followed by; mostly null.
  RoleTrace* roleTrace() const { return roleTrace_.get(); }

 private:
  void loadImage(const compiler::Binary& binary);
  void requireShared(std::int64_t bytes) const;
  void requireResources();
  void countResidentBlocks();

  CudaDevice& device_;
  ArgumentLayout layout_;
  bool counts_ = false;
  int cluster_ = 1;
  TensorMaps maps_;
  const KernelName* kernel_;
  Linked linked_;
  ModuleHandle module_ = nullptr;
  Function function_ = nullptr;
  Resources resources_;
  std::int64_t mostBlocks_ = 0;
  bool overlaps_ = false;
  std::unique_ptr<RoleTrace> roleTrace_;
};

}  // namespace fattn::cuda

#endif
