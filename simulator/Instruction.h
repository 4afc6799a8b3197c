// SPDX-License-Identifier: Apache-2.0
// One decoded instruction: what its text says, resolved to registers, constants and the function that executes it.
#ifndef FATTN_SIMULATOR_INSTRUCTION_H
#define FATTN_SIMULATOR_INSTRUCTION_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace fattn::simulator {

struct Wave;
struct Instruction;
using Handler = void (*)(Wave&, const Instruction&);

/// Numbers of scalar registers: s0 .. s105 are 0 .. 105, the rest has the numbers below. A pair is two neighbours.
struct Scalar {
  static constexpr int kVcc = 106, kTtmp = 108, kM0 = 124, kNull = 125, kExec = 126, kFlatScratch = 128, kScc = 130, kVccz = 131,
                       kExecz = 132, kSharedBase = 134, kPrivateBase = 136, kCount = 138;
};

/// What an operand's bits are. A constant such as 1.0 has other bits in each of them.
enum class Type : std::uint8_t { B32, F32, F16, BF16, B16, B64, F64 };

/// The place of a number that is never negative, in an array.
constexpr std::size_t slot(int number) { return static_cast<std::size_t>(number); }

struct Operand {
  enum Kind : std::uint8_t { None, Vector, Scalar, Constant, Off };
  Kind kind = None;
  std::uint8_t dwords = 1;
  std::uint16_t index = 0;  ///< Vector: v0 .. v255, then a0 .. a255; Scalar: see simulator::Scalar
  std::uint64_t value = 0;  ///< Constant: its bits; before it is bound to a type, of a float the bits as double
  bool isFloat = false;     ///< the text has a decimal point
  bool negate = false, absolute = false, signExtend = false;
  std::uint8_t half = 0;  ///< v1.l: 1, v1.h: 2, v1: 0
};

/// Where a lane's first source comes from (DPP): its own wave's lane, or nowhere.
struct LanePermutation {
  std::array<std::uint8_t, 64> from{};
  std::uint64_t valid = 0;     ///< lanes with a source
  std::uint64_t writable = 0;  ///< lanes in the row and bank masks
  bool zeroInvalid = false;    ///< bound_ctrl: a lane without source reads 0; otherwise it is not written
  bool fetchInactive = false;  ///< fi: a source lane outside of EXEC counts as valid
};

/// Parts of registers (SDWA, gfx9).
struct SubDword {
  std::array<std::uint8_t, 3> select{6, 6, 6};  ///< destination, source 0, source 1: bytes 0 .. 3, words 4 and 5, 6 the whole
  std::uint8_t unused = 0;                      ///< rest of the destination: 0 zero, 1 sign of the result, 2 kept
};

/// What counts as what in the statistics of a launch.
enum class Category : std::uint8_t { Vector, Transcendental, Matrix, Scalar, ScalarLoad, Global, Local, Wait, Barrier, Branch, Other };
constexpr int kCategories = 11;

/// A memory instruction's form.
struct Access {
  enum Kind : std::uint8_t { Load, Store, Atomic };
  Kind kind = Load;
  std::uint8_t bytes = 4;  ///< of one lane
  bool signExtend = false;
  std::uint8_t half = 0;  ///< d16: 1 the low, 2 the high half of the register
  std::uint8_t elements = 1;
  std::uint16_t stride = 0;  ///< ds_read2: two elements, their offsets in units of `stride` bytes
};

struct Instruction {
  Handler handler = nullptr;
  std::array<Operand, 6> operands;
  std::uint8_t count = 0;   ///< of operands
  std::uint8_t writes = 0;  ///< so many of the first ones are written
  bool readsDestination = false;
  bool plainTaint = false;      ///< an undefined lane of any source makes the lane undefined in all results
  bool packs = false;           ///< only lanes of which all sources are undefined are so
  std::uint8_t truthTable = 0;  ///< bitop3
  std::uint8_t parameter = 0;   ///< what a family's handler does: the relations of a comparison, the operation of an atomic access
  Category category = Category::Other;
  std::uint8_t opSel = 0, opSelHi = 0, negLo = 0, negHi = 0;
  std::int8_t outputShift = 0;  ///< omod: the result times 2 to this power
  bool clamp = false;
  bool offen = false, idxen = false, lds = false, returns = false, keepsHigh = false;
  std::uint8_t broadcast = 0;  ///< cbsz, abid, blgp of an MFMA: anything but 0
  std::int32_t offset = 0;
  std::uint8_t offset0 = 0, offset1 = 0;
  std::uint32_t raw = 0;     ///< the first four bytes of the encoding
  std::int32_t target = -1;  ///< branch: number of the instruction
  std::uint32_t size = 4;
  std::uint64_t address = 0;
  Access access;
  std::shared_ptr<const LanePermutation> permutation;
  std::shared_ptr<const SubDword> subDword;
  std::shared_ptr<Instruction> first, second;  ///< VOPD: the two halves; this one has no operands then
  std::string text;                            ///< as a disassembler prints it
  std::string problem;                         ///< why it cannot be executed; empty where it can
  std::string mnemonic;                        ///< without the suffix of its encoding

  const Operand& source(int number) const { return operands[slot(writes + number)]; }
  bool has(int sourceNumber) const { return writes + sourceNumber < count; }
};

/// Fills everything but handler, target and address from the text of a disassembler. False where an operand is
/// not understood; `problem` then names it.
bool parseText(std::string_view text, int lanes, Instruction& into, std::string& problem);

}  // namespace fattn::simulator

#endif
