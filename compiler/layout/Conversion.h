// SPDX-License-Identifier: Apache-2.0
// From one layout of a tile in registers to another: what it takes, and the concrete plan.
//
// HOW. The algebra finds, for each bit of the destination's (register, lane, warp), a source bit pattern that holds the same element:
// a linear map S from destination to source. What S does decides:
//     S is the identity on lanes and warps                 registers are renamed, nothing is executed
//     S is the identity on warps                           lanes exchange words by shuffles
//     else                                                 through shared memory, in a layout chosen for these two (Swizzle.h)
// Where the source holds copies there are several S; the one with the least movement is taken, bit by bit.
//
// SHUFFLES. In a shuffle every lane sends one register and reads from one lane. Registers r of lane l come from register A r + B l of
// lane C r + D l. A round k fills register k + M l of each lane l, so it reads from lane C k + (C M + D) l; M is chosen to make C M + D
// invertible where it can be (D's deficiency is filled from C), then every lane is read by one lane only, whose register it sends:
// as many shuffles as registers (of 32 bits), no more. EXAMPLE: swapping the roles of a register bit and a lane bit
// (A = B' = 0): M = 1, both rounds read from lane l ^ k.
#ifndef FATTN_COMPILER_LAYOUT_CONVERSION_H
#define FATTN_COMPILER_LAYOUT_CONVERSION_H

#include "compiler/layout/Swizzle.h"

namespace fattn::layout {

enum class ConversionKind : std::uint8_t { Identity, Registers, Shuffles, Shared };
/// "identity", "registers", "shuffles", "shared".
std::string_view name(ConversionKind kind);

/// A number of a register or lane that depends on the thread: constant ^ the columns picked by the bits of lane and of
/// warp (those of the linear part; where warps are repeated, the low ones).
struct ThreadMap {
  f2::Vector constant = 0;
  f2::Columns lane, warp;
  std::int64_t at(std::int64_t l, std::int64_t w) const {
    return static_cast<std::int64_t>(constant ^ f2::multiply(lane, l) ^ f2::multiply(warp, w));
  }
  bool isConstant() const;
  /// lane ^ mask for every thread: the mask.
  std::optional<std::int64_t> xorOfLane() const;
};

/// One shuffle: each thread sends word `send` of the source, receives from lane `from`, and has word `store` of the destination.
struct ShuffleRound {
  ThreadMap send, from, store;
  bool isLocal() const { return from.xorOfLane() == 0; }  ///< no shuffle, only a choice of registers
};

/// What a warp executes, and an estimate of its cycles to compare conversions by.
struct ConversionCost {
  int shuffles = 0, selects = 0;
  int stores = 0, loads = 0, passes = 0;
  bool blockBarrier = false;
  /// Issue slots and passes, and what a round trip through shared memory and a barrier cost at least.
  int cycles() const { return 2 * shuffles + selects + stores + loads + passes + (stores ? 30 : 0) + (blockBarrier ? 30 : 0); }
};

struct Conversion {
  ConversionKind kind = ConversionKind::Identity;
  LinearLayout source, destination;  // asTile
  int elementBits = 32;
  ConversionCost cost;

  // Identity, Registers: destination register r is source register sourceRegister[r].
  std::vector<std::int64_t> sourceRegister;

  // Shuffles: the rounds work on words of `word` registers (packed into 32 bits), once for each copy: source word w is registers
  // w * word + i + copy.first. The result is in the registers of `reduced`, from which destination register r is register
  // reducedRegister[r].
  int word = 1;
  std::vector<ShuffleRound> rounds;
  std::vector<std::pair<std::int64_t, std::int64_t>> copies;  // first source and first reduced register of each copy
  std::vector<std::int64_t> reducedRegister;

  // Shared: every thread stores the vectors of `storeGroups`, waits, loads those of `loadGroups`; group element i lies at the offset of
  // the first plus i. Destination register r is register loadedRegister[r] of the loaded ones.
  std::optional<SwizzleChoice> shared;
  std::vector<std::vector<std::int64_t>> storeGroups, loadGroups;
  std::vector<std::int64_t> loadedRegister;

  std::string str() const;
};

/// What the algebra says of two layouts of one tile, whatever is cheaper.
ConversionKind classify(const LinearLayout& source, const LinearLayout& destination);

/// The cheapest plan. Layouts must hold every element of the same tile, on the same number of lanes and warps; throws Error otherwise.
Conversion planConversion(const LinearLayout& source, const LinearLayout& destination, int elementBits, const Banks& banks = {});

/// A model of the registers of a block, to run plans on: values[(warp * lanes + lane) * registers + register].
struct RegisterFile {
  std::int64_t registers = 1, lanes = 1, warps = 1;
  std::vector<std::int64_t> values;
  std::int64_t& at(std::int64_t r, std::int64_t l, std::int64_t w) { return values[(w * lanes + l) * registers + r]; }
};

/// Every register holds the number of its element (row-major).
RegisterFile symbolic(const LinearLayout& layout);
/// Executes a plan as the hardware would: rounds, or stores and loads at computed offsets.
RegisterFile execute(const Conversion& plan, RegisterFile source);

}  // namespace fattn::layout

#endif
