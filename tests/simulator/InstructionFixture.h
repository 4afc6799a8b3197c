// SPDX-License-Identifier: Apache-2.0
// Tables of instructions with their sources and results.
#ifndef FATTN_TESTS_SIMULATOR_INSTRUCTIONFIXTURE_H
#define FATTN_TESTS_SIMULATOR_INSTRUCTIONFIXTURE_H

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulator/KernelFixture.h"

namespace fattn::test {

/// The instructions find the sources in s8, s9 .. and, in each lane, in v2, v3 ... Results are s20, s21 and SCC of scalar instructions
/// (whose text begins with "s_"), else v10 and v11. What is not written stays kKept.
struct InstructionRow {
  std::string text;
  std::vector<std::uint32_t> sources;
  std::vector<std::uint32_t> results;
  std::string rdna = {};  ///< the text for gfx1100 where it differs; "-" where that chip has no such instruction
  std::string cdna = {};  ///< "-" where gfx942 has none
};
constexpr std::uint32_t kKept = 0xeeeeeeee;

class Instructions : public KernelFixture {
 protected:
  void check(const std::vector<InstructionRow>& rows, bool flushesDenormals = false);
};

}  // namespace fattn::test

#endif
