// SPDX-License-Identifier: Apache-2.0
// The instructions are those that addresses are made of (PTX ISA, "Integer Arithmetic Instructions" and "Logic and Shift Instructions").
#include "tools/fattn-dump/PtxAddresses.h"

#include <algorithm>
#include <charconv>

namespace fattn::dump {
namespace {

std::string_view bare(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t;") + 1 - begin);
}

/// At commas outside of brackets and braces.
std::vector<std::string_view> splitOperands(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    if (const std::string_view part = bare(text.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

std::optional<std::int64_t> numberOf(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// Bits of an integer type by its last word; 0 for another type.
int bitsOf(std::string_view type) {
  if (type == "pred") return 1;
  if (type.size() < 2 || (type[0] != 'b' && type[0] != 'u' && type[0] != 's')) return 0;
  const auto bits = numberOf(type.substr(1));
  return bits && (*bits == 16 || *bits == 32 || *bits == 64) ? static_cast<int>(*bits) : 0;
}

/// The value as a register of so many bits holds it.
std::int64_t wrapped(std::uint64_t value, std::string_view type) {
  switch (bitsOf(type)) {
    case 1:
      return static_cast<std::int64_t>(value & 1);
    case 16:
      return type[0] == 's' ? std::int64_t{static_cast<std::int16_t>(value)} : std::int64_t{static_cast<std::uint16_t>(value)};
    case 32:
      return type[0] == 's' ? std::int64_t{static_cast<std::int32_t>(value)} : std::int64_t{static_cast<std::uint32_t>(value)};
    default:
      return static_cast<std::int64_t>(value);
  }
}

/// 1 where it holds, else 0.
std::optional<std::int64_t> compare(std::string_view how, std::int64_t a, std::int64_t b) {
  if (how == "eq") return a == b;
  if (how == "ne") return a != b;
  if (how == "lt" || how == "lo") return a < b;
  if (how == "le" || how == "ls") return a <= b;
  if (how == "gt" || how == "hi") return a > b;
  if (how == "ge" || how == "hs") return a >= b;
  return std::nullopt;
}

using Word = std::uint64_t;
constexpr Word signedMin(Word a, Word b) { return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) ? a : b; }
constexpr Word signedMax(Word a, Word b) { return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) ? b : a; }

/// What computes a word of up to three others. A register shifted by all of its bits or more is 0.
struct Operation {
  std::string_view name;
  Word (*of)(Word a, Word b, Word c);
};
constexpr Operation kOperations[] = {
    {"mov", [](Word a, Word, Word) { return a; }},
    {"cvt", [](Word a, Word, Word) { return a; }},
    {"add", [](Word a, Word b, Word) { return a + b; }},
    {"sub", [](Word a, Word b, Word) { return a - b; }},
    {"mul", [](Word a, Word b, Word) { return a * b; }},
    {"mad", [](Word a, Word b, Word c) { return a * b + c; }},
    {"and", [](Word a, Word b, Word) { return a & b; }},
    {"or", [](Word a, Word b, Word) { return a | b; }},
    {"xor", [](Word a, Word b, Word) { return a ^ b; }},
    {"not", [](Word a, Word, Word) { return ~a; }},
    {"neg", [](Word a, Word, Word) { return 0 - a; }},
    {"shl", [](Word a, Word b, Word) { return b > 63 ? 0 : a << b; }},
    {"shr", [](Word a, Word b, Word) { return b > 63 ? 0 : a >> b; }},
    {"bfe", [](Word a, Word b, Word c) { return a >> b & ((Word{1} << c) - 1); }},
    {"min", [](Word a, Word b, Word) { return signedMin(a, b); }},
    {"max", [](Word a, Word b, Word) { return signedMax(a, b); }},
    {"selp", [](Word a, Word b, Word c) { return (c & 1) != 0 ? a : b; }},
};

/// The cases of these operations that are not computed: upper halves of products, shifts of what is negative, fields beyond a register.
bool isBeyond(const std::vector<std::string_view>& opcode, Word a, Word b, Word c) {
  const std::string_view op = opcode[0];
  const bool isNegative = static_cast<std::int64_t>(a) < 0;
  if (op == "mul" || op == "mad") return opcode[1] == "hi";
  if (op == "shr") return isNegative;
  return op == "bfe" && (isNegative || b > 63 || c > 63);
}

/// One lane. Operands are wrapped to the operation's type.
std::optional<std::int64_t> evaluate(const std::vector<std::string_view>& opcode, const std::vector<std::int64_t>& in) {
  const auto at = [&](std::size_t i) { return i < in.size() ? static_cast<Word>(in[i]) : 0; };
  if (opcode[0] == "setp" && opcode.size() == 3) return compare(opcode[1], in[0], static_cast<std::int64_t>(at(1)));
  const auto* found = std::ranges::find(kOperations, opcode[0], &Operation::name);
  if (found == std::end(kOperations) || isBeyond(opcode, at(0), at(1), at(2))) return std::nullopt;
  return static_cast<std::int64_t>(found->of(at(0), at(1), at(2)));
}

bool hasWord(const std::vector<std::string_view>& opcode, std::string_view word) { return std::ranges::find(opcode, word) != opcode.end(); }

/// The result has twice the bits of the factors.
bool isWide(const std::vector<std::string_view>& opcode) { return opcode.size() > 1 && opcode[1] == "wide"; }

/// An operand that is not of the operation's type: a predicate, or what is added to a wide product.
bool hasOwnType(const std::vector<std::string_view>& opcode, std::size_t operand) {
  return operand == 2 && (opcode[0] == "selp" || (opcode[0] == "mad" && isWide(opcode)));
}

/// One lane. Operands are what registers hold, and so is the result.
std::optional<std::int64_t> evaluateTyped(const std::vector<std::string_view>& opcode, std::vector<std::int64_t> in) {
  const std::string_view type = opcode.back();
  for (std::size_t i = 0; i < in.size(); ++i)
    if (!hasOwnType(opcode, i)) in[i] = wrapped(static_cast<Word>(in[i]), opcode[0] == "cvt" ? "s64" : type);
  const auto value = evaluate(opcode, in);
  if (!value || opcode[0] == "setp" || isWide(opcode)) return value;
  return wrapped(static_cast<Word>(*value), type);
}

/// Whether an unknown addend of an operand is one of the result.
bool keepsAddends(std::string_view op) { return op == "mov" || op == "cvt" || op == "add" || op == "sub" || op == "neg"; }

}  // namespace

std::optional<PtxInstruction> parsePtx(std::string_view line) {
  line = bare(line.substr(0, line.find("//")));
  if (line.empty() || line[0] == '.' || line[0] == '$' || line[0] == '{' || line[0] == '}' || line[0] == '(' || line[0] == ')')
    return std::nullopt;
  PtxInstruction result;
  if (line[0] == '@') {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    result.guard = line.substr(1, end - 1);
    line = bare(line.substr(end));
  }
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  for (std::string_view rest = line.substr(0, end); !rest.empty();) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    result.opcode.push_back(rest.substr(0, dot));
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  if (result.opcode.empty()) return std::nullopt;
  result.operands = splitOperands(line.substr(end));
  return result;
}

bool PtxLanes::Value::isUniform() const {
  return std::ranges::all_of(lanes, [&](std::int64_t lane) { return lane == lanes[0]; });
}

std::optional<PtxLanes::Value> PtxLanes::valueOf(std::string_view operand) const {
  Value value;
  if (const auto number = numberOf(operand)) {
    value.lanes.fill(*number);
    return value;
  }
  if (operand == "%tid.x" || operand == "%laneid") {
    for (int lane = 0; lane < kLanes; ++lane) value.lanes[static_cast<std::size_t>(lane)] = lane;
    return value;
  }
  if (operand == "%tid.y" || operand == "%tid.z" || operand == "%warpid") return value;
  if (const auto found = values_.find(operand); found != values_.end()) return found->second;
  if (operand.starts_with("%ctaid") || operand.starts_with("%nctaid") || operand.starts_with("%ntid")) return Value{.isExact = false};
  // An unknown register, what memory holds, several registers, a floating-point number.
  if (operand.find_first_of("%[{") == 0 || operand.starts_with("0d") || operand.starts_with("0f")) return std::nullopt;
  return Value{.isExact = false};  // a symbol: where an array begins, which is aligned to more than all banks
}

std::optional<PtxLanes::Value> PtxLanes::compute(const PtxInstruction& instruction) const {
  const std::vector<std::string_view>& opcode = instruction.opcode;
  if (opcode[0] == "ld" && hasWord(opcode, "param")) return Value{.isExact = false};
  if (bitsOf(opcode.back()) == 0 || instruction.operands.size() < 2) return std::nullopt;
  if (opcode[0] == "shfl" && hasWord(opcode, "idx")) {  // every lane takes that of one, whichever it is
    const auto from = valueOf(instruction.operands[1]);
    return from && from->isUniform() ? from : std::nullopt;
  }
  std::vector<Value> in;
  for (std::size_t i = 1; i < instruction.operands.size(); ++i) {
    const auto value = valueOf(instruction.operands[i]);
    if (!value) return std::nullopt;
    in.push_back(*value);
  }
  return computeLanes(opcode, in);
}

std::optional<PtxLanes::Value> PtxLanes::computeLanes(const std::vector<std::string_view>& opcode, const std::vector<Value>& in) {
  Value result{.isExact = std::ranges::all_of(in, &Value::isExact)};
  // Of what is the same for all threads it need not be known what it is; else only of what is added.
  if (!result.isExact && std::ranges::all_of(in, &Value::isUniform)) return result;
  if (!result.isExact && !keepsAddends(opcode[0])) return std::nullopt;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    std::vector<std::int64_t> values;
    for (const Value& each : in) values.push_back(each.lanes[lane]);
    const auto value = evaluateTyped(opcode, std::move(values));
    if (!value) return std::nullopt;
    result.lanes[lane] = *value;
  }
  return result;
}

void PtxLanes::execute(const PtxInstruction& instruction) {
  if (instruction.operands.empty() || !instruction.operands[0].starts_with('%')) return;
  const std::string_view target = instruction.operands[0];
  if (values_.find(target) != values_.end()) return;
  values_.emplace(std::string(target), instruction.guard.empty() ? compute(instruction) : std::nullopt);
}

std::optional<Lanes> PtxLanes::addresses(std::string_view operand) const {
  if (operand.size() < 3 || operand.front() != '[' || operand.back() != ']') return std::nullopt;
  operand = operand.substr(1, operand.size() - 2);
  const std::size_t plus = std::min(operand.find('+'), operand.size());
  const auto base = valueOf(operand.substr(0, plus));
  const auto offset = plus < operand.size() ? numberOf(operand.substr(plus + 1)) : std::optional<std::int64_t>(0);
  if (!base || !offset) return std::nullopt;
  Lanes result = base->lanes;
  for (std::int64_t& lane : result) lane += *offset;
  return result;
}

}  // namespace fattn::dump
