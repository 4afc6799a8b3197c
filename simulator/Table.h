// SPDX-License-Identifier: Apache-2.0
// The table of instructions: what executes a mnemonic, and what its operands are.
#ifndef FATTN_SIMULATOR_TABLE_H
#define FATTN_SIMULATOR_TABLE_H

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "simulator/Chip.h"
#include "simulator/Instruction.h"

namespace fattn::simulator {

struct Row {
  static constexpr std::uint8_t kAnyCount = 255;
  std::string_view name;
  Handler handler = nullptr;
  std::uint8_t writes = 1;         ///< so many of the first operands are results
  std::array<Type, 4> sources{};   ///< types of the others
  bool readsDestination = false;   ///< the result is the last source, too
  bool plainTaint = true;          ///< see Instruction
  bool packs = false;              ///< see Instruction
  std::uint8_t parameter = 0;      ///< see Instruction
  std::uint8_t count = kAnyCount;  ///< of sources, the destination among them where it is read
  bool keepsHigh = false;          ///< a result of 16 bits leaves the other half on chips that clear it elsewhere
  bool clamps = false;             ///< the handler knows clamp and omod
  bool negates = false;            ///< and neg_lo and neg_hi
  Access access{};
};

/// The lists of the folder's files, one for each class of instructions.
std::vector<Row> scalarRows();
std::vector<Row> scalarBitRows();
std::vector<Row> scalarFloatRows();
std::vector<Row> controlRows();
std::vector<Row> integerRows();
std::vector<Row> floatRows();
std::vector<Row> halfRows();
std::vector<Row> conversionRows();
std::vector<Row> packedRows();
std::vector<Row> crossLaneRows();
std::vector<Row> selectRows();
std::vector<Row> matrixRows();
std::vector<Row> localRows();
/// Families whose names are put together of parts: v_cmp_lt_f32, global_load_dwordx4 ...
std::optional<Row> compareRow(std::string_view mnemonic);
std::optional<Row> globalRow(std::string_view mnemonic);
std::optional<Row> localRow(std::string_view mnemonic);
std::optional<Row> scalarLoadRow(std::string_view mnemonic);

/// Fills an instruction from its text, which may be empty: not decodable. What is not understood gets a handler that says so when it is
/// executed.
void bindInstruction(Instruction& instruction, std::string_view text, const Chip& chip, int lanes);
/// The instructions that have a row of their own, by gfx9's names where it has them, sorted. Families of names that are put together are
/// not among them.
std::vector<std::string_view> knownMnemonics();
bool isUnknown(const Instruction& instruction);
bool isBranch(std::string_view mnemonic);

}  // namespace fattn::simulator

#endif
