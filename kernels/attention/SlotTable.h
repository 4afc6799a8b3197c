// SPDX-License-Identifier: Apache-2.0
// The argument slots of a kernel, by the names that its program declared.
#ifndef FATTN_KERNELS_ATTENTION_SLOTTABLE_H
#define FATTN_KERNELS_ATTENTION_SLOTTABLE_H

#include <span>
#include <string_view>
#include <vector>

#include "fattn/dsl/Trace.h"

namespace fattn::kernels {

/// For a launch that packs its arguments by itself, and asks for each slot once, when the code is loaded. A launch and a program are
/// written apart; a difference between them is Error{Internal} then, and never a crash.
class SlotTable {
 public:
  explicit SlotTable(std::span<const dsl::Param> declared) : declared_(declared), taken_(declared.size()) {}

  std::size_t pointer(std::string_view name, DType type) { return take(name, true, type); }
  std::size_t scalar(std::string_view name, DType type) { return take(name, false, type); }
  /// Throws where the program declared what was not asked for.
  void requireAllTaken() const;
  std::size_t size() const { return declared_.size(); }

 private:
  std::size_t take(std::string_view name, bool isPointer, DType type);

  std::span<const dsl::Param> declared_;
  std::vector<bool> taken_;
};

}  // namespace fattn::kernels

#endif
