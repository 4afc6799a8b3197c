// SPDX-License-Identifier: Apache-2.0
// The assembler text of an instruction, read back: LLVM installs no header with the numbers of AMD's opcodes and operands, but its text is
// a documented format.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/Instruction.h"
#include "simulator/Permutations.h"

namespace fattn::simulator {
namespace {

struct Tokens {
  std::vector<std::string_view> operands, modifiers;
};

/// Operands are separated by commas; what follows an operand behind a blank is a modifier.
Tokens split(std::string_view text) {
  Tokens tokens;
  bool operandNext = true;
  std::size_t begin = 0;
  int depth = 0;
  auto finish = [&](std::size_t end) {
    if (end > begin) {
      std::string_view token = text.substr(begin, end - begin);
      bool keyword = token.find(':') != std::string_view::npos && token.find(':') < token.find('[');
      (operandNext && !keyword ? tokens.operands : tokens.modifiers).push_back(token);
      operandNext = false;
    }
    begin = end + 1;
  };
  for (std::size_t at = 0; at <= text.size(); ++at) {
    char c = at < text.size() ? text[at] : ' ';
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (depth > 0 || (c != ' ' && c != ',')) continue;
    finish(at);
    if (c == ',') operandNext = true;
  }
  return tokens;
}

std::optional<std::int64_t> integer(std::string_view text) {
  bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  // A literal of 32 bits where a shorter encoding of the number exists.
  if (text.starts_with("lit(") && text.ends_with(')')) text = text.substr(4, text.size() - 5);
  int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

struct Named {
  std::string_view name;
  int index, dwords;
};
constexpr Named kNamed[] = {{"vcc", Scalar::kVcc, 2},
                            {"vcc_lo", Scalar::kVcc, 1},
                            {"vcc_hi", Scalar::kVcc + 1, 1},
                            {"exec", Scalar::kExec, 2},
                            {"exec_lo", Scalar::kExec, 1},
                            {"exec_hi", Scalar::kExec + 1, 1},
                            {"m0", Scalar::kM0, 1},
                            {"null", Scalar::kNull, 1},
                            {"flat_scratch", Scalar::kFlatScratch, 2},
                            {"flat_scratch_lo", Scalar::kFlatScratch, 1},
                            {"flat_scratch_hi", Scalar::kFlatScratch + 1, 1},
                            {"src_scc", Scalar::kScc, 1},
                            {"src_vccz", Scalar::kVccz, 1},
                            {"src_execz", Scalar::kExecz, 1},
                            {"scc", Scalar::kScc, 1},
                            {"src_shared_base", Scalar::kSharedBase, 2},
                            {"src_private_base", Scalar::kPrivateBase, 2}};

/// v7, a[0:15], s3, ttmp9 ...
bool registers(std::string_view text, Operand& operand) {
  for (const Named& named : kNamed)
    if (text == named.name) {
      operand.kind = Operand::Scalar;
      operand.index = static_cast<std::uint16_t>(named.index);
      operand.dwords = static_cast<std::uint8_t>(named.dwords);
      return true;
    }
  int base = 0;
  operand.kind = Operand::Scalar;
  if (text.starts_with("ttmp"))
    base = Scalar::kTtmp, text.remove_prefix(4);
  else if (text.starts_with('s'))
    text.remove_prefix(1);
  else if (text.starts_with('v'))
    operand.kind = Operand::Vector, text.remove_prefix(1);
  else if (text.starts_with('a'))
    operand.kind = Operand::Vector, base = 256, text.remove_prefix(1);
  else
    return false;
  if (text.ends_with(".l"))
    operand.half = 1, text.remove_suffix(2);
  else if (text.ends_with(".h"))
    operand.half = 2, text.remove_suffix(2);
  std::optional<std::int64_t> first, last;
  if (text.starts_with('[') && text.ends_with(']')) {
    text = text.substr(1, text.size() - 2);
    std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return false;
    first = integer(text.substr(0, colon)), last = integer(text.substr(colon + 1));
  } else {
    first = last = integer(text);
  }
  if (!first || !last || *first < 0 || *last < *first || *last > 255) return false;
  operand.index = static_cast<std::uint16_t>(base + *first);
  operand.dwords = static_cast<std::uint8_t>(*last - *first + 1);
  return true;
}

bool number(std::string_view text, Operand& operand) {
  operand.kind = Operand::Constant;
  if (auto value = integer(text)) {
    operand.value = static_cast<std::uint64_t>(*value);
    return true;
  }
  std::string copy(text);
  char* end = nullptr;
  double value = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str() || *end != 0) return false;
  // The inline constant 1 / (2 pi) is printed with as many digits as its type has.
  if (std::abs(value - 0.15915494309189532) < 1e-4) value = 0.15915494309189532;
  operand.isFloat = true;
  operand.value = std::bit_cast<std::uint64_t>(value);
  return true;
}

bool parseOperand(std::string_view text, Operand& operand) {
  if (text == "off") {
    operand.kind = Operand::Off;
    return true;
  }
  if (text.starts_with("sext(") && text.ends_with(')')) {
    operand.signExtend = true;
    text = text.substr(5, text.size() - 6);
  }
  if (text.starts_with("neg(") && text.ends_with(')')) {
    operand.negate = true;
    text = text.substr(4, text.size() - 5);
  }
  if (number(text, operand)) return true;
  if (text.starts_with('-')) operand.negate = true, text.remove_prefix(1);
  if (text.size() > 2 && text.starts_with('|') && text.ends_with('|')) operand.absolute = true, text = text.substr(1, text.size() - 2);
  return registers(text, operand) || number(text, operand);
}

/// "[0,1,1]" as bits, the first one the lowest.
std::optional<std::uint8_t> bits(std::string_view text) {
  std::uint8_t value = 0;
  int bit = 0;
  for (char c : text)
    if (c == '0' || c == '1')
      value = static_cast<std::uint8_t>(value | (c - '0') << bit++);
    else if (c != '[' && c != ']' && c != ',')
      return std::nullopt;
  return value;
}

bool flag(std::string_view word, Instruction& into) {
  if (word == "offen") return into.offen = true;
  if (word == "idxen") return into.idxen = true;
  if (word == "lds") return into.lds = true;
  if (word == "clamp") return into.clamp = true;
  if (word == "sc0" || word == "glc") return into.returns = true;
  return word == "sc1" || word == "nt" || word == "slc" || word == "dlc" || word == "gds";
}

bool selection(std::string_view key, std::string_view value, Instruction& into) {
  static constexpr std::string_view kSelections[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
  static constexpr std::string_view kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  SubDword next = into.subDword ? *into.subDword : SubDword{};
  bool found = false;
  for (std::uint8_t i = 0; i < 7; ++i)
    if (value == kSelections[i]) found = true, next.select[key == "dst_sel" ? 0 : key == "src0_sel" ? 1 : 2] = i;
  for (std::uint8_t i = 0; i < 3; ++i)
    if (value == kUnused[i]) found = true, next.unused = i;
  into.subDword = std::make_shared<const SubDword>(next);
  return found;
}

/// The key of a modifier that lists bits, and where they go.
bool bitModifier(std::string_view key, std::string_view value, Instruction& into) {
  auto found = bits(value);
  if (!found) return false;
  (key == "op_sel" ? into.opSel : key == "op_sel_hi" ? into.opSelHi : key == "neg_lo" ? into.negLo : into.negHi) = *found;
  return true;
}

bool numberModifier(std::string_view key, std::int64_t value, Instruction& into) {
  if (key == "offset")
    into.offset = static_cast<std::int32_t>(value);
  else if (key == "offset0")
    into.offset0 = static_cast<std::uint8_t>(value);
  else if (key == "offset1")
    into.offset1 = static_cast<std::uint8_t>(value);
  else if (key == "mul")
    into.outputShift = value == 2 ? 1 : 2;
  else if (key == "div")
    into.outputShift = -1;
  else if (key == "cbsz" || key == "abid" || key == "blgp")
    into.broadcast |= value != 0;
  else if (key == "bitop3")
    into.truthTable = static_cast<std::uint8_t>(value);
  else if (key == "byte_sel")
    into.opSel = static_cast<std::uint8_t>(value);
  else
    return false;
  return true;
}

bool modifier(std::string_view word, int lanes, Instruction& into, PermutationText& permutation) {
  std::size_t colon = word.find(':');
  if (colon == std::string_view::npos) return flag(word, into) || permutation.take(word, "", lanes);
  std::string_view key = word.substr(0, colon), value = word.substr(colon + 1);
  if (key == "th") {
    into.returns |= value.find("RETURN") != std::string_view::npos;
    return true;
  }
  if (key == "scope") return true;
  if (key == "op_sel" || key == "op_sel_hi" || key == "neg_lo" || key == "neg_hi") return bitModifier(key, value, into);
  if (key == "dst_sel" || key == "dst_unused" || key == "src0_sel" || key == "src1_sel") return selection(key, value, into);
  if (key == "offset" && value.starts_with("swizzle")) return true;  // ds_swizzle reads the encoding
  auto parsed = integer(value);
  if (parsed && numberModifier(key, *parsed, into)) return true;
  return permutation.take(key, value, lanes);
}

bool parseHalf(std::string_view text, int lanes, Instruction& into, std::string& problem) {
  std::size_t blank = text.find(' ');
  std::string_view mnemonic = text.substr(0, blank);
  for (std::string_view suffix : {"_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa"})
    if (mnemonic.ends_with(suffix)) {
      mnemonic.remove_suffix(suffix.size());
      break;
    }
  into.mnemonic = mnemonic;
  into.opSelHi = mnemonic.find("_mix") == std::string_view::npos ? 7 : 0;  // what the encoding has where the text says nothing
  if (blank == std::string_view::npos || textIsOpaque(mnemonic)) return true;
  Tokens tokens = split(text.substr(blank + 1));
  if (tokens.operands.size() > into.operands.size()) return problem = "too many operands", false;
  for (std::string_view token : tokens.operands) {
    if (!parseOperand(token, into.operands[into.count])) return problem = "operand " + std::string(token), false;
    ++into.count;
  }
  PermutationText permutation;
  for (std::string_view word : tokens.modifiers)
    if (!modifier(word, lanes, into, permutation)) return problem = "modifier " + std::string(word), false;
  into.permutation = permutation.finish();
  return true;
}

/// Half of a pair as its single form is written: the condition of v_dual_cndmask_b32 is always VCC, and not in the text.
std::string halfText(std::string_view text) {
  std::string half(text);
  if (half.find("v_dual_cndmask_b32") != std::string::npos && std::ranges::count(half, ',') == 2) half += ", vcc_lo";
  return half;
}

}  // namespace

bool textIsOpaque(std::string_view mnemonic) {
  for (std::string_view name : {"s_waitcnt", "s_waitcnt_depctr", "s_delay_alu", "s_sendmsg", "s_sendmsghalt", "s_wait_alu", "s_setreg_b32",
                                "s_setreg_imm32_b32", "s_getreg_b32", "buffer_inv", "buffer_wbl2", "global_inv", "global_wb"})
    if (mnemonic == name) return true;
  return false;
}

bool parseText(std::string_view text, int lanes, Instruction& into, std::string& problem) {
  into.text = text;
  std::size_t dual = text.find(" :: ");
  if (dual == std::string_view::npos) return parseHalf(text, lanes, into, problem);
  into.first = std::make_shared<Instruction>();
  into.second = std::make_shared<Instruction>();
  into.first->text = into.second->text = text;
  if (!parseHalf(halfText(text.substr(0, dual)), lanes, *into.first, problem) ||
      !parseHalf(halfText(text.substr(dual + 4)), lanes, *into.second, problem))
    return false;
  into.mnemonic = into.first->mnemonic + " :: " + into.second->mnemonic;
  return true;
}

}  // namespace fattn::simulator
