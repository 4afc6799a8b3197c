// SPDX-License-Identifier: Apache-2.0
// How lanes exchange values inside an instruction: the modifiers of DPP.
#ifndef FATTN_SIMULATOR_PERMUTATIONS_H
#define FATTN_SIMULATOR_PERMUTATIONS_H

#include <memory>
#include <string_view>

#include "simulator/Instruction.h"

namespace fattn::simulator {

/// Collects the DPP modifiers of one instruction.
class PermutationText {
 public:
  /// One modifier: row_shr:1 is ("row_shr", "1"), row_mirror is ("row_mirror", ""). False where it is none of DPP's.
  bool take(std::string_view key, std::string_view value, int lanes);
  /// Nothing where no modifier was one of DPP's.
  std::shared_ptr<const LanePermutation> finish() const;

 private:
  bool shape(std::string_view key, std::string_view value, int lanes);
  LanePermutation permutation_;
  bool present_ = false;
  int rowMask_ = 0xf, bankMask_ = 0xf;
};

/// The operands of these are read from the encoding, not from the text.
bool textIsOpaque(std::string_view mnemonic);

}  // namespace fattn::simulator

#endif
