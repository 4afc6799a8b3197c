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

std::optional<bool> compare(std::string_view how, std::int64_t a, std::int64_t b) {
  if (how == "eq") return a == b;
  if (how == "ne") return a != b;
  if (how == "lt" || how == "lo") return a < b;
  if (how == "le" || how == "ls") return a <= b;
  if (how == "gt" || how == "hi") return a > b;
  if (how == "ge" || how == "hs") return a >= b;
  return std::nullopt;
}

/// One lane. Operands are wrapped to the operation's type.
std::optional<std::int64_t> evaluate(const std::vector<std::string_view>& opcode, const std::vector<std::int64_t>& in) {
  const std::string_view op = opcode[0];
  const auto at = [&](std::size_t i) { return i < in.size() ? static_cast<std::uint64_t>(in[i]) : 0; };
  const std::uint64_t a = at(0), b = at(1), c = at(2);
  const auto shifted = [&](bool left) { return b > 63 ? 0 : left ? a << b : a >> b; };
  const auto result = [](std::uint64_t value) { return std::optional(static_cast<std::int64_t>(value)); };
  if (op == "mov" || op == "cvt") return result(a);
  if (op == "add") return result(a + b);
  if (op == "sub") return result(a - b);
  if (op == "mul") return opcode[1] == "hi" ? std::nullopt : result(a * b);
  if (op == "mad") return opcode[1] == "hi" ? std::nullopt : result(a * b + c);
  if (op == "and") return result(a & b);
  if (op == "or") return result(a | b);
  if (op == "xor") return result(a ^ b);
  if (op == "not") return result(~a);
  if (op == "neg") return result(0 - a);
  if (op == "shl") return result(shifted(true));
  if (op == "shr") return in[0] < 0 ? std::nullopt : result(shifted(false));
  if (op == "bfe") return b > 63 || c > 63 || in[0] < 0 ? std::nullopt : result(a >> b & ((std::uint64_t{1} << c) - 1));
  if (op == "min") return std::min(in[0], static_cast<std::int64_t>(b));
  if (op == "max") return std::max(in[0], static_cast<std::int64_t>(b));
  if (op == "selp") return result((c & 1) != 0 ? a : b);
  if (op != "setp" || opcode.size() != 3) return std::nullopt;
  const auto holds = compare(opcode[1], in[0], static_cast<std::int64_t>(b));
  return holds ? std::optional<std::int64_t>(*holds ? 1 : 0) : std::nullopt;
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
  const std::string_view op = opcode[0], type = opcode.back();
  if (op == "ld" && std::ranges::find(opcode, "param") != opcode.end()) return Value{.isExact = false};
  if (bitsOf(type) == 0 || instruction.operands.size() < 2) return std::nullopt;
  if (op == "shfl" && std::ranges::find(opcode, "idx") != opcode.end()) {  // every lane takes that of one, whichever it is
    const auto from = valueOf(instruction.operands[1]);
    return from && from->isUniform() ? from : std::nullopt;
  }
  const bool isWide = opcode.size() > 1 && opcode[1] == "wide";
  std::vector<Value> in;
  for (std::size_t i = 1; i < instruction.operands.size(); ++i) {
    const auto value = valueOf(instruction.operands[i]);
    if (!value) return std::nullopt;
    in.push_back(*value);
  }
  Value result;
  const bool isExact = std::ranges::all_of(in, &Value::isExact);
  const bool isUniform = std::ranges::all_of(in, &Value::isUniform);
  result.isExact = isExact;
  // Of what is the same for all threads it need not be known what it is; else only of what is added.
  if (isUniform && !isExact) return result;
  if (!isExact && !keepsAddends(op)) return std::nullopt;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const bool isOther = (op == "selp" && i == 2) || (isWide && op == "mad" && i == 2);  // of a type of its own
      values.push_back(isOther ? in[i].lanes[lane] : wrapped(static_cast<std::uint64_t>(in[i].lanes[lane]), op == "cvt" ? "s64" : type));
    }
    const auto value = evaluate(opcode, values);
    if (!value) return std::nullopt;
    result.lanes[lane] = op == "setp" || isWide ? *value : wrapped(static_cast<std::uint64_t>(*value), type);
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
