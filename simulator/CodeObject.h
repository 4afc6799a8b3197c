// SPDX-License-Identifier: Apache-2.0
// A code object (HSACO) as a loader of AMD's runtime sees it: segments, kernels with their descriptors and arguments, and the instructions.
#ifndef FATTN_SIMULATOR_CODEOBJECT_H
#define FATTN_SIMULATOR_CODEOBJECT_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simulator/Chip.h"
#include "simulator/Instruction.h"

namespace fattn::simulator {

struct KernelArgument {
  std::uint32_t offset = 0, size = 0;
  std::string kind;  ///< "global_buffer", "by_value", "hidden_block_count_x" ...
  bool isHidden() const { return kind.starts_with("hidden_"); }
};

struct Kernel {
  std::string name;
  std::vector<KernelArgument> arguments;
  std::uint32_t ldsBytes = 0, scratchBytes = 0, kernargBytes = 0;
  std::uint32_t resource1 = 0, resource2 = 0, resource3 = 0;  ///< COMPUTE_PGM_RSRC1 .. 3
  std::uint16_t properties = 0;
  std::uint32_t preloadedDwords = 0, preloadOffset = 0;  ///< of the arguments, into scalar registers
  std::uint64_t entry = 0;                               ///< address in the ELF
  std::array<std::uint32_t, 3> requiredBlock{};          ///< 0: any
  std::uint32_t maxThreads = 0;                          ///< of a workgroup; 0: not said
  int lanes = 64;

  /// Bytes up to the end of the last argument that is not hidden: what a launch has to pass.
  std::uint32_t explicitBytes() const;
  int vectorRegisters(const Chip& chip) const;
  /// Where accumulation registers begin among them; all of them where the chip has none.
  int accumulatorOffset(const Chip& chip) const;
};

/// Immutable once loaded; any number of launches may use it at the same time.
class CodeObject {
 public:
  /// Copies what it needs. Throws Error{InvalidArgument} where the bytes are no code object, or one of a chip that is not simulated.
  static std::shared_ptr<const CodeObject> load(std::span<const std::byte> bytes);

  const Chip& chip() const { return *chip_; }
  const std::vector<Kernel>& kernels() const { return kernels_; }
  /// Throws Error{InvalidArgument} that names the kernels there are.
  const Kernel& kernel(std::string_view name) const;
  const std::vector<Instruction>& code() const { return code_; }
  /// Number of the instruction at an address of the ELF; -1 where none begins there.
  std::int32_t instructionAt(std::uint64_t address) const;
  /// The segments, at their addresses.
  const std::vector<std::byte>& image() const { return image_; }
  /// Mnemonics that no handler executes, each once, in the order of the code. Executing one is an error of the launch.
  std::vector<std::string> unknownMnemonics() const;

 private:
  struct Loader;
  const Chip* chip_ = nullptr;
  std::vector<Kernel> kernels_;
  std::vector<Instruction> code_;
  std::unordered_map<std::uint64_t, std::int32_t> byAddress_;
  std::vector<std::byte> image_;
};

}  // namespace fattn::simulator

#endif
