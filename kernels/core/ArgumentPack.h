// SPDX-License-Identifier: Apache-2.0
// From named arguments to the slots of a launch.
#ifndef FATTN_KERNELS_CORE_ARGUMENTPACK_H
#define FATTN_KERNELS_CORE_ARGUMENTPACK_H

#include <span>
#include <string>
#include <vector>

#include "fattn/Kernel.h"
#include "kernels/core/LoadedCode.h"

namespace fattn::kernels {

/// Knows the declared arguments of a program. Immutable; packing allocates nothing.
class ArgumentPack {
 public:
  explicit ArgumentPack(std::span<const dsl::Param> declared);

  std::span<const dsl::Param> declared() const { return declared_; }
  std::size_t slots() const { return declared_.size(); }
  /// Writes the slots of `arguments`. Throws Error{InvalidArgument} naming the argument.
  void pack(std::span<const Argument> arguments, std::uint64_t* slots) const;

 private:
  /// What a tensor's view fills beside the pointer.
  struct Filled {
    std::size_t slot;
    int dimension;
    bool isStride;
  };
  /// Who has given each slot, of as many as there are.
  enum class By : std::uint8_t { Nobody, Tensor, Caller };
  using Given = std::array<By, kMostSlots>;

  std::size_t indexOf(std::string_view name, std::size_t guess) const;
  void putTensor(std::size_t index, const TensorView& view, std::uint64_t* slots, Given& given) const;
  void putPointer(std::size_t index, const void* memory, std::uint64_t* slots) const;
  void putInteger(std::size_t index, std::int64_t value, std::uint64_t* slots) const;
  void put(std::size_t index, const Argument& argument, std::uint64_t* slots, Given& given) const;
  [[noreturn]] void failMissing(const Given& given) const;

  /// What an argument's value has to be, as a launch asks it.
  struct Rule {
    bool isPointer, isReal;
    std::int64_t least, most;  // of an integer
    std::uint64_t odd;         // bits that are not set in what is a multiple of the promised power of two
    std::int64_t divisor;      // where that is no power of two; else 1
    bool keeps(std::int64_t value) const {
      return value >= least && value <= most && (static_cast<std::uint64_t>(value) & odd) == 0 && (divisor == 1 || value % divisor == 0);
    }
  };
  static Rule ruleOf(const dsl::Param& param);
  [[noreturn]] void failInteger(std::size_t index, std::int64_t value) const;

  std::vector<dsl::Param> declared_;
  std::vector<Rule> rules_;
  std::vector<std::vector<Filled>> filled_;  // by the slot of the pointer
};

/// "x, a pointer to f32", "n, an i32 scalar".
std::string declaration(const dsl::Param& param);

}  // namespace fattn::kernels

#endif
