// SPDX-License-Identifier: Apache-2.0
// From named arguments to the slots of a launch.
#ifndef FATTN_KERNELS_CORE_ARGUMENTPACK_H
#define FATTN_KERNELS_CORE_ARGUMENTPACK_H

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "fattn/Kernel.h"
#include "kernels/core/LoadedCode.h"

namespace fattn::kernels {

/// Knows the declared arguments of a program, and whatever of a launch does not depend on its values: that is worked out once, here.
/// Immutable; packing allocates nothing.
class ArgumentPack {
 public:
  explicit ArgumentPack(std::span<const dsl::Param> declared);
  ArgumentPack(ArgumentPack&&) = default;
  ArgumentPack& operator=(ArgumentPack&&) = default;

  std::span<const dsl::Param> declared() const { return declared_; }
  std::size_t slots() const { return declared_.size(); }
  /// Writes the slots of `arguments`. Throws Error{InvalidArgument} naming the argument.
  void pack(std::span<const Argument> arguments, std::uint64_t* slots) const;

 private:
  /// A name whose ends are at hand: two of up to 16 letters are compared without a call. The letters are elsewhere.
  struct Name {
    explicit Name(std::string_view of) : text(of), head(0), tail(0) {
      const char* at = of.data();
      if (of.size() >= 8) {
        std::memcpy(&head, at, 8);
        std::memcpy(&tail, at + of.size() - 8, 8);
      } else if (of.size() >= 4) {
        std::memcpy(&head, at, 4);
        std::memcpy(&tail, at + of.size() - 4, 4);
      } else if (!of.empty()) {
        const auto letter = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(of[i])}; };
        head = letter(0) | letter(of.size() / 2) << 8 | letter(of.size() - 1) << 16;
      }
    }
    bool operator==(const Name& other) const {
      return head == other.head && tail == other.tail && text.size() == other.text.size() && (text.size() <= 16 || text == other.text);
    }
    std::string_view text;
    std::uint64_t head, tail;
  };
  /// What an argument's value has to be, as a launch asks it.
  struct Rule {
    Name name;
    std::uint32_t after;  // the next slot that no tensor's view fills
    bool isPointer, isReal;
    std::int64_t least, most;  // of an integer
    std::uint64_t odd;         // bits that are not set in what is a multiple of the promised power of two
    std::uint64_t suspicious;  // bits that are not set in most of what is kept; what has some is looked at closely
    std::int64_t divisor;      // where that is no power of two; else 1
    bool keeps(std::int64_t value) const { return (static_cast<std::uint64_t>(value) & suspicious) == 0 || keepsAtASecondLook(value); }
    bool keepsAtASecondLook(std::int64_t value) const {
      return value >= least && value <= most && (static_cast<std::uint64_t>(value) & odd) == 0 && (divisor == 1 || value % divisor == 0);
    }
  };
  /// What a tensor's view fills beside the pointer: its extents, and behind them its strides.
  struct Filled {
    std::uint32_t slot;
    std::uint32_t from;        // an extent's dimension, or kMaxRank more for a stride's
    std::uint64_t suspicious;  // Rule::suspicious
    int dimension() const { return static_cast<int>(from % TensorView::kMaxRank); }
  };
  /// Who has given each slot, of as many as there are.
  enum class By : std::uint8_t { Nobody, Tensor, Caller };
  using Given = std::array<By, kMostSlots>;

  std::size_t indexOf(std::string_view name, std::size_t guess) const {
    const Name key(name);
    // Callers mostly keep the order of the declarations, perhaps without what tensors fill.
    if (guess < rules_.size() && rules_[guess].name == key) [[likely]]
      return guess;
    return search(key, guess);
  }
  std::size_t search(const Name& name, std::size_t from) const;
  void putTensor(std::size_t index, const TensorView& view, std::uint64_t* slots, Given& given) const;
  void putPointer(std::size_t index, const void* memory, std::uint64_t* slots) const {
    const auto bits = reinterpret_cast<std::uint64_t>(memory);
    if (!rules_[index].keeps(static_cast<std::int64_t>(bits))) [[unlikely]]
      failAddress(index);
    slots[index] = bits;
  }
  void putInteger(std::size_t index, std::int64_t value, std::uint64_t* slots) const;
  void put(std::size_t index, const Argument& argument, std::uint64_t* slots, Given& given) const;
  [[noreturn]] void failMissing(const Given& given) const;

  static Rule ruleOf(const dsl::Param& param);
  void findFilled();
  [[noreturn]] void failAddress(std::size_t index) const;
  [[noreturn]] void failInteger(std::size_t index, std::int64_t value) const;
  [[noreturn]] void failView(std::size_t index, const TensorView& view, std::int64_t bytes) const;

  std::vector<dsl::Param> declared_;
  std::vector<Rule> rules_;                  // whose names are those of declared_
  std::vector<Filled> filled_;               // of all tensors, one after the other
  std::vector<std::uint32_t> filledBefore_;  // by slot: where in the list a pointer's begin; one more at the end
};

/// "x, a pointer to f32", "n, an i32 scalar".
std::string declaration(const dsl::Param& param);

}  // namespace fattn::kernels

#endif
