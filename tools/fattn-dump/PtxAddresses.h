// SPDX-License-Identifier: Apache-2.0
// Follows the integers of PTX for the 32 lanes of a warp, to say which bytes of shared memory an instruction touches.
#ifndef FATTN_TOOLS_FATTN_DUMP_PTXADDRESSES_H
#define FATTN_TOOLS_FATTN_DUMP_PTXADDRESSES_H

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fattn::dump {

inline constexpr int kLanes = 32;
using Lanes = std::array<std::int64_t, kLanes>;

/// An instruction's text in parts.
struct PtxInstruction {
  std::string_view guard = {};                  ///< "%p3" of "@%p3 st.shared ..."
  std::vector<std::string_view> opcode = {};    ///< {"st", "shared", "v2", "b32"}
  std::vector<std::string_view> operands = {};  ///< "[%r1+16]" and "{%r2, %r3}" are one each
};

/// Nothing for directives, labels, braces and blank lines.
std::optional<PtxInstruction> parsePtx(std::string_view line);

/// The integers of the first warp. What is the same for all threads but unknown (arguments, the program's numbers, what memory holds at one
/// address for all) counts as 0 where only its differences between lanes matter. A register that is written in several places has the
/// value of the first one: where a loop carries an address, that of its first trip.
class PtxLanes {
 public:
  /// Takes note of what the instruction computes.
  void execute(const PtxInstruction& instruction);
  /// The bytes that the address operand "[%r1+16]" names, up to something that is the same for all lanes; nothing where it cannot be told.
  std::optional<Lanes> addresses(std::string_view operand) const;

 private:
  struct Value {
    Lanes lanes = {};
    bool isExact = true;  ///< else something is added that is unknown and the same for all lanes
    bool isUniform() const;
  };
  std::optional<Value> valueOf(std::string_view operand) const;
  std::optional<Value> compute(const PtxInstruction& instruction) const;
  static std::optional<Value> computeLanes(const std::vector<std::string_view>& opcode, const std::vector<Value>& in);

  std::map<std::string, std::optional<Value>, std::less<>> values_;
};

}  // namespace fattn::dump

#endif
